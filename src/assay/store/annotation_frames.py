"""The valid labels of a project as a table of columns, kept in memory and brought up to date by the log.

Rows are only added to the log of a project, and whatever changes a valid label adds one. So the number and
the time of the last row say whether the kept table is still right, and the rows after it say which labels
are to be read again.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, Connection, Select, func, select

from assay.core.progress import report_step
from assay.judging.annotation.project import AnnotationProject
from assay.store.annotation_rows import LABELLED
from assay.store.database import Database
from assay.store.records import BATCH_SIZE
from assay.store.schema import annotation_assignments, annotation_labels, annotation_pairs

_MOST_PROJECTS = 6  # whose labels are kept in memory
_MOST_CHANGES = 20_000  # rows of the log; after more, all labels are read
_PAGE_SIZE = 20_000  # rows fetched at once
_TIME = pl.Datetime("us", "UTC")
_PAIR_SCHEMA = {
    "pair": pl.Int64(),
    "query_id": pl.String(),
    "doc_id": pl.String(),
    "role": pl.String(),
    "gold_grade": pl.Float64(),
}
_LABEL_SCHEMA = {
    "number": pl.Int64(),
    "pair": pl.Int64(),
    "rater": pl.String(),
    "grade": pl.Float64(),
    "note": pl.String(),
    "source": pl.String(),
    "shown_at": pl.Int64(),
    "at": pl.Int64(),
}
_pairs, _assignments, _labels = annotation_pairs.c, annotation_assignments.c, annotation_labels.c


class LabelState(NamedTuple):
    """Which labels of a project are meant: two equal states have the same valid labels."""

    url: str  # of the database
    record: str
    last: int  # the number of the last row of the log; 0: nothing was done
    at: int  # the time of that row


class _KeptLabels(NamedTuple):
    state: LabelState
    frame: pl.DataFrame


class _LabelFrames:
    """The tables of the projects that were read last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], _KeptLabels] = OrderedDict()
        self._project_locks: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)

    def read(self, connection: Connection, state: LabelState) -> pl.DataFrame:
        """Return the table of a state; two requests for one project do not read it twice."""
        key = state[:2]
        with self._lock:
            own = self._project_locks[key]
        with own:
            with self._lock:
                kept = self._kept.get(key)
            frame = kept.frame if kept and kept.state == state else _refresh(connection, state, kept)
            with self._lock:
                self._kept[key] = _KeptLabels(state, frame)
                self._kept.move_to_end(key)
                while len(self._kept) > _MOST_PROJECTS:
                    self._kept.popitem(last=False)
        return frame


_frames = _LabelFrames()


def read_label_state(database: Database, project: AnnotationProject) -> LabelState:
    """Return which labels a project has now."""
    with database.read_transaction() as connection:
        return find_label_state(connection, database, project)


def find_label_state(connection: Connection, database: Database, project: AnnotationProject) -> LabelState:
    """Return which labels a project has in a transaction."""
    last = select(func.max(_labels.number)).where(_labels.record == project.id)
    number = int(connection.execute(last).scalar() or 0)
    return LabelState(database.url, project.id, number, _time_of(connection, project.id, number))


def read_label_frame(connection: Connection, state: LabelState) -> pl.DataFrame:
    """Return the valid label of each rater for each pair, in the order they were saved."""
    return _frames.read(connection, state)


def read_first_labels(connection: Connection, state: LabelState, pairs: int) -> pl.DataFrame:
    """Return the valid labels of the first pairs in the shuffled order."""
    labels, known = (
        _valid_labels(state, _assignments.pair < pairs),
        _known_pairs(state, _pairs.number < pairs),
    )
    return _join(connection, labels, known)


def _time_of(connection: Connection, record: str, number: int) -> int:
    query = select(_labels.at).where(_labels.record == record, _labels.number == number)
    return int(connection.execute(query).scalar() or 0)


def _refresh(connection: Connection, state: LabelState, kept: _KeptLabels | None) -> pl.DataFrame:
    """Return the table of a state from an earlier one if little changed, else from the database."""
    if kept is None or not _is_earlier(connection, kept.state, state):
        return _read_all(connection, state)
    query = (
        select(_labels.pair)
        .distinct()
        .where(_labels.record == state.record, _labels.number > kept.state.last)
    )
    changed = sorted(connection.execute(query).scalars())
    return pl.concat(
        [
            kept.frame.filter(~pl.col("pair").is_in(changed)),
            *(_read_pairs(connection, state, part) for part in _parts(changed)),
        ]
    ).sort("number")


def _is_earlier(connection: Connection, kept: LabelState, state: LabelState) -> bool:
    """Return whether the log went on from a kept state, and not far."""
    is_near = 0 < kept.last < state.last <= kept.last + _MOST_CHANGES
    return is_near and _time_of(connection, kept.record, kept.last) == kept.at


def _parts(numbers: Sequence[int]) -> Iterable[Sequence[int]]:
    return (numbers[start : start + BATCH_SIZE] for start in range(0, len(numbers), BATCH_SIZE))


def _read_all(connection: Connection, state: LabelState) -> pl.DataFrame:
    return _join(connection, _valid_labels(state), _known_pairs(state))


def _read_pairs(connection: Connection, state: LabelState, numbers: Sequence[int]) -> pl.DataFrame:
    labels, pairs = (
        _valid_labels(state, _assignments.pair.in_(numbers)),
        _known_pairs(state, _pairs.number.in_(numbers)),
    )
    return _join(connection, labels, pairs)


def _valid_labels(state: LabelState, *conditions: ColumnElement[bool]) -> Select[Any]:
    return (
        select(
            *(_labels.number, _labels.pair, _labels.rater, _labels.grade, _labels.note, _labels.source),
            *(_labels.shown_at, _labels.at),
        )
        .join_from(
            annotation_assignments,
            annotation_labels,
            (_labels.record == _assignments.record) & (_labels.number == _assignments.label),
        )
        .where(_assignments.record == state.record, _assignments.state == LABELLED, *conditions)
    )


def _known_pairs(state: LabelState, *conditions: ColumnElement[bool]) -> Select[Any]:
    columns = (_pairs.number, _pairs.query_id, _pairs.doc_id, _pairs.role, _pairs.gold_grade)
    return select(*columns).where(_pairs.record == state.record, *conditions)


def _join(connection: Connection, labels: Select[Any], pairs: Select[Any]) -> pl.DataFrame:
    """Return labels with the ids of their pairs; the database reads each table on its own."""
    frame, known = (
        fetch_columns(connection, labels, _LABEL_SCHEMA),
        fetch_columns(connection, pairs, _PAIR_SCHEMA),
    )
    joined = frame.join(known, on="pair", how="inner", maintain_order="left").sort("number")
    return joined.with_columns(pl.col("shown_at", "at").cast(_TIME))


def fetch_columns(connection: Connection, query: Select[Any], schema: dict[str, Any]) -> pl.DataFrame:
    """Return rows as columns, fetched from the driver in pages: there may be millions."""
    result = connection.execute(query)
    cursor = result.cursor
    assert cursor is not None
    frames, count = [pl.DataFrame(schema=schema)], 0
    while rows := cursor.fetchmany(_PAGE_SIZE):
        columns = zip(schema.items(), zip(*rows, strict=True), strict=True)
        frames.append(pl.DataFrame([pl.Series(name, values, dtype) for (name, dtype), values in columns]))
        count += len(rows)
        report_step("rows of labels and pairs read", count)
    result.close()
    return pl.concat(frames)
