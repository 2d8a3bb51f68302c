"""Which trials are of the same data: the dataset, the size, the dimensions and the metric they state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import Trial
from assay.core.errors import InputError

ALL_DATA = "all"  # the name by which trials of all data are asked for


class DataFacts(NamedTuple):
    """What is known of the data of trials; None or "" if it is not stated."""

    dataset: str = ""
    n: int | None = None
    d: int | None = None
    metric: str = ""

    def to_text(self) -> str:
        """Return the stated facts as text.

        >>> DataFacts("sift", 1_000_000, 128).to_text()
        'sift, 1,000,000 vectors, 128 dimensions'
        """
        counts = [
            f"{count:,} {noun}" for count, noun in ((self.n, "vectors"), (self.d, "dimensions")) if count
        ]
        return ", ".join(filter(None, [self.dataset, *counts, self.metric]))

    def differences_from(self, other: DataFacts) -> tuple[DataFacts, DataFacts]:
        """Return the facts that both state and that differ, first those of this, then of the other."""
        pairs = [
            (mine, theirs) if mine and theirs and _normalize(mine) != _normalize(theirs) else (None, None)
            for mine, theirs in zip(self, other, strict=True)
        ]
        return _make_facts(mine for mine, _ in pairs), _make_facts(theirs for _, theirs in pairs)


def _make_facts(values: Iterable[Any]) -> DataFacts:
    dataset, n, d, metric = values
    return DataFacts(dataset or "", n, d, metric or "")


def _normalize(fact: Any) -> Any:
    return fact.lower() if isinstance(fact, str) else fact


def other_data_reasons(study: Study, dataset: str | None = None) -> list[str]:
    """Return for each trial why it does not count as of the data of the study, "" if it does.

    The data of a sweep are those it searched, under the given name or that of their file. The data of a table
    are those that its first trials state, or those of the trials that name the given dataset.
    """
    if dataset == ALL_DATA:
        return [""] * len(study.scored_trials)
    if dataset is not None:
        _refuse_unknown_dataset(study, dataset)
    reference = _sweep_facts(study, dataset) if study.metadata else _table_facts(study, dataset)
    return [_other_data_reason(scored_trial, reference, study) for scored_trial in study.scored_trials]


def _refuse_unknown_dataset(study: Study, dataset: str) -> None:
    names = sorted({one.trial.dataset for one in study.scored_trials if one.trial.dataset})
    if _normalize(dataset) not in map(_normalize, names):
        stated = (
            f"they name {', '.join(names)}" if names else "none of them names a dataset (column `dataset`)"
        )
        raise InputError(
            f"{study.source}: no trial names the dataset {dataset!r}; {stated}; "
            f"`{ALL_DATA}` chooses among the trials of all data"
        )


def _trial_facts(trial: Trial) -> DataFacts:
    return DataFacts(trial.dataset, trial.n, trial.d, trial.metric)


def _sweep_facts(study: Study, dataset: str | None) -> DataFacts:
    data, source = study.metadata.get("data", {}), study.metadata.get("sources", {}).get("base")
    name = dataset or (Path(source).stem if source else "")
    return DataFacts(name, data.get("n"), data.get("d"), data.get("metric", ""))


def _table_facts(study: Study, dataset: str | None) -> DataFacts:
    """Return each fact as the first of the trials that state it, of those that name the dataset if given."""
    facts = [_trial_facts(one.trial) for one in study.scored_trials]
    if dataset is not None:
        facts = [fact for fact in facts if _normalize(fact.dataset) == _normalize(dataset)]
    columns: Iterator[tuple[Any, ...]] = zip(*facts, strict=True)
    return _make_facts(next(filter(None, column), None) for column in columns)


def _other_data_reason(scored_trial: ScoredTrial, reference: DataFacts, study: Study) -> str:
    is_own = scored_trial.trial.source == "assay" or scored_trial.hits is not None
    if study.metadata and is_own:  # a sweep refuses other data, and scores answers by its own truth
        return ""
    facts = _trial_facts(scored_trial.trial)
    mine, theirs = facts.differences_from(reference)
    if any(mine):
        return f"of other data: {mine.to_text()}, but the others of {theirs.to_text()}"
    is_stated = (facts.n and facts.d) or (facts.dataset and reference.dataset)
    if study.metadata and not is_stated:
        return "not known to be of these data: it states neither its dataset nor its vectors and dimensions"
    return ""
