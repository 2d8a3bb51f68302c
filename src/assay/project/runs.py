"""Systems run over the queries of a project: what they returned, its worth, and where they lost the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assay.core.errors import FormatError, InputError, UndecidableError
from assay.core.files import put_in_place
from assay.core.tables import Run
from assay.datasets import write
from assay.evaluation import Evaluation, evaluate
from assay.evaluation.losses import Losses, Part
from assay.project.systems import Systems
from assay.project.way import SHOWN, Way, stages
from assay.search.outcome import Outcome
from assay.search.running import Options, Watch, run

JOURNALS = "journals"  # in the folder of the results: what is finished, so that a run can go on
T = TypeVar("T")


@dataclass(frozen=True)
class Ran:
    """A system that was run."""

    name: str
    outcome: Outcome
    configuration: Mapping[str, Any]
    run: Run | None  # None: nothing was returned for any query
    evaluation: Evaluation | None = None  # None: there are no judgments, or nothing to score
    losses: Losses | None = None
    problem: str = ""  # why there is nothing to score

    @property
    def figures(self) -> dict[str, float]:
        """The numbers beside the scores, by name, as `assay gate` takes them."""
        found = self.outcome
        told = {"qps": found.qps, "cost_per_1k_queries": found.cost_per_1k, "failed": len(found.failed)}
        return {name: float(value) for name, value in told.items() if value is not None}

    def sliced(self) -> dict[str, list[Part]]:
        """The bars of each slice, by its column and value."""
        if self.evaluation is None or self.losses is None:
            return {}
        ids = self.evaluation.scores.query_ids
        slices = self.evaluation.slices
        return {f"{s.column}: {s.value}": self.losses.among([ids[row] for row in s.rows]) for s in slices}

    def to_dict(self) -> dict[str, Any]:
        """The run as plain data, without its documents."""
        return {
            **self.outcome.to_dict(),
            "configuration": self.configuration,
            "scores": self.evaluation and self.evaluation.to_dict(),
            "losses": self.losses and self.losses.to_dict(),
            "problem": self.problem or None,
        }


def run_system(
    systems: Systems,
    name: str,
    folder: str | Path,
    options: Options | None = None,
    *,
    measures: Sequence[str] = (),
    by: Sequence[str] = (),
    shown: int | None = None,
    watch: Watch | None = None,
) -> Ran:
    """Run one system; what it finished before is taken up from the folder, where its run is left."""
    options, folder = options or systems.options, Path(folder)
    shown = min(SHOWN, options.k) if shown is None else shown
    if not 1 <= shown <= options.k:
        raise InputError(f"shown: expected 1 to {options.k}, the documents asked for, found {shown}")
    searcher, data = systems.searcher(name), systems.data
    outcome = run(searcher, data.queries, options, folder / JOURNALS, watch)
    found, problem = _returned(outcome)
    _drop_runs(name, folder, systems.names)
    if found is not None:
        outcome = replace(outcome, remarks=_leave_runs(found, outcome, folder))
    made = Ran(name, outcome, searcher.configuration(), found, problem=problem)
    if data.qrels is not None and found is not None:
        scores = evaluate(data.qrels, found, measures, data.queries, by)
        way = Way(systems, searcher, outcome, options, shown, folder / JOURNALS)
        made = replace(made, evaluation=scores, losses=_or_none(partial(way.losses, data.qrels)))
    _leave(folder / f"{name}.json", json.dumps(made.to_dict(), ensure_ascii=False, indent=1))
    _leave(folder / f"{name}.figures.json", json.dumps(made.figures))
    taken = [{"query_id": query, "latency_ms": ns / 1e6} for query, ns in outcome.latencies.items()]
    _leave(folder / f"{name}.latencies.jsonl", "\n".join(map(json.dumps, taken)))
    return made


def _leave(place: Path, text: str) -> None:
    with put_in_place(place) as path:
        path.write_text(text + "\n", encoding="utf-8")


def _returned(outcome: Outcome) -> tuple[Run | None, str]:
    """The run, or why there is none."""
    try:
        return outcome.run(), ""
    except UndecidableError as error:
        return None, str(error)


def _or_none(work: Callable[[], T]) -> T | None:
    """What can be said, None where nothing can."""
    try:
        return work()
    except UndecidableError:
        return None


def _drop_runs(name: str, folder: Path, names: Sequence[str]) -> None:
    """Delete the run and the stages of an earlier time: one that stayed would be taken for this one's."""
    others = tuple(f"{one}." for one in names if one.startswith(f"{name}."))
    own = re.compile(re.escape(name) + r"(\.\d+-[\w.-]+)?\.run")
    for path in folder.glob("*.run"):
        if own.fullmatch(path.name) and not path.name.startswith(others):
            path.unlink()


def _leave_runs(found: Run, outcome: Outcome, folder: Path) -> list[str]:
    """Write the run, and what each stage gave; says where another format had to be taken."""
    said = _leave_run(found, folder / f"{outcome.name}.run")
    for number, (stage, given) in enumerate(stages(outcome).items(), 1):
        some = {query: documents for query, documents in given.items() if documents}
        if some:
            called = re.sub(r"[^\w.-]+", "-", stage)
            said += _leave_run(Run(some, name=stage), folder / f"{outcome.name}.{number}-{called}.run")
    return said


def _leave_run(found: Run, path: Path) -> list[str]:
    """Write a run as TREC does, or as JSONL where an id is not to be had so: readers look at the content."""
    try:
        write(found, path, format="trec")
    except FormatError:
        write(found, path, format="jsonl")
        return [f"{path.name} is JSONL: a TREC run cannot hold its ids (blanks, or # at the beginning)"]
    return []
