"""Studies of answers against retrieval as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection

from assay.core.errors import InputError
from assay.rag.study import RagStudy
from assay.rag.study_file import parse_study, study_dict
from assay.store.online_records import has_id_or_name
from assay.store.records import KIND_PREFIX, Record, kind_condition, new_id
from assay.store.store import Store

_KIND = "rag_study"


@dataclass(frozen=True)
class StoredStudy:
    """A study under its name; `body` is the JSON that `assay rag run -o` writes."""

    name: str
    body: Mapping[str, Any]
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    id: str = field(default_factory=new_id)

    @cached_property
    def study(self) -> RagStudy:
        """The study, as it was saved."""
        return parse_study(dict(self.body), self.name)


class RagStudyKind:
    """How studies are stored."""

    noun = "RAG study"

    def condition(self) -> ColumnElement[bool]:
        """Records of this kind."""
        return kind_condition(_KIND)

    def to_record(self, value: StoredStudy) -> Record:
        """The record of a study."""
        return Record(
            id=value.id,
            name=value.name,
            kind=KIND_PREFIX + _KIND,
            at=value.at,
            body=value.body,
            tags=value.tags,
            note=value.note,
            pinned=value.pinned,
            deleted_at=value.deleted_at,
        )

    def insert_details(self, connection: Connection, value: StoredStudy) -> None:
        """Insert nothing: a study has no rows of its own."""

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[StoredStudy]:
        """The studies of records."""
        return [
            StoredStudy(
                record.name,
                record.body,
                record.at,
                record.tags,
                record.note,
                record.pinned,
                record.deleted_at,
                record.id,
            )
            for record in rows
        ]


class RagStudies:
    """The studies of a store."""

    def __init__(self, store: Store) -> None:
        self._records = store.records(RagStudyKind())
        self._location = store.url

    def save(self, name: str, study: RagStudy) -> StoredStudy:
        """Save a study under a name."""
        stored = StoredStudy(name, study_dict(study))
        self._records.add([stored])
        return stored

    def find(self, limit: int | None = None) -> list[StoredStudy]:
        """The studies, the newest first."""
        return self._records.find(limit=limit)

    def get(self, name: str) -> StoredStudy:
        """The study with this id, or the newest with this name."""
        found = self._records.find(has_id_or_name(name), limit=1)
        if not found:
            raise InputError(
                f"there is no RAG study {name!r} in {self._location}: save one with `assay rag run --save`"
            )
        return found[0]
