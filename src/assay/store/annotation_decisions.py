"""Decisions about single pairs of a project that an adjudicator chose, and pairs that are added later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
from sqlalchemy import Connection, delete, func, insert, select, update

from assay.core.errors import InputError
from assay.judging.annotation.project import COUNTED, AnnotationProject, ProjectPair
from assay.store.annotation import Fields, ProjectContents, ProjectKind
from assay.store.annotation_frames import fetch_columns
from assay.store.annotation_rows import (
    LABELLED,
    append_label,
    check_rater,
    place_label,
    refresh_fullness,
    to_microseconds,
)
from assay.store.database import Database
from assay.store.record_rows import insert_missing
from assay.store.records import batches
from assay.store.schema import (
    annotation_assignments,
    annotation_labels,
    annotation_pairs,
    annotation_projects,
    annotation_texts,
    records,
)

_pairs, _assignments, _labels = annotation_pairs.c, annotation_assignments.c, annotation_labels.c
SOURCE = "adjudicate"  # of a decision


def add_pairs(database: Database, project: AnnotationProject, contents: ProjectContents) -> AnnotationProject:
    """Add the pairs that a project does not have, after those that it has; return it with its new counts."""
    with database.write_transaction() as connection:
        _lock(connection, project)
        known = _numbers(connection, project)
        new = [pair for pair in contents.pairs if pair[:2] not in known]
        first = 1 + max(known.values(), default=-1)
        rows = [_pair_row(project, first + place, pair) for place, pair in enumerate(new)]
        if rows:
            connection.execute(insert(annotation_pairs), rows)
        insert_missing(connection, annotation_texts, _text_rows(project, "query", contents.queries))
        insert_missing(connection, annotation_texts, _text_rows(project, "document", contents.documents))
        counts = {**project.counts, COUNTED: len(known) + len(new)}
        changed = replace(project, counts=counts)
        body = json.dumps(ProjectKind().to_record(changed).body, ensure_ascii=False)
        connection.execute(update(records).where(records.c.id == project.id).values(body=body))
    return changed


def _pair_row(project: AnnotationProject, number: int, pair: ProjectPair) -> dict[str, Any]:
    return {"record": project.id, "number": number, "is_full": False, **pair._asdict()}


def _text_rows(project: AnnotationProject, kind: str, texts: Mapping[str, Fields]) -> list[dict[str, Any]]:
    return [
        {
            "record": project.id,
            "kind": kind,
            "item": item,
            "fields": json.dumps(dict(fields), ensure_ascii=False),
        }
        for item, fields in texts.items()
    ]


def _lock(connection: Connection, project: AnnotationProject) -> None:
    """Hold the project; InputError if it is closed."""
    owner = annotation_projects.c.record == project.id
    closed_at = select(annotation_projects.c.closed_at).where(owner).with_for_update()
    if connection.execute(closed_at).scalar_one() is not None:
        raise InputError(
            f"project {project.name} is closed: nothing was saved; open it again with "
            f"`assay judge close {project.name} --reopen`"
        )


def _numbers(connection: Connection, project: AnnotationProject) -> dict[tuple[str, str], int]:
    query = select(_pairs.query_id, _pairs.doc_id, _pairs.number).where(_pairs.record == project.id)
    return {(row.query_id, row.doc_id): row.number for row in connection.execute(query)}


def find_pair(database: Database, project: AnnotationProject, query_id: str, doc_id: str) -> int | None:
    """Return the number of a pair of a project; None if the project does not have it."""
    with database.read_transaction() as connection:
        return _number(connection, project, query_id, doc_id)


def _number(connection: Connection, project: AnnotationProject, query_id: str, doc_id: str) -> int | None:
    is_pair = (_pairs.query_id == query_id) & (_pairs.doc_id == doc_id)
    query = select(_pairs.number).where(_pairs.record == project.id, is_pair)
    return connection.execute(query).scalars().first()


def save_decision(
    database: Database,
    project: AnnotationProject,
    pair: tuple[str, str],
    adjudicator: str,
    grade: float | None,
    note: str = "",
) -> None:
    """Save the decision of an adjudicator about a pair; None: it cannot be rated.

    InputError if another adjudicator decided the pair.
    """
    check_rater(adjudicator)
    if grade is not None:
        project.check_grade(grade)
    now = to_microseconds(datetime.now(UTC))
    with database.write_transaction() as connection:
        _lock(connection, project)
        number = _number(connection, project, *pair)
        if number is None:
            raise InputError(f"project {project.name} has no pair of query {pair[0]!r} and {pair[1]!r}")
        _refuse_second(connection, project, number, adjudicator)
        label = append_label(
            connection,
            record=project.id,
            pair=number,
            rater=adjudicator,
            action="cannot_rate" if grade is None else "grade",
            grade=grade,
            note=note,
            source=SOURCE,
            shown_at=None,
            at=now,
        )
        times = {"shown_at": now, "expires_at": now}
        place_label(connection, (project.id, number, adjudicator), state=LABELLED, label=label, **times)
        refresh_fullness(connection, project, number)


def _refuse_second(connection: Connection, project: AnnotationProject, number: int, adjudicator: str) -> None:
    others = select(_assignments.rater).where(
        _assignments.record == project.id,
        _assignments.pair == number,
        _assignments.state == LABELLED,
        _assignments.rater != adjudicator,
    )
    other = connection.execute(others.limit(1)).scalar()
    if other is not None:
        raise InputError(f"{other} has decided this pair already: nothing was saved")


def undo_decision(database: Database, project: AnnotationProject, adjudicator: str) -> tuple[str, str]:
    """Take back the last decision of an adjudicator; return its query and document."""
    owner = (_assignments.record == project.id) & (_assignments.rater == adjudicator)
    last = (
        select(_assignments.pair, _pairs.query_id, _pairs.doc_id)
        .join(
            annotation_labels,
            (_labels.record == _assignments.record) & (_labels.number == _assignments.label),
        )
        .join(annotation_pairs, (_pairs.record == _labels.record) & (_pairs.number == _labels.pair))
        .where(owner, _assignments.state == LABELLED)
        .order_by(_labels.number.desc())
    )
    with database.write_transaction() as connection:
        _lock(connection, project)
        row = connection.execute(last.limit(1)).first()
        if row is None:
            raise InputError(f"{adjudicator} has decided nothing in project {project.name}")
        now = to_microseconds(datetime.now(UTC))
        values = {"record": project.id, "pair": row.pair, "rater": adjudicator, "action": "undo"}
        append_label(connection, **values, grade=None, note="", source=SOURCE, shown_at=None, at=now)
        connection.execute(delete(annotation_assignments).where(owner, _assignments.pair == row.pair))
        refresh_fullness(connection, project, row.pair)
    return row.query_id, row.doc_id


def read_raters(database: Database, project: AnnotationProject) -> dict[str, int]:
    """Return how many pairs each rater of a project labelled."""
    query = (
        select(_assignments.rater, func.count())
        .where(_assignments.record == project.id, _assignments.state == LABELLED)
        .group_by(_assignments.rater)
    )
    with database.read_transaction() as connection:
        return {row[0]: row[1] for row in connection.execute(query.order_by(_assignments.rater))}


def read_pair_ids(database: Database, project: AnnotationProject) -> pl.DataFrame:
    """Return the queries and documents of the counted pairs of a project."""
    query = select(_pairs.query_id, _pairs.doc_id).where(_pairs.record == project.id, _pairs.role == COUNTED)
    with database.read_transaction() as connection:
        return fetch_columns(connection, query, {"query_id": pl.String(), "doc_id": pl.String()})


def read_project_texts(
    database: Database, project: AnnotationProject, kind: str, ids: Sequence[str]
) -> dict[str, Fields]:
    """Return what raters read of some queries, or of some documents, of a project."""
    texts = annotation_texts.c
    query = select(texts.item, texts.fields).where(texts.record == project.id, texts.kind == kind)
    with database.read_transaction() as connection:
        return {
            row.item: json.loads(row.fields)
            for batch in batches(list(dict.fromkeys(ids)))
            for row in connection.execute(query.where(texts.item.in_(batch)))
        }
