"""How far the raters of a store agree, and the decisions where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.recent_values import RecentValues
from assay.core.tables import Queries
from assay.judging.adjudication import Disputes, Pair, name_judge
from assay.judging.aggregation.adjudicated import find_adjudicators, without_adjudicators
from assay.judging.agreement import AgreementReport, compute_agreement
from assay.judging.agreement.disagreements import Disagreement
from assay.judging.annotation.project import AnnotationProject, Grade, ProjectPair
from assay.store.annotation import AnnotationProjects, Fields, ProjectContents
from assay.store.annotation_decisions import add_pairs, find_pair, save_decision, undo_decision
from assay.store.annotation_labels import read_labels
from assay.store.store import Store
from assay.workflows.label_sources import (
    LabelSource,
    Source,
    find_label_sources,
    find_source,
    label_state,
    read_document_fields,
    read_judgments_of,
    read_queries_of,
    read_query_fields,
)
from assay.workflows.stores import open_existing_store

PAGE_SIZE = 20  # disagreements listed at once
SHOWN = ("open", "decided", "all")
_FEWEST_RATERS = 2
_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class StoredAgreementRequest:
    """The labels to compare: project:NAME or dataset:NAME; empty: the first with two raters."""

    source: str = ""
    by: Sequence[str] = ()  # columns of the queries to slice by
    show: str = "open"  # which disagreements: without a decision, with one, or all
    offset: int = 0
    level: float = _LEVEL
    store: str | None = None

    def __post_init__(self) -> None:
        if self.show not in SHOWN:
            raise InputError(f"expected one of {', '.join(SHOWN)} to show, found {self.show!r}")
        if self.offset < 0:
            raise InputError(f"the offset must be 0 or more, found {self.offset}")


@dataclass(frozen=True)
class Decision:
    """What an adjudicator decided about a pair."""

    judge: str
    grade: float | None  # None: it cannot be rated
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Dispute:
    """A pair whose raters differ, with what people read of it, and the decision if there is one."""

    disagreement: Disagreement
    query: Fields
    document: Fields
    decision: Decision | None

    def to_dict(self) -> dict[str, Any]:
        """Return the dispute as plain data."""
        return {
            **self.disagreement.to_dict(),
            "query": dict(self.query),
            "document": dict(self.document),
            "decision": self.decision and self.decision.to_dict(),
        }


@dataclass(frozen=True)
class DisputeList:
    """Some of the pairs whose raters differ, the most severe first."""

    rows: Sequence[Dispute]
    offset: int
    total: int  # that are shown on all pages
    decided: int
    differing: int
    judged_twice: int
    grades: Sequence[Grade]
    project: str  # in which decisions are kept

    def to_dict(self) -> dict[str, Any]:
        """Return the disputes as plain data."""
        rows = [row.to_dict() for row in self.rows]
        return {**vars(self), "rows": rows, "grades": [grade.to_dict() for grade in self.grades]}


@dataclass(frozen=True)
class StoredAgreement:
    """How far the raters of one source agree; `report` is None if fewer than two raters labelled pairs."""

    sources: Sequence[LabelSource]
    source: LabelSource | None
    report: AgreementReport | None = None
    disputes: DisputeList | None = None
    columns: Sequence[str] = ()  # of the queries, to slice by

    def to_dict(self) -> dict[str, Any]:
        """Return the agreement as plain data."""
        return {
            "sources": [source.to_dict() for source in self.sources],
            "source": self.source and self.source.reference,
            "columns": list(self.columns),
            "agreement": None if self.report is None else self.report.to_dict(),
            "disputes": None if self.disputes is None else self.disputes.to_dict(),
        }


class _Comparison(NamedTuple):
    """The raters of a source, compared; None: fewer than two raters labelled pairs."""

    report: AgreementReport | None
    disputes: Disputes | None
    columns: Sequence[str]


_comparisons = RecentValues[_Comparison](4)


def measure_stored_agreement(request: StoredAgreementRequest) -> StoredAgreement:
    """Return how far the raters of a stored source agree, and where they do not."""
    with open_existing_store(request.store) as store:
        sources = find_label_sources(store)
        chosen = _choose(sources, request.source, store)
        if chosen is None:
            return StoredAgreement(sources, None)
        source = find_source(store, chosen.reference)
        report, disputes, columns = _compare_once(store, source, request.by, request.level)
        if report is None or disputes is None:
            return StoredAgreement(sources, chosen, None, None, columns)
        listed = _list_disputes(store, source, disputes, request)
        return StoredAgreement(sources, chosen, report, listed, columns)


def _choose(sources: Sequence[LabelSource], reference: str, store: Store) -> LabelSource | None:
    """Return the source of a reference, or the one with the most labels whose raters can be compared."""
    if not reference:
        fit = [source for source in sources if len(source.judges) >= _FEWEST_RATERS]
        return max(fit, key=lambda source: sum(source.judges.values())) if fit else None
    source = find_source(store, reference)
    known = next((one for one in sources if one.reference == source.reference), None)
    return known or LabelSource(source.reference, source.name, {})


def _compare_once(store: Store, source: Source, by: Sequence[str], level: float) -> _Comparison:
    """Return the comparison of the raters of a source, computed once for the labels that it has."""
    key = (label_state(store, source), tuple(by), level)
    return _comparisons.get(key, lambda: _compare(store, source, by, level))


def _compare(store: Store, source: Source, by: Sequence[str], level: float) -> _Comparison:
    judgments = read_judgments_of(store, source)
    queries = read_queries_of(store, source)
    columns = _slice_columns(queries)
    raters = None if judgments is None else without_adjudicators(judgments, find_adjudicators(judgments))
    if raters is None or len(raters.judges) < _FEWEST_RATERS:
        return _Comparison(None, None, columns)
    report = compute_agreement(raters, queries, None, by, disagreements=0, level=level)
    return _Comparison(report, Disputes(raters), columns)


def _slice_columns(queries: Queries | None) -> list[str]:
    """Return by what the queries can be sliced."""
    if queries is None:
        return []
    own = [name for name in queries.columns if name not in (queries.key, "text")]
    return [*own, *["length"] * ("text" in queries.columns)]


def _list_disputes(
    store: Store, source: Source, disputes: Disputes, request: StoredAgreementRequest
) -> DisputeList:
    project = _find_project(store, source)
    decisions = {} if project is None else _read_decisions(store, project)
    kept = [one for one in disputes.by_severity if _is_shown(one, decisions, request.show)]
    shown = kept[request.offset : request.offset + PAGE_SIZE]
    queries = read_query_fields(store, source, [one.query_id for one in shown])
    documents = read_document_fields(store, source, [one.doc_id for one in shown])
    return DisputeList(
        [
            Dispute(
                one,
                queries.get(one.query_id, {}),
                documents.get(one.doc_id, {}),
                decisions.get((one.query_id, one.doc_id)),
            )
            for one in shown
        ],
        request.offset,
        len(kept),
        sum((one.query_id, one.doc_id) in decisions for one in disputes.by_severity),
        len(disputes),
        disputes.judged_twice,
        _grades(source, disputes),
        adjudication_name(source),
    )


def _is_shown(dispute: Disagreement, decisions: Mapping[Pair, Decision], show: str) -> bool:
    is_decided = (dispute.query_id, dispute.doc_id) in decisions
    return show == "all" or is_decided == (show == "decided")


def _grades(source: Source, disputes: Disputes) -> tuple[Grade, ...]:
    """Return the grades that can be given: those of the project, or from the lowest to the highest label."""
    return source.grades or tuple(Grade(value, "") for value in disputes.scale)


def adjudication_name(source: Source) -> str:
    """Return the name of the project in which the decisions about a source are kept."""
    return f"{source.name.replace('@', '-')}-adjudication"


def _find_project(store: Store, source: Source) -> AnnotationProject | None:
    name = adjudication_name(source)
    return next((project for project in AnnotationProjects(store).find() if project.name == name), None)


def _read_decisions(store: Store, project: AnnotationProject) -> dict[Pair, Decision]:
    with store.database.read_transaction() as connection:
        labels = read_labels(connection, project)
    return {(row.query_id, row.doc_id): Decision(row.rater, row.grade, row.note) for row in labels}


@dataclass(frozen=True, kw_only=True)
class DecideRequest:
    """A decision about a pair on which the raters of a source differ."""

    source: str
    adjudicator: str
    query_id: str
    doc_id: str
    grade: float | None  # None: it cannot be rated
    note: str = ""
    store: str | None = None


@dataclass(frozen=True)
class SavedDecision:
    """A decision that was saved or taken back, and the project that has it."""

    project: str
    judge: str
    query_id: str
    doc_id: str

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data."""
        return dict(vars(self))


def decide(request: DecideRequest) -> SavedDecision:
    """Save a decision as the label of an adjudicator, in the project that has the disputes of the source."""
    judge = name_judge(request.adjudicator)
    with open_existing_store(request.store) as store:
        source = find_source(store, request.source)
        project = _find_project(store, source)
        pair = (request.query_id, request.doc_id)
        if project is None or find_pair(store.database, project, *pair) is None:
            project = _add_disputes(store, source, project, pair)
        save_decision(store.database, project, pair, judge, request.grade, request.note)
        return SavedDecision(project.name, judge, *pair)


def _add_disputes(
    store: Store, source: Source, project: AnnotationProject | None, pair: Pair
) -> AnnotationProject:
    """Create the project of the disputes of a source, or add those that it lacks."""
    disputes = _compare_once(store, source, (), _LEVEL).disputes
    if disputes is None or pair not in disputes.by_pair:
        raise InputError(
            f"the raters of {source.reference} do not differ on document {pair[1]!r} of query {pair[0]!r}: "
            "there is nothing to decide; reload the page"
        )
    contents = _contents(store, source, disputes)
    if project is not None:
        return add_pairs(store.database, project, contents)
    new = AnnotationProject(
        name=adjudication_name(source),
        grades=_grades(source, disputes),
        per_pair=1,
        guidelines="Decide the grade of pairs on which raters differ.",
        note=f"decisions about {source.reference}",
    )
    return AnnotationProjects(store).create(new, contents)


def _contents(store: Store, source: Source, disputes: Disputes) -> ProjectContents:
    pairs = [ProjectPair(*pair) for pair in disputes.blind_order()]
    queries = list(dict.fromkeys(pair.query_id for pair in pairs))
    documents = list(dict.fromkeys(pair.doc_id for pair in pairs))
    return ProjectContents(
        pairs, read_query_fields(store, source, queries), read_document_fields(store, source, documents)
    )


@dataclass(frozen=True, kw_only=True)
class UndoDecisionRequest:
    """The adjudicator whose last decision about a source is taken back."""

    source: str
    adjudicator: str
    store: str | None = None


def undo(request: UndoDecisionRequest) -> SavedDecision:
    """Take back the last decision of an adjudicator about a source."""
    judge = name_judge(request.adjudicator)
    with open_existing_store(request.store) as store:
        source = find_source(store, request.source)
        project = _find_project(store, source)
        if project is None:
            raise InputError(f"nothing is decided about {source.reference}: there is nothing to take back")
        return SavedDecision(project.name, judge, *undo_decision(store.database, project, judge))
