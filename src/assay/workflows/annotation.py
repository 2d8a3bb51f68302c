"""Annotation by people: create projects, give raters their pairs, save what they say, and say how far it is.

What `assay judge create`, `work`, `status` … do; a page calls the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.recent_values import RecentValues
from assay.datasets import read
from assay.judging.annotation.arrangement import arrange_pairs
from assay.judging.annotation.assignments import Assignment, NoAssignment, QueryPair, SavedLabel
from assay.judging.annotation.progress import ProjectOverview, ProjectProgress
from assay.judging.annotation.project import (
    COUNTED,
    AnnotationProject,
    Grade,
    ProjectPair,
    parse_grade,
)
from assay.store.annotation import AnnotationProjects, ProjectContents
from assay.store.annotation_frames import find_label_state, read_label_frame
from assay.store.annotation_labels import read_overview, read_progress
from assay.store.annotation_queue import AnnotationQueue
from assay.store.store import Store
from assay.workflows.annotation_pairs import check_fields, collect_texts, read_gold, read_pairs
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store

_judgments = RecentValues[Judgments | None](3)  # of projects, by the state of their labels


@dataclass(frozen=True, kw_only=True)
class CreateProjectRequest:
    """What people judge, and by which rules."""

    name: str
    pairs: str  # a pool, qrels, a run, a folder or dataset:NAME
    grades: Sequence[str]  # each a number and a name
    queries: str | None = None
    documents: str | None = None
    per_pair: int = 2
    guidelines: str | None = None  # a file
    gold: str | None = None  # judgments that are known to be right
    training: int = 0
    seed: int = 0
    depth: int = 10  # documents of each query of a run
    fields: Sequence[str] = ()  # other columns of the documents to show
    lease_minutes: float = 30.0
    gold_every: int = 10
    gold_accuracy: float = 0.7
    gold_least: int = 5
    gold_tolerance: float = 0.0
    note: str = ""
    store: str | None = None

    def __post_init__(self) -> None:
        if self.training < 0 or self.depth < 1:
            raise InputError(
                f"--training expects 0 or more and --depth 1 or more, found {self.training} and {self.depth}"
            )


@dataclass(frozen=True)
class CreatedProject:
    """A project that was created."""

    project: AnnotationProject
    store: str

    def to_dict(self) -> dict[str, Any]:
        """Return the project as plain data, as `assay judge create --format json` prints it."""
        return {**self.project.to_dict(), "store": self.store}


def create_project(request: CreateProjectRequest) -> CreatedProject:
    """Create a project with its pairs in a shuffled order, and keep what raters read of them."""
    project = _new_project(request)
    contents = _read_contents(request, project)
    with Store(store_url(request.store)) as store:
        return CreatedProject(AnnotationProjects(store).create(project, contents), store.url)


def _new_project(request: CreateProjectRequest) -> AnnotationProject:
    return AnnotationProject(
        name=request.name.strip(),
        grades=tuple(sorted(map(parse_grade, request.grades))),
        per_pair=request.per_pair,
        guidelines=_read_guidelines(request.guidelines) if request.guidelines else "",
        seed=request.seed,
        lease_minutes=request.lease_minutes,
        gold_every=request.gold_every,
        gold_accuracy=request.gold_accuracy,
        gold_least=request.gold_least,
        gold_tolerance=request.gold_tolerance,
        note=request.note,
    )


def _read_guidelines(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected guidelines as text in UTF-8, found other bytes") from None


def _read_contents(request: CreateProjectRequest, project: AnnotationProject) -> ProjectContents:
    source = read_pairs(request.pairs, request.depth, request.store)
    gold = read_gold(request.gold) if request.gold else []
    _check_gold(request, project, gold)
    pairs = arrange_pairs(source.pairs, gold, request.training, request.seed)
    queries = read(request.queries, "queries") if request.queries else source.queries
    documents = read(request.documents, "documents") if request.documents else source.documents
    check_fields(request.fields, documents)
    query_ids = dict.fromkeys(pair.query_id for pair in pairs)
    doc_ids = dict.fromkeys(pair.doc_id for pair in pairs)
    return ProjectContents(
        pairs,
        collect_texts("query", queries, list(query_ids), ()),
        collect_texts("document", documents, list(doc_ids), request.fields),
    )


def _check_gold(
    request: CreateProjectRequest, project: AnnotationProject, gold: Sequence[ProjectPair]
) -> None:
    for pair in gold:
        assert pair.gold_grade is not None
        try:
            project.check_grade(pair.gold_grade)
        except InputError as error:
            raise InputError(f"{request.gold}: {pair.doc_id!r} of query {pair.query_id!r}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class RaterRequest:
    """A rater of a project."""

    name: str  # of the project
    rater: str
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class PairRequest(RaterRequest):
    """A pair that a rater was given."""

    pair: int


@dataclass(frozen=True, kw_only=True)
class SaveLabelRequest(PairRequest):
    """The grade of a pair."""

    grade: float
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class CannotRateRequest(PairRequest):
    """Why a rater cannot rate a pair."""

    reason: str


@dataclass(frozen=True)
class RaterTurn:
    """What a rater does next, with what is needed to show it."""

    name: str
    grades: tuple[Grade, ...]
    guidelines: str
    rater: str
    judged: int  # pairs that this rater judged, with gold questions
    labels: int  # counted ones of all raters
    wanted: int
    assignment: Assignment | None
    refusal: NoAssignment | None  # why there is no assignment
    pairs: tuple[QueryPair, ...] = ()  # of the query, if all of it is judged at once

    def to_dict(self) -> dict[str, Any]:
        """Return the turn as plain data."""
        parts = {name: value and value.to_dict() for name, value in self._parts().items()}
        lists = {name: [one.to_dict() for one in getattr(self, name)] for name in ("grades", "pairs")}
        return {**vars(self), **lists, **parts}

    def _parts(self) -> dict[str, Assignment | NoAssignment | None]:
        return {"assignment": self.assignment, "refusal": self.refusal}


@contextmanager
def _open_queue(request: RaterRequest) -> Iterator[AnnotationQueue]:
    with open_existing_store(request.store) as store:
        yield AnnotationQueue(store.database, AnnotationProjects(store).get(request.name))


def next_assignment(request: RaterRequest) -> RaterTurn:
    """Return the pair that a rater judges next, or why there is none."""
    with _open_queue(request) as queue:
        task = queue.next_assignment(request.rater)
        return _turn(queue, request.rater, task)


@dataclass(frozen=True, kw_only=True)
class NextQueryRequest(RaterRequest):
    """A rater who judges all pairs of a query at once, and the pair after which to go on."""

    after: int | None = None  # None: the first that is not judged


def next_query(request: NextQueryRequest) -> RaterTurn:
    """Return the pairs of the query that a rater judges next, or why there is none."""
    with _open_queue(request) as queue:
        answer = queue.query_assignment(request.rater, request.after)
        if isinstance(answer, NoAssignment):
            return _turn(queue, request.rater, answer)
        return _turn(queue, request.rater, answer.current, answer.pairs)


def _turn(
    queue: AnnotationQueue, rater: str, task: Assignment | NoAssignment, pairs: tuple[QueryPair, ...] = ()
) -> RaterTurn:
    judged, labels = queue.count_labels(rater)
    project = queue.project
    return RaterTurn(
        name=project.name,
        grades=project.grades,
        guidelines=project.guidelines,
        rater=rater,
        judged=judged,
        labels=labels,
        wanted=project.counts.get(COUNTED, 0) * project.per_pair,
        assignment=task if isinstance(task, Assignment) else None,
        refusal=task if isinstance(task, NoAssignment) else None,
        pairs=pairs,
    )


def save_label(request: SaveLabelRequest) -> SavedLabel:
    """Save the grade of a pair; it is on disk when this returns."""
    with _open_queue(request) as queue:
        return queue.save_label(request.rater, request.pair, request.grade, request.note)


def cannot_rate(request: CannotRateRequest) -> SavedLabel:
    """Save that a rater cannot rate a pair, and why."""
    with _open_queue(request) as queue:
        return queue.cannot_rate(request.rater, request.pair, request.reason)


def skip(request: PairRequest) -> None:
    """Leave a pair to other raters."""
    with _open_queue(request) as queue:
        queue.skip(request.rater, request.pair)


def later(request: PairRequest) -> None:
    """Set a pair aside until the rater has had all others."""
    with _open_queue(request) as queue:
        queue.later(request.rater, request.pair)


def undo(request: RaterRequest) -> int:
    """Take back what a rater did last; returns the number of the pair, which the rater is given next."""
    with _open_queue(request) as queue:
        return queue.undo(request.rater)


def leave(request: RaterRequest) -> None:
    """Let others have the pair that a rater was shown and did not judge."""
    with _open_queue(request) as queue:
        queue.release(request.rater)


def resume_rater(request: RaterRequest) -> None:
    """Let a rater go on who was paused for wrong answers to gold questions."""
    with _open_queue(request) as queue:
        queue.resume(request.rater)


@dataclass(frozen=True, kw_only=True)
class ProjectRequest:
    """A project."""

    name: str
    store: str | None = None


def progress(request: ProjectRequest) -> ProjectProgress:
    """Return how far a project is: labels, raters, speed, gold questions and agreement."""
    with open_existing_store(request.store) as store:
        return read_progress(store.database, AnnotationProjects(store).get(request.name))


@dataclass(frozen=True, kw_only=True)
class ListProjectsRequest:
    """The store whose projects are listed."""

    store: str | None = None


@dataclass(frozen=True)
class ProjectList:
    """Annotation projects, the newest first."""

    projects: tuple[ProjectProgress, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the projects as plain data, as `assay judge projects --format json` prints them."""
        return {"projects": [{**p.project.to_dict(), **p.to_dict()} for p in self.projects]}


def list_projects(request: ListProjectsRequest) -> ProjectList:
    """Return the projects of a store with their progress."""
    with open_existing_store(request.store) as store:
        projects = AnnotationProjects(store).find()
        return ProjectList(tuple(read_progress(store.database, project) for project in projects))


@dataclass(frozen=True)
class ProjectOverviews:
    """Annotation projects as far as it can be told without reading all labels, the newest first."""

    projects: tuple[ProjectOverview, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the projects as plain data."""
        return {"projects": [{**p.project.to_dict(), **p.to_dict()} for p in self.projects]}


def list_overviews(request: ListProjectsRequest) -> ProjectOverviews:
    """Return the projects of a store, each at a cost that does not grow with its labels."""
    with open_existing_store(request.store) as store:
        projects = AnnotationProjects(store).find()
        return ProjectOverviews(tuple(read_overview(store.database, project) for project in projects))


def close_project(request: ProjectRequest) -> ProjectProgress:
    """Close a project: nothing more is judged."""
    return _set_closed(request, is_closed=True)


def reopen_project(request: ProjectRequest) -> ProjectProgress:
    """Open a closed project again."""
    return _set_closed(request, is_closed=False)


def _set_closed(request: ProjectRequest, is_closed: bool) -> ProjectProgress:
    with open_existing_store(request.store) as store:
        projects = AnnotationProjects(store)
        project = projects.get(request.name)
        projects.set_closed(project, is_closed)
        return read_progress(store.database, project)


def project_judgments(name: str, store: str | None = None) -> Judgments:
    """Return the counted labels of a project; the grade of a pair that could not be rated is None."""
    with open_existing_store(store) as opened:
        judgments = read_project_judgments(opened, AnnotationProjects(opened).get(name))
    if judgments is None:
        raise InputError(
            f"project {name} has no label yet: judge pairs with `assay judge work {name} --rater …`"
        )
    return judgments


def read_project_judgments(store: Store, project: AnnotationProject) -> Judgments | None:
    """Return the counted labels of a project; None if it has none yet."""
    with store.database.read_transaction() as connection:
        state = find_label_state(connection, store.database, project)
        return _judgments.get(state, lambda: _to_judgments(read_label_frame(connection, state), project.name))


def _to_judgments(labels: pl.DataFrame, name: str) -> Judgments | None:
    counted = labels.filter(pl.col("role") == COUNTED)
    if counted.is_empty():
        return None
    source = pl.when(pl.col("source") == "").then(pl.lit(f"project:{name}")).otherwise("source")
    columns = ("query_id", "doc_id", pl.col("rater").alias("judge"), "grade", "at", source.alias("source"))
    return Judgments(counted.select(*columns, "note"))
