"""Annotation projects as records, with their pairs and the texts that raters read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, insert, select, text, update

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.judging.annotation.arrangement import count_roles
from assay.judging.annotation.project import AnnotationProject, Grade, ProjectPair
from assay.store.records import KIND_PREFIX, Record, Records, kind_condition, new_id
from assay.store.schema import annotation_pairs, annotation_projects, annotation_texts, records
from assay.store.store import Store

KIND = "annotation"
_BATCH_SIZE = 10_000  # rows inserted at once
_BODY_FIELDS = (
    *("per_pair", "guidelines", "seed", "lease_minutes", "counts"),
    *("gold_every", "gold_accuracy", "gold_least", "gold_tolerance"),
)
Fields = Mapping[str, str]  # what a rater reads of a query or a document: title, text and others


class ProjectContents(NamedTuple):
    """The pairs of a project in their order, and what raters read of the queries and documents in them."""

    pairs: Sequence[ProjectPair]
    queries: Mapping[str, Fields]
    documents: Mapping[str, Fields]


@dataclass(frozen=True)
class ProjectKind:
    """How annotation projects are stored; a new one with its contents."""

    contents: ProjectContents | None = None
    noun: str = "project"

    def condition(self) -> ColumnElement[bool]:
        """Records of annotation projects."""
        return kind_condition(KIND)

    def to_record(self, value: AnnotationProject) -> Record:
        """The record of a project."""
        grades = [grade.to_dict() for grade in value.grades]
        return Record(
            id=value.id,
            name=value.name,
            kind=KIND_PREFIX + KIND,
            at=value.at,
            body={"grades": grades, **{name: getattr(value, name) for name in _BODY_FIELDS}},
            tags=value.tags,
            note=value.note,
            pinned=value.pinned,
            deleted_at=value.deleted_at,
        )

    def insert_details(self, connection: Connection, value: AnnotationProject) -> None:
        """Insert the pairs and texts of a new project; InputError if its name is in use."""
        if connection.dialect.name == "postgresql":  # one process at a time, as in SQLite
            connection.execute(text("LOCK TABLE annotation_projects IN SHARE ROW EXCLUSIVE MODE"))
        _refuse_second(connection, value)
        connection.execute(insert(annotation_projects).values(record=value.id))
        if self.contents is not None:
            _insert_contents(connection, value.id, self.contents)

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[AnnotationProject]:
        """The projects of records."""
        return [_project(record) for record in rows]


def _project(record: Record) -> AnnotationProject:
    body = dict(record.body)
    grades = tuple(Grade(**grade) for grade in body.pop("grades"))
    fields = {name: getattr(record, name) for name in ("name", "at", "tags", "note", "pinned", "id")}
    return AnnotationProject(grades=grades, deleted_at=record.deleted_at, **fields, **body)


def _refuse_second(connection: Connection, value: AnnotationProject) -> None:
    columns = records.c
    same = select(columns.id).where(
        kind_condition(KIND), columns.name == value.name, columns.deleted_at.is_(None), columns.id != value.id
    )
    if connection.execute(same.limit(1)).first() is not None:
        raise InputError(f"there is a project {value.name!r} already: choose another name")


def _insert_contents(connection: Connection, record_id: str, contents: ProjectContents) -> None:
    for batch in _batches(_pair_rows(record_id, contents.pairs)):
        connection.execute(insert(annotation_pairs), batch)
    for kind, texts in (("query", contents.queries), ("document", contents.documents)):
        rows = (
            {"record": record_id, "kind": kind, "item": item, "fields": _to_json(item, fields)}
            for item, fields in texts.items()
        )
        for batch in _batches(rows):
            connection.execute(insert(annotation_texts), batch)


def _pair_rows(record_id: str, pairs: Sequence[ProjectPair]) -> Iterator[dict[str, Any]]:
    return (
        {"record": record_id, "number": number, "is_full": False, **pair._asdict()}
        for number, pair in enumerate(pairs)
    )


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH_SIZE:
            yield batch
            batch = []
    if batch:
        yield batch


def _to_json(item: str, fields: Fields) -> str:
    body = json.dumps(dict(fields), ensure_ascii=False)
    if "\\u0000" in body or "\0" in item:
        raise InputError(f"the text of {item!r} contains a NUL character, which not every database can store")
    return body


class AnnotationProjects:
    """The annotation projects in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._records: Records[AnnotationProject] = store.records(ProjectKind())

    def create(self, project: AnnotationProject, contents: ProjectContents) -> AnnotationProject:
        """Save a new project with its pairs; InputError if there is one of this name."""
        project = replace(count_roles(project, contents.pairs), id=project.id or new_id())
        self.store.records(ProjectKind(contents)).add([project])
        return project

    def find(self) -> list[AnnotationProject]:
        """All projects, the newest first."""
        return self._records.find()

    def get(self, name: str) -> AnnotationProject:
        """The project of this name or id; InputError if there is none."""
        named = self._records.find(names=[name], limit=1) or self._records.find(records.c.id == name)
        if not named:
            hint = did_you_mean(name, [project.name for project in self.find()])
            problem = f"there is no project {name!r} in {self.store.url}"
            raise InputError(f"{problem}; {hint or 'see `assay judge projects`'}")
        return named[0]

    def query_texts(self, project: AnnotationProject) -> dict[str, str]:
        """The text of each query of a project."""
        texts = annotation_texts.c
        own = (texts.record == project.id) & (texts.kind == "query")
        with self.store.database.read_transaction() as connection:
            rows = connection.execute(select(texts.item, texts.fields).where(own)).all()
        return {item: json.loads(fields).get("text") or "" for item, fields in rows}

    def closed_at(self, project: AnnotationProject) -> datetime | None:
        """When the project was closed; None if it is open."""
        query = select(annotation_projects.c.closed_at).where(annotation_projects.c.record == project.id)
        with self.store.database.read_transaction() as connection:
            microseconds = connection.execute(query).scalar_one()
        return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)

    def set_closed(self, project: AnnotationProject, is_closed: bool) -> None:
        """Close a project, so that nothing more is judged, or open it again."""
        closed_at = int(datetime.now(UTC).timestamp() * 1e6) if is_closed else None
        owner = annotation_projects.c.record == project.id
        with self.store.database.write_transaction() as connection:
            connection.execute(update(annotation_projects).where(owner).values(closed_at=closed_at))
