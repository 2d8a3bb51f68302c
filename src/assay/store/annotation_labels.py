"""The labels of a project: the valid ones, what raters did so far, and labels made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from assay.core.errors import InputError
from assay.core.recent_values import RecentValues
from assay.judging.annotation.outside_labels import LabelImport, OutsideLabel
from assay.judging.annotation.progress import (
    LabelRow,
    ProjectCounts,
    ProjectOverview,
    ProjectProgress,
    RaterCounts,
    estimate_agreement,
    summarise_raters,
)
from assay.judging.annotation.project import COUNTED, AnnotationProject
from assay.stats.intervals import Estimate
from assay.store.annotation_frames import LabelState, find_label_state, read_first_labels, read_label_frame
from assay.store.annotation_rows import (
    LABELLED,
    LATER,
    OPEN,
    SKIPPED,
    check_rater,
    count_gold,
    from_microseconds,
    to_microseconds,
)
from assay.store.database import Database
from assay.store.schema import (
    annotation_assignments,
    annotation_labels,
    annotation_pairs,
    annotation_projects,
)

_pairs, _assignments, _labels = annotation_pairs.c, annotation_assignments.c, annotation_labels.c
_counts = RecentValues[tuple[int, int]](200)  # by the state of the labels
_agreements = RecentValues[Estimate](50)
_first_agreements = RecentValues[Estimate](200)
_raters = RecentValues[list[str]](200)
OVERVIEW_PAIRS = 10_000  # whose labels are read for an overview


def read_labels(connection: Connection, project: AnnotationProject) -> list[LabelRow]:
    """Return the valid label of each rater for each pair, in the order they were saved."""
    query = (
        select(
            *(_labels.pair, _pairs.query_id, _pairs.doc_id, _pairs.role, _pairs.gold_grade),
            *(_labels.rater, _labels.grade, _labels.note, _labels.source, _labels.shown_at, _labels.at),
        )
        .join_from(
            annotation_assignments,
            annotation_labels,
            (_labels.record == _assignments.record) & (_labels.number == _assignments.label),
        )
        .join(annotation_pairs, (_pairs.record == _labels.record) & (_pairs.number == _labels.pair))
        .where(_assignments.record == project.id, _assignments.state == LABELLED)
        .order_by(_labels.number)
    )
    return [_label_row(*row) for row in connection.execute(query)]


def _label_row(*values: Any) -> LabelRow:
    *others, shown_at, at = values
    times = (None if shown_at is None else from_microseconds(shown_at), from_microseconds(at))
    return LabelRow._make((*others, *times))


def read_counts(database: Database, project: AnnotationProject) -> ProjectCounts:
    """Return how many labels a project has; reads no label, so that a page may ask at any time."""
    with database.read_transaction() as connection:
        return _read_counts(connection, project, find_label_state(connection, database, project))


def _read_counts(connection: Connection, project: AnnotationProject, state: LabelState) -> ProjectCounts:
    owner = annotation_projects.c.record == project.id
    closed_at = connection.execute(select(annotation_projects.c.closed_at).where(owner)).scalar_one()
    full_pairs, labels = _counts.get(state, lambda: _count_labels(connection, project))
    return ProjectCounts(
        project=project,
        closed_at=None if closed_at is None else from_microseconds(closed_at),
        full_pairs=full_pairs,
        labels=labels,
    )


def _count_labels(connection: Connection, project: AnnotationProject) -> tuple[int, int]:
    """Return how many pairs have all their judgments, and how many labels are counted."""
    full = select(func.count()).where(_pairs.record == project.id, _pairs.is_full)
    labelled = (_assignments.record == project.id) & (_assignments.state == LABELLED)
    other = select(_pairs.number).where(_pairs.record == project.id, _pairs.role != COUNTED)
    labels, others = (
        connection.execute(select(func.count()).where(condition)).scalar_one()
        for condition in (labelled, labelled & _assignments.pair.in_(other))
    )
    return connection.execute(full).scalar_one(), labels - others


def read_progress(database: Database, project: AnnotationProject) -> ProjectProgress:
    """Return how far a project is; reads the labels that are new since the last call in this process."""
    with database.read_transaction() as connection:
        state = find_label_state(connection, database, project)
        counts = _read_counts(connection, project, state)
        labels = read_label_frame(connection, state)
        raters = _count_raters(connection, project)
    return ProjectProgress(
        **vars(counts),
        raters=summarise_raters(labels, raters, project.gold_tolerance),
        agreement=_agreements.get(state, lambda: estimate_agreement(labels)),
    )


def read_overview(database: Database, project: AnnotationProject) -> ProjectOverview:
    """Return how far a project is; reads the labels of some pairs at most, so that a page may ask."""
    with database.read_transaction() as connection:
        state = find_label_state(connection, database, project)
        labelled = (_assignments.record == project.id) & (_assignments.state == LABELLED)
        raters = select(_assignments.rater).where(labelled).distinct()
        return ProjectOverview(
            **vars(_read_counts(connection, project, state)),
            raters=_raters.get(state, lambda: sorted(connection.execute(raters).scalars())),
            agreement=_first_agreements.get(
                state, lambda: estimate_agreement(read_first_labels(connection, state, OVERVIEW_PAIRS))
            ),
        )


def _count_raters(connection: Connection, project: AnnotationProject) -> dict[str, RaterCounts]:
    query = (
        select(_assignments.rater, _assignments.state, func.count())
        .where(_assignments.record == project.id)
        .group_by(_assignments.rater, _assignments.state)
    )
    counts = {(row[0], row[1]): row[2] for row in connection.execute(query)}
    return {
        rater: RaterCounts(
            counts.get((rater, SKIPPED), 0),
            counts.get((rater, LATER), 0),
            count_gold(connection, project, rater).is_too_low(project),
        )
        for rater in {rater for rater, _ in counts}
    }


def import_labels(
    database: Database, project: AnnotationProject, labels: Sequence[OutsideLabel]
) -> LabelImport:
    """Save labels made elsewhere in one transaction, within the quota of each pair."""
    for label in labels:
        check_rater(label.rater)
        if label.grade is not None:
            project.check_grade(label.grade)
    with database.write_transaction() as connection:
        owner = annotation_projects.c.record == project.id
        lock = select(annotation_projects.c.closed_at).where(owner).with_for_update()
        if connection.execute(lock).scalar_one() is not None:
            raise InputError(f"project {project.name} is closed: nothing was imported")
        return _Import(connection, project).add(labels)


class _Import:
    """Adds labels made elsewhere, in the transaction of a connection."""

    def __init__(self, connection: Connection, project: AnnotationProject) -> None:
        self.connection, self.project = connection, project
        self.now = to_microseconds(datetime.now(UTC))
        pairs = connection.execute(
            select(_pairs.query_id, _pairs.doc_id, _pairs.number, _pairs.role).where(
                _pairs.record == project.id
            )
        )
        self.pairs = {(row.query_id, row.doc_id): (row.number, row.role) for row in pairs}
        own = select(annotation_assignments).where(_assignments.record == project.id)
        self.states = {(row.pair, row.rater): row for row in connection.execute(own)}
        self.holders = {key for key, row in self.states.items() if self._is_used(row)}
        self.used = Counter(pair for pair, _ in self.holders)
        self.grades = {(x.pair, x.rater): x.grade for x in read_labels(connection, project)}
        last = select(func.max(_labels.number)).where(_labels.record == project.id)
        self.last_number = int(connection.execute(last).scalar() or 0)
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, tuple[str, str]] = {}
        self.labels: list[dict[str, Any]] = []

    def _is_used(self, row: Row[Any]) -> bool:
        """Return whether an assignment counts toward the quota of its pair."""
        return bool(row.state == LABELLED or (row.state == OPEN and row.expires_at > self.now))

    def add(self, labels: Sequence[OutsideLabel]) -> LabelImport:
        """Insert the labels that are new and within the quota."""
        for label in labels:
            kind = self._place(label)
            self.counts[kind] += 1
            if kind in ("over_quota", "unknown_pairs"):
                self.examples.setdefault(kind, (label.query_id, label.doc_id))
        if self.labels:
            self.connection.execute(insert(annotation_labels), self.labels)
            self._update_assignments()
        return LabelImport(**self.counts, examples=self.examples)

    def _place(self, label: OutsideLabel) -> str:
        """Return what becomes of a label, and keep it if it is to be saved."""
        number, role = self.pairs.get((label.query_id, label.doc_id), (-1, ""))
        if number < 0:
            return "unknown_pairs"
        key = (number, label.rater)
        if key in self.grades and self.grades[key] == label.grade:
            return "unchanged"
        if key not in self.holders:
            if role == COUNTED and self.used[number] >= self.project.per_pair:
                return "over_quota"
            self.used[number] += 1
            self.holders.add(key)
        kind = "changed" if key in self.grades else "added"
        self.grades[key] = label.grade
        self._append(number, label)
        return kind

    def _append(self, number: int, label: OutsideLabel) -> None:
        self.last_number += 1
        self.labels.append(
            {
                "record": self.project.id,
                "number": self.last_number,
                "pair": number,
                "rater": label.rater,
                "action": "cannot_rate" if label.grade is None else "grade",
                "grade": label.grade,
                "note": label.note.replace("\0", " "),
                "source": label.source or "import",
                "shown_at": None,
                "at": self.now if label.at is None else to_microseconds(label.at),
            }
        )

    def _update_assignments(self) -> None:
        last = {(row["pair"], row["rater"]): row for row in self.labels}
        record = {"record": self.project.id}
        for (pair, rater), row in last.items():
            if (pair, rater) in self.states:
                own = (_assignments.record == self.project.id) & (_assignments.pair == pair)
                change = update(annotation_assignments).where(own, _assignments.rater == rater)
                self.connection.execute(change.values(state=LABELLED, label=row["number"]))
        times = {"shown_at": self.now, "expires_at": self.now}
        new = [
            {**record, "pair": pair, "rater": rater, "state": LABELLED, "label": row["number"], **times}
            for (pair, rater), row in last.items()
            if (pair, rater) not in self.states
        ]
        if new:
            self.connection.execute(insert(annotation_assignments), new)
        self._mark_full({pair for pair, _ in last})

    def _mark_full(self, numbers: set[int]) -> None:
        """Mark the pairs that have all their judgments now."""
        judged = Counter(pair for pair, _ in self.grades)
        roles = dict(self.pairs.values())
        full = [
            {"full_pair": number}
            for number in numbers
            if roles[number] == COUNTED and judged[number] >= self.project.per_pair
        ]
        if full:
            owner = (_pairs.record == self.project.id) & (_pairs.number == bindparam("full_pair"))
            self.connection.execute(update(annotation_pairs).where(owner).values(is_full=True), full)
