"""The labels of a model against those of people, and what both together say of stored experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from assay.core.arrays import Ints
from assay.core.errors import AssayError, InputError
from assay.core.judgments import Judgments
from assay.core.recent_values import RecentValues
from assay.core.records import Experiment
from assay.core.tables import Queries, Run
from assay.judging.agreement import AgreementReport, compute_agreement
from assay.judging.annotation.project import AnnotationProject, Grade, ProjectPair
from assay.judging.estimate.estimates import LabelEstimate, LabelEstimates, estimate_from_labels
from assay.judging.estimate.next_labels import NextLabels
from assay.store.rankings import read_queries
from assay.store.store import Store
from assay.workflows.annotate_pairs import PairsProject, create_pairs_project
from assay.workflows.label_sources import (
    LabelSet,
    LabelSource,
    find_label_sources,
    label_state,
    open_label_set,
    read_queries_of,
)
from assay.workflows.stored_runs import check_depth, has_rankings, read_stored_run
from assay.workflows.stores import open_existing_store

DEFAULT_MEASURES = ("nDCG@10", "P@10")
DEFAULT_NEXT = 20
PEOPLE, MODEL = "people", "model"
_MOST_RUNS = 4
_KEY = ["query_id", "doc_id"]


@dataclass(frozen=True, kw_only=True)
class StoredEstimateRequest:
    """Two sets of labels (project:NAME or dataset:NAME, perhaps with #JUDGE) and the experiments to score."""

    human: str = ""
    model: str = ""
    measures: Sequence[str] = ()  # with cutoffs that the kept rankings allow
    experiments: Sequence[str] = ()  # empty: the newest of each name that kept its rankings
    by: Sequence[str] = ()
    next_count: int = DEFAULT_NEXT
    level: float = 0.95
    store: str | None = None

    def __post_init__(self) -> None:
        if self.human and self.human == self.model:
            raise InputError(f"expected two different sets of labels, found {self.human} twice")
        if not 0 <= self.next_count <= 10_000:
            raise InputError(f"expected 0 to 10,000 pairs to judge next, found {self.next_count}")


@dataclass(frozen=True)
class Confusion:
    """How often people and the model gave a pair these grades: a row for each grade of people."""

    scale: Sequence[int]
    counts: Ints

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {"scale": list(self.scale), "counts": self.counts.tolist()}


@dataclass(frozen=True)
class JudgeComparison:
    """Two sets of labels side by side, and the estimates that they allow."""

    sources: Sequence[LabelSource]
    human: LabelSet | None = None
    model: LabelSet | None = None
    confusion: Confusion | None = None  # None: no pair has labels of both
    agreement: AgreementReport | None = None
    estimates: Sequence[LabelEstimates] = ()  # one for each measure that could be estimated
    problems: Sequence[str] = ()  # why others could not
    experiments: Sequence[Experiment] = ()
    columns: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)  # of queries

    @property
    def rows(self) -> list[LabelEstimate]:
        """The estimates of all measures and experiments."""
        return [row for estimates in self.estimates for row in estimates.estimates]

    @property
    def next_labels(self) -> NextLabels | None:
        """What people should judge next; None without estimates."""
        return self.estimates[0].next_labels if self.estimates else None

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "sources": [source.to_dict() for source in self.sources],
            "human": self.human and self.human.reference,
            "model": self.model and self.model.reference,
            "confusion": self.confusion and self.confusion.to_dict(),
            "agreement": None if self.agreement is None else self.agreement.to_dict(),
            "experiments": [experiment.id for experiment in self.experiments],
            "estimates": [estimates.to_dict() for estimates in self.estimates],
            "problems": list(self.problems),
            "judge_next": [] if self.next_labels is None else self.next_labels.to_list(),
        }


_comparisons = RecentValues[JudgeComparison](4)


def compare_judges(request: StoredEstimateRequest) -> JudgeComparison:
    """Compare the labels of a model with those of people, and estimate measures from both."""
    with open_existing_store(request.store) as store:
        sources = find_label_sources(store)
        if not request.human or not request.model:
            return JudgeComparison(sources)
        return _compare(store, sources, request)


def _compare(store: Store, sources: Sequence[LabelSource], request: StoredEstimateRequest) -> JudgeComparison:
    """Return the comparison of two sets of labels, computed once for the labels and experiments there are."""
    sets = (open_label_set(store, request.human), open_label_set(store, request.model))
    experiments = _choose_experiments(store, request.experiments)
    key = (
        *((label_state(store, one.source), one.judge) for one in sets),
        (store.database.url, *(experiment.id for experiment in experiments)),
        (tuple(request.measures), tuple(request.by), request.next_count, request.level),
    )
    comparison = _comparisons.get(key, lambda: _compare_sets(store, sets, experiments, request))
    return replace(comparison, sources=sources, human=sets[0], model=sets[1])


def _compare_sets(
    store: Store,
    sets: tuple[LabelSet, LabelSet],
    experiments: Sequence[Experiment],
    request: StoredEstimateRequest,
) -> JudgeComparison:
    human, model = sets
    queries = _find_queries(store, sets, experiments)
    columns = [] if queries is None else [n for n in queries.columns if n not in (queries.key, "text")]
    shared = human.qrels.frame.join(model.qrels.frame, on=_KEY, how="inner", suffix="_model")
    if shared.is_empty():
        problem = (
            f"no pair has labels of both {human.name} and {model.name}: check that both use the same ids"
        )
        return JudgeComparison((), human, model, problems=[problem], columns=columns)
    estimates, problems = _estimate(store, human, model, experiments, queries, request)
    return JudgeComparison(
        (),
        human,
        model,
        _confusion(shared),
        _agreement(shared, queries, request),
        estimates,
        problems,
        experiments,
        columns,
        _texts_of(queries),
    )


def _texts_of(queries: Queries | None) -> dict[str, str]:
    if queries is None or "text" not in queries.columns:
        return {}
    return {
        query: str(text) for query, text in zip(queries.ids, queries.columns["text"], strict=True) if text
    }


def _choose_experiments(store: Store, names: Sequence[str]) -> list[Experiment]:
    """Return the named experiments, or the newest of each name that kept its rankings."""
    if names:
        return [store.get(name) for name in names]
    newest: dict[str, Experiment] = {}
    for experiment in store.list(limit=200, metrics_of=()):
        if has_rankings(store, experiment):
            newest.setdefault(experiment.name, experiment)
    return list(newest.values())[:_MOST_RUNS]


def _find_queries(
    store: Store, sets: Sequence[LabelSet], experiments: Sequence[Experiment]
) -> Queries | None:
    """Return the query table that has the most of the model's queries: of a version or of an experiment."""
    wanted = set(sets[1].qrels.query_ids)
    tables = [read_queries_of(store, labels.source) for labels in sets]
    tables += [read_queries(store, experiment) for experiment in experiments[:1]]
    known = [table for table in tables if table is not None]
    return max(known, key=lambda table: len(wanted.intersection(table.ids)), default=None)


def _confusion(shared: pl.DataFrame) -> Confusion:
    human, model = (shared[name].to_numpy().astype(np.int64) for name in ("grade", "grade_model"))
    scale = np.arange(min(human.min(), model.min()), max(human.max(), model.max()) + 1)
    counts = np.zeros((len(scale), len(scale)), np.int64)
    np.add.at(counts, (human - scale[0], model - scale[0]), 1)
    return Confusion(scale.tolist(), counts)


def _agreement(
    shared: pl.DataFrame, queries: Queries | None, request: StoredEstimateRequest
) -> AgreementReport:
    parts = [
        shared.select(*_KEY, judge=pl.lit(judge), grade=pl.col(column))
        for judge, column in ((MODEL, "grade_model"), (PEOPLE, "grade"))
    ]
    judgments = Judgments(pl.concat(parts))
    return compute_agreement(judgments, queries, None, request.by, disagreements=0, level=request.level)


def _estimate(
    store: Store,
    human: LabelSet,
    model: LabelSet,
    experiments: Sequence[Experiment],
    queries: Queries | None,
    request: StoredEstimateRequest,
) -> tuple[list[LabelEstimates], list[str]]:
    """Return the estimates of each measure, and why some measures could not be estimated."""
    if not experiments:
        return [], ["no experiment kept its rankings: evaluate and save one again with `assay eval … --save`"]
    measures = [check_depth(measure) for measure in request.measures or DEFAULT_MEASURES]
    runs = _read_runs(store, experiments)
    estimates, problems = [], []
    for measure in dict.fromkeys(measures):
        try:
            estimates.append(
                estimate_from_labels(
                    model.qrels,
                    human.qrels,
                    runs,
                    [measure],
                    queries,
                    request.by,
                    level=request.level,
                    next_count=request.next_count,
                )
            )
        except AssayError as error:
            problems.append(str(error))
    return estimates, problems


def _read_runs(store: Store, experiments: Sequence[Experiment]) -> list[Run]:
    """Return the kept rankings, each under a name of its own."""
    names = [e.name for e in experiments]
    is_unique = len(set(names)) == len(names)
    return [read_stored_run(store, e, e.name if is_unique else f"{e.name} ({e.id})") for e in experiments]


@dataclass(frozen=True, kw_only=True)
class JudgeNextRequest(StoredEstimateRequest):
    """What to judge next of two sets of labels, and the name of the project that asks for it."""

    name: str
    per_pair: int = 1


def create_next_project(request: JudgeNextRequest) -> AnnotationProject:
    """Create an annotation project of the pairs whose labels would narrow the intervals most."""
    if not request.human or not request.model:
        raise InputError("expected a set of labels of people and one of a model, found only one")
    with open_existing_store(request.store) as store:
        comparison = _compare(store, (), request)
        chosen = [] if comparison.next_labels is None else comparison.next_labels.chosen
        if not chosen or comparison.human is None or comparison.model is None:
            reason = comparison.problems[0] if comparison.problems else "every pair has a label of people"
            raise InputError(f"there is nothing to judge next: {reason}")
        pairs = [
            ProjectPair(p.query_id, p.doc_id, inclusion_probability=p.inclusion_probability) for p in chosen
        ]
        new = PairsProject(
            name=request.name,
            pairs=pairs,
            grades=_grades(comparison.human, comparison.model),
            per_pair=request.per_pair,
            note=f"chosen to narrow estimates from {comparison.human.name} and {comparison.model.name}",
        )
        return create_pairs_project(store, new, comparison.human.source)


def _grades(human: LabelSet, model: LabelSet) -> Sequence[Grade]:
    """Return the grades of the project that people judged in, or all from 0 to the highest."""
    if human.source.grades:
        return human.source.grades
    highest = max(int(labels.qrels.grades.max()) for labels in (human, model))
    return [Grade(float(value), "") for value in range(max(1, highest) + 1)]
