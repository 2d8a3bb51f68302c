"""What was measured online as records, linked to offline experiments and versions of evaluation sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select

from assay.core.online_records import OnlineRecord
from assay.store.records import KIND_PREFIX, Record, kind_condition
from assay.store.schema import links, records

_NOUNS = {"ab_test": "A/B test", "online_metrics": "record of online metrics", "shadow": "shadow report"}


def newest_of_name(kind: str) -> ColumnElement[bool]:
    """Which records of a kind are the newest of their name; there may be two of one time."""
    others = records.alias()
    is_same = (others.c.kind == KIND_PREFIX + kind) & (others.c.name == records.c.name)
    newest = select(func.max(others.c.at)).where(is_same, others.c.deleted_at.is_(None))
    return records.c.at == newest.correlate(records).scalar_subquery()


def linked_to(experiment: str) -> ColumnElement[bool]:
    """Which records are linked to an experiment, by its id."""
    return records.c.id.in_(select(links.c.record).where(links.c.digest == experiment))


def has_id_or_name(text: str) -> ColumnElement[bool]:
    """Which records have this id or this name."""
    return (records.c.id == text) | (records.c.name == text)


@dataclass(frozen=True)
class OnlineRecordKind:
    """How the results of one kind of online measurement are stored."""

    kind: str

    @property
    def noun(self) -> str:
        """The name of the kind in messages."""
        return _NOUNS.get(self.kind, self.kind)

    def condition(self) -> ColumnElement[bool]:
        """Records of this kind."""
        return kind_condition(self.kind)

    def to_record(self, value: OnlineRecord) -> Record:
        """The record of a result."""
        return Record(
            id=value.id,
            name=value.name,
            kind=KIND_PREFIX + self.kind,
            at=value.at,
            body={"links": dict(value.links), "result": value.body},
            tags=value.tags,
            note=value.note,
            pinned=value.pinned,
            deleted_at=value.deleted_at,
            links=value.links,
        )

    def insert_details(self, connection: Connection, value: OnlineRecord) -> None:
        """Insert nothing: a result has no rows of its own."""

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[OnlineRecord]:
        """The results of records."""
        return [
            OnlineRecord(
                name=record.name,
                kind=self.kind,
                body=record.body["result"],
                links=record.body["links"],
                at=record.at,
                tags=record.tags,
                note=record.note,
                pinned=record.pinned,
                deleted_at=record.deleted_at,
                id=record.id,
            )
            for record in rows
        ]
