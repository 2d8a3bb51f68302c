"""The pairs that raters are shown: held for a rater until a time, with the texts to read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update

from assay.judging.annotation.assignments import Assignment
from assay.judging.annotation.project import TRAINING
from assay.store.annotation_rows import OPEN, from_microseconds
from assay.store.schema import annotation_assignments, annotation_pairs, annotation_texts

_pairs, _assignments, _texts = annotation_pairs.c, annotation_assignments.c, annotation_texts.c


def hold_pairs(
    connection: Connection, owner: tuple[str, str], numbers: Sequence[int], shown_at: int, expires_at: int
) -> None:
    """Hold pairs of a project for a rater until a time; `owner` is the record and the rater."""
    record, rater = owner
    values = {"state": OPEN, "label": None, "shown_at": shown_at, "expires_at": expires_at}
    own = (_assignments.record == record) & (_assignments.rater == rater) & _assignments.pair.in_(numbers)
    known = set(connection.execute(select(_assignments.pair).where(own)).scalars())
    if known:
        connection.execute(update(annotation_assignments).where(own).values(values))
    new = [
        {"record": record, "rater": rater, "pair": number, **values}
        for number in numbers
        if number not in known
    ]
    if new:
        connection.execute(insert(annotation_assignments), new)


def read_assignments(
    connection: Connection, record: str, numbers: Sequence[int], shown_at: int, expires_at: int
) -> list[Assignment]:
    """Return what to read of pairs, in the order of the project."""
    query = select(annotation_pairs).where(_pairs.record == record, _pairs.number.in_(numbers))
    rows = connection.execute(query.order_by(_pairs.number)).all()
    queries = _read_fields(connection, record, "query", sorted({row.query_id for row in rows}))
    documents = _read_fields(connection, record, "document", sorted({row.doc_id for row in rows}))
    return [
        Assignment(
            row.number,
            row.query_id,
            row.doc_id,
            queries.get(row.query_id, {}),
            documents.get(row.doc_id, {}),
            row.role == TRAINING,
            from_microseconds(shown_at),
            from_microseconds(expires_at),
        )
        for row in rows
    ]


def _read_fields(
    connection: Connection, record: str, kind: str, items: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return the stored texts of queries or documents by id."""
    query = select(_texts.item, _texts.fields).where(
        _texts.record == record, _texts.kind == kind, _texts.item.in_(items)
    )
    return {row.item: dict(json.loads(row.fields)) for row in connection.execute(query)}
