"""Compare the stored scores of experiments: what `assay experiments compare` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.errors import InputError, UndecidableError
from assay.core.recent_values import RecentValues
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.evaluation.comparability import ComparabilityReason, comparability_reasons
from assay.evaluation.compare import DEFAULT_MARGIN, ComparisonOptions, Comparisons, compare_scores
from assay.evaluation.configuration import differing_settings
from assay.evaluation.slices import Slice, make_slices
from assay.evaluation.trends import experiment_settings
from assay.measures import parse
from assay.store.datasets import DatasetVersions
from assay.store.rankings import read_qrels, read_queries
from assay.store.store import Store
from assay.views.compare import comparisons_dict
from assay.views.trends import describe_reason
from assay.workflows.stores import open_existing_store
from assay.workflows.trends import name_reasons


@dataclass(frozen=True, kw_only=True)
class CompareExperimentsRequest:
    """A baseline and one or several candidates, by name or id, to compare query by query."""

    baseline: str
    candidates: Sequence[str]
    measures: Sequence[str] = ()  # empty: all that both have
    by: Sequence[str] = ()  # columns of the stored queries to slice by
    anyway: bool = False
    test: str = "t"
    correction: str = "holm"
    margin: float = DEFAULT_MARGIN
    level: float = 0.95
    store: str | None = None


@dataclass(frozen=True)
class ExperimentComparison:
    """A comparison with what makes the experiments incomparable, and what is good to know."""

    comparisons: Comparisons
    experiments: tuple[Experiment, ...]  # the baseline first
    blocking: tuple[ComparabilityReason, ...]
    remarks: tuple[ComparabilityReason, ...]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, with the keys that `assay compare --format json` prints."""
        return comparisons_dict(self.comparisons)


_comparisons = RecentValues[Comparisons](8)  # of experiments, whose scores never change


def compare_experiments(request: CompareExperimentsRequest) -> ExperimentComparison:
    """Compare the stored scores of experiments, if the experiments are comparable."""
    if not request.candidates:
        raise InputError("expected at least one candidate, found none")
    with open_existing_store(request.store) as store:
        baseline, *candidates = experiments = _read_experiments(store, request)
        measures = [str(parse(text)) for text in request.measures]
        reasons = dict.fromkeys(
            reason for other in candidates for reason in _reasons(store, baseline, other, measures)
        )
        options = ComparisonOptions(request.test, request.correction, request.margin, request.level)
        if not request.anyway:
            for other in candidates:
                _refuse_incomparable(store, baseline, other, measures)
        ids = tuple(experiment.id for experiment in experiments)
        key = (store.database.url, ids, tuple(measures), tuple(request.by), options)
        return ExperimentComparison(
            _comparisons.get(key, lambda: _compare(store, experiments, measures, request.by, options)),
            tuple(experiments),
            tuple(reason for reason in reasons if reason.blocks),
            tuple(reason for reason in reasons if not reason.blocks),
        )


def _read_experiments(store: Store, request: CompareExperimentsRequest) -> list[Experiment]:
    """The experiments, the baseline first; each is given once."""
    names = [request.baseline, *request.candidates]
    experiments = [store.get(name) for name in names]
    for place, experiment in enumerate(experiments):
        for name, other in zip(names[:place], experiments[:place], strict=True):
            if other.id == experiment.id:
                raise InputError(f"{name} and {names[place]} are the same experiment, {experiment.id}")
    return experiments


def _reasons(
    store: Store, a: Experiment, b: Experiment, measures: Sequence[str]
) -> list[ComparabilityReason]:
    """Why two experiments are not comparable by some measures, and what is good to know."""
    labels = DatasetVersions(store).labels_by_qrels()
    compared: list[str | None] = [*measures] or [None]
    return [
        reason
        for measure in compared
        for reason in name_reasons(comparability_reasons(a, b, measure), labels)
    ]


def _refuse_incomparable(store: Store, a: Experiment, b: Experiment, measures: Sequence[str]) -> None:
    blocking = [reason for reason in _reasons(store, a, b, measures) if reason.blocks]
    if not blocking:
        return
    remedy = "compare all the same with --anyway"
    if not measures:
        remedy = "compare by what both have with -m, or all the same with --anyway"
    listed = "".join(f"\n  {text}" for text in dict.fromkeys(map(describe_reason, blocking)))
    raise UndecidableError(f"{a.name} ({a.id}) and {b.name} ({b.id}) are not comparable:{listed}\n{remedy}")


def _compare(
    store: Store,
    experiments: Sequence[Experiment],
    measures: Sequence[str],
    by: Sequence[str],
    options: ComparisonOptions,
) -> Comparisons:
    """The comparison of stored scores, with the settings that differ."""
    names = [e.name for e in experiments]
    if len(set(names)) < len(names):
        names = [f"{e.name} ({e.id})" for e in experiments]
    before, *after = (_read_scores(store, e, measures) for e in experiments)
    comparisons = compare_scores(
        before,
        dict(zip(names[1:], after, strict=True)),
        _read_slices(store, experiments[0], before.query_ids, by),
        baseline_name=names[0],
        options=options,
    )
    settings = dict(zip(names, map(experiment_settings, experiments), strict=True))
    return replace(comparisons, configuration=differing_settings(settings))


def _read_slices(store: Store, e: Experiment, query_ids: Sequence[str], by: Sequence[str]) -> list[Slice]:
    """The slices of the stored queries of an experiment."""
    if not by:
        return []
    queries, qrels = read_queries(store, e), read_qrels(store, e)
    if queries is None or qrels is None:
        raise UndecidableError(
            f"the queries of {e.name} ({e.id}) are not in {store.url}: save it again with a query table, or "
            "leave out --by"
        )
    return make_slices(by, query_ids, queries, qrels, None)


def _read_scores(store: Store, e: Experiment, measures: Sequence[str]) -> Scores:
    digest = e.digests.get("scores")
    if digest is not None and not store.tables.has(digest):
        raise UndecidableError(
            f"the scores of {e.name} ({e.id}) are not in {store.url}: it was imported without them; "
            "a backup (assay experiments backup) carries them"
        )
    scores = store.scores(e)
    if scores is None:
        raise UndecidableError(
            f"{e.name} ({e.id}) was saved without the scores of its queries: only its means are known, "
            "and they cannot be paired"
        )
    missing = [name for name in measures if name not in scores.values]
    if missing:
        raise UndecidableError(f"{e.name} ({e.id}) has no scores of {', '.join(missing)}")
    return Scores(scores.query_ids, {name: scores[name] for name in measures or scores.values})
