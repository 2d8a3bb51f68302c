"""Records of any kind in the database: a name, a kind, tags, a note, links to tables and a body.

A kind says how its values become records and how records become values again; `experiments` is the first
kind. This module knows none of them: a further kind is a file of its own and needs no change here.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, delete, func, insert, select, update

from assay.core.errors import InputError
from assay.store.database import Database
from assay.store.schema import MAX_INDEXED_CHARACTERS, attributes, links, records, tags

BATCH_SIZE = 500  # databases limit how many values a statement may hold
KIND_PREFIX = "record:"  # of every kind but the experiments, which were there first
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without characters that look alike
Value = TypeVar("Value")


@dataclass(frozen=True)
class Record:
    """What is stored of a value of any kind."""

    id: str
    name: str
    kind: str
    at: datetime
    body: Mapping[str, Any]  # never changes
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    links: Mapping[str, str] = field(default_factory=dict)  # digests of tables by role; not read back
    attributes: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict
    )  # for filters; written, not read


class RecordKind(Protocol[Value]):
    """How values of one kind are stored."""

    @property
    def noun(self) -> str:
        """The name of the kind in messages, such as "experiment"."""
        ...

    def condition(self) -> ColumnElement[bool]:
        """Which records are of this kind."""
        ...

    def to_record(self, value: Value) -> Record:
        """The record of a value; InputError if it could not be read back unchanged."""
        ...

    def insert_details(self, connection: Connection, value: Value) -> None:
        """Insert the rows of a value into tables that only this kind has."""
        ...

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[Value]:
        """The values of records, in the same order."""
        ...


def kind_condition(kind: str) -> ColumnElement[bool]:
    """Which records are of a kind other than experiments, which are stored as KIND_PREFIX + kind."""
    return records.c.kind == KIND_PREFIX + kind


class Records(Generic[Value]):
    """The records of one kind in a database."""

    def __init__(self, database: Database, kind: RecordKind[Value], location: str) -> None:
        self.database, self.kind, self.location = database, kind, location

    def check(self, value: Value) -> None:
        """Raise InputError if a value could not be read back unchanged."""
        check_record(self.kind.to_record(value))

    def add(self, values: Sequence[Value]) -> None:
        """Insert values under their ids in one transaction: all of them, or none."""
        for value in values:
            self.check(value)
        with self.database.write_transaction() as connection:
            for value in values:
                _insert(connection, self.kind.to_record(value))
                self.kind.insert_details(connection, value)

    def ids(self) -> set[str]:
        """The ids of all records of the kind, including deleted ones."""
        with self.database.read_transaction() as connection:
            return set(connection.execute(select(records.c.id).where(self.kind.condition())).scalars())

    def get(self, name: str) -> Value:
        """The value with this id (deleted or not), or the newest with this name that is not deleted."""
        columns = records.c
        has_name = (columns.name == name) & columns.deleted_at.is_(None)
        order = ((columns.id == name).desc(), columns.at.desc())
        values = self._read(self._query().where((columns.id == name) | has_name).order_by(*order).limit(1))
        if not values:
            plural = f"{self.kind.noun}s"
            raise InputError(
                f"there is no {self.kind.noun} {name!r} in {self.location}; see `assay {plural} list`"
            )
        return values[0]

    def get_deleted(self, name: str) -> Value:
        """The deleted value with this id, or the newest deleted one with this name."""
        columns = records.c
        query = self._query().where(
            (columns.id == name) | (columns.name == name), columns.deleted_at.is_not(None)
        )
        values = self._read(query.order_by(columns.at.desc()).limit(1))
        if not values:
            raise InputError(f"there is no deleted {self.kind.noun} {name!r} in {self.location}")
        return values[0]

    def find(
        self,
        *conditions: ColumnElement[bool],
        names: Sequence[str] = (),
        deleted: bool = False,
        limit: int | None = None,
        offset: int = 0,
        order: Sequence[ColumnElement[Any]] = (),
    ) -> list[Value]:
        """The values that meet all conditions, the newest first or in another order."""
        columns = records.c
        query = self._query().where(
            columns.deleted_at.is_not(None) if deleted else columns.deleted_at.is_(None), *conditions
        )
        query = query.where(columns.name.in_(names)) if names else query
        query = query.order_by(*(order or (columns.at.desc(), columns.id))).offset(offset or None)
        return self._read(query if limit is None else query.limit(limit))

    def annotate(
        self,
        record_id: str,
        *,
        note: str | None = None,
        add_tags: Iterable[str] = (),
        drop_tags: Iterable[str] = (),
        pinned: bool | None = None,
    ) -> None:
        """Change the note, the tags or the pin of a record; nothing else of it ever changes."""
        changes = {key: value for key, value in (("note", note), ("pinned", pinned)) if value is not None}
        with self.database.write_transaction() as connection:
            if changes:
                connection.execute(update(records).where(records.c.id == record_id).values(changes))
            for tag in {*add_tags, *drop_tags}:
                connection.execute(delete(tags).where(tags.c.record == record_id, tags.c.tag == tag))
            for tag in dict.fromkeys(add_tags):
                connection.execute(insert(tags).values(record=record_id, tag=tag))

    def set_deleted(self, record_id: str, at: datetime | None) -> None:
        """Mark a record as deleted at a time, or as not deleted."""
        deleted_at = None if at is None else _microseconds(at)
        with self.database.write_transaction() as connection:
            connection.execute(update(records).where(records.c.id == record_id).values(deleted_at=deleted_at))

    def _query(self) -> Select[Any]:
        return select(records).where(self.kind.condition())

    def _read(self, query: Select[Any]) -> list[Value]:
        with self.database.read_transaction() as connection:
            return self.kind.from_records(connection, _read_records(connection, query))


def purge_records(database: Database) -> int:
    """Remove all deleted records of every kind for good; returns how many there were."""
    deleted = records.c.deleted_at.is_not(None)
    with database.write_transaction() as connection:
        count = connection.execute(select(func.count()).select_from(records).where(deleted)).scalar_one()
        connection.execute(delete(records).where(deleted))  # rows of other tables are deleted with them
    return int(count)


def has_records(connection: Connection) -> bool:
    """Whether there is any record, of whatever kind, deleted or not."""
    return connection.execute(select(records.c.id).limit(1)).first() is not None


def linked_digests(connection: Connection, role: str | None = None) -> set[str]:
    """The digests of tables that records of any kind refer to, in one role or in all."""
    query = select(links.c.digest).distinct()
    return set(connection.execute(query if role is None else query.where(links.c.role == role)).scalars())


def new_id() -> str:
    """A random id for a record."""
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(10))


def batches(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """Ids in parts that fit in one statement."""
    return (ids[start : start + BATCH_SIZE] for start in range(0, len(ids), BATCH_SIZE))


def check_record(record: Record) -> None:
    """Raise InputError if a record could not be read back unchanged from every database."""
    if record.at.tzinfo is None:
        raise InputError(
            f"the time of {record.name!r} has no time zone: give it one, such as datetime.now(UTC)"
        )
    texts = (record.name, record.kind, record.note, *record.tags)
    try:
        body = _body_json(record)
        "".join((body, *texts)).encode()
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{record.name!r} cannot be saved: {error}; expected finite numbers and text"
        ) from None
    if "\\u0000" in body or any("\0" in text for text in texts):
        raise InputError(
            f"{record.name!r} contains a NUL character, which not every database can store: remove it"
        )
    if any(len(text) > MAX_INDEXED_CHARACTERS for text in (record.name, record.kind, *record.tags)):
        raise InputError(
            f"a name or a tag of {record.name[:40]!r} is longer than {MAX_INDEXED_CHARACTERS} characters: "
            "shorten it"
        )


def _body_json(record: Record) -> str:
    return json.dumps(record.body, ensure_ascii=False, allow_nan=False)


def _insert(connection: Connection, record: Record) -> None:
    """Insert a record with its tags, links and attributes."""
    deleted_at = None if record.deleted_at is None else _microseconds(record.deleted_at)
    connection.execute(
        insert(records).values(
            id=record.id,
            name=record.name,
            kind=record.kind,
            at=_microseconds(record.at),
            body=_body_json(record),
            note=record.note,
            pinned=record.pinned,
            deleted_at=deleted_at,
        )
    )
    for table, rows in (
        (attributes, _attribute_rows(record)),
        (tags, [{"record": record.id, "tag": tag} for tag in dict.fromkeys(record.tags)]),
        (links, [{"record": record.id, "role": r, "digest": d} for r, d in record.links.items()]),
    ):
        if rows:
            connection.execute(insert(table), rows)


def _attribute_rows(record: Record) -> list[dict[str, Any]]:
    return [
        {
            "record": record.id,
            "space": space,
            "key": key,
            "text": _attribute_text(value),
            "number": float(value) if isinstance(value, int | float) else None,
        }
        for space, values in record.attributes.items()
        for key, value in values.items()
    ]


def _attribute_text(value: Any) -> str | None:
    """A value as filters compare it: only its beginning, because an index holds no long texts."""
    text = value if isinstance(value, str) or value is None else json.dumps(value)
    return None if text is None else text[:MAX_INDEXED_CHARACTERS]


def _read_records(connection: Connection, query: Select[Any]) -> list[Record]:
    """The records of a query, with their tags."""
    rows = connection.execute(query).mappings().all()
    tags_by_id: dict[str, list[str]] = {row["id"]: [] for row in rows}
    for batch in batches(list(tags_by_id)):
        for row in connection.execute(select(tags).where(tags.c.record.in_(batch))):
            tags_by_id[row.record].append(row.tag)
    return [_record(row, tags_by_id[row["id"]]) for row in rows]


def _record(row: RowMapping, record_tags: list[str]) -> Record:
    deleted_at = row["deleted_at"]
    return Record(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        at=_time(row["at"]),
        body=json.loads(row["body"]),
        tags=tuple(sorted(record_tags)),  # each database has its own order
        note=row["note"],
        pinned=bool(row["pinned"]),
        deleted_at=None if deleted_at is None else _time(deleted_at),
    )


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
