"""Versions of evaluation sets as records, with their tables as Parquet files named by their digest."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from sqlalchemy import ColumnElement, Connection

from assay.core.document_clicks import DocumentClicks
from assay.core.errors import InputError, StoreError
from assay.core.judgments import Judgments
from assay.core.rankings import Rankings
from assay.core.records import DatasetVersion
from assay.core.suggestions import did_you_mean
from assay.core.tables import Documents, Qrels, Queries
from assay.store.records import KIND_PREFIX, Record, Records, kind_condition, new_id
from assay.store.store import Store
from assay.store.table_files import table_from_parquet, table_to_parquet

KIND = "dataset"
TABLES: dict[str, type[Any]] = {
    "queries": Queries,
    "qrels": Qrels,
    "documents": Documents,
    "judgments": Judgments,
}
DatasetTable = Queries | Qrels | Documents | Judgments
_BODY_FIELDS = ("digests", "counts", "parent", "recipe")


@dataclass(frozen=True)
class DatasetKind:
    """How versions of evaluation sets are stored."""

    noun: str = KIND

    def condition(self) -> ColumnElement[bool]:
        """Records of evaluation sets."""
        return kind_condition(KIND)

    def to_record(self, value: DatasetVersion) -> Record:
        """The record of a version."""
        return Record(
            id=value.id,
            name=value.name,
            kind=KIND_PREFIX + KIND,
            at=value.at,
            body={name: getattr(value, name) for name in _BODY_FIELDS},
            tags=value.tags,
            note=value.note,
            pinned=value.pinned,
            deleted_at=value.deleted_at,
            links=value.digests,
        )

    def insert_details(self, connection: Connection, value: DatasetVersion) -> None:
        """Insert nothing: a version has no rows of its own."""

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[DatasetVersion]:
        """The versions of records."""
        return [
            DatasetVersion(
                name=record.name,
                at=record.at,
                tags=record.tags,
                note=record.note,
                pinned=record.pinned,
                deleted_at=record.deleted_at,
                id=record.id,
                **record.body,
            )
            for record in rows
        ]


class DatasetVersions:
    """The versions of evaluation sets in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: Records[DatasetVersion] = store.records(DatasetKind())

    def save(self, version: DatasetVersion, tables: Mapping[str, DatasetTable]) -> DatasetVersion:
        """Save a version and its tables; the newest version of this name, if it has the same content."""
        digests = {role: table.digest for role, table in tables.items()}
        version = replace(version, id=version.id or new_id(), digests=digests)
        self._records.check(version)
        before = self.find(version.name, limit=1)
        if before and before[0].digest == version.digest:
            return before[0]
        contents = {table.digest: table_to_parquet(table) for table in tables.values()}
        for digest, content in contents.items():
            self._store.tables.write(digest, content)
        parent = before[0].digest if before else None
        version = replace(version, parent=version.parent or parent)
        self._records.add([version])
        return version

    def find(self, name: str | None = None, limit: int | None = None) -> list[DatasetVersion]:
        """The versions of all evaluation sets or of one, the newest first."""
        return self._records.find(names=[name] if name else (), limit=limit)

    def get(self, reference: str) -> DatasetVersion:
        """The version of an id, of NAME@DIGEST (its beginning is enough), or the newest of a name."""
        name, at, digest = reference.rpartition("@")
        versions = self.find()
        named = [version for version in versions if version.name == (name if at else reference)]
        matching = [version for version in named if version.digest.startswith(digest)] if at else named
        matching = matching or [v for v in versions if reference in (v.id, v.name)]
        if not matching:
            raise InputError(self._missing_problem(reference, versions))
        return matching[0]

    def _missing_problem(self, reference: str, versions: Sequence[DatasetVersion]) -> str:
        names = dict.fromkeys(name for version in versions for name in (version.label, version.name))
        hint = did_you_mean(reference, names) or "see `assay dataset versions`"
        return f"there is no dataset {reference!r} in {self._store.url}; {hint}"

    def tables(self, version: DatasetVersion) -> dict[str, DatasetTable]:
        """The tables of a version, checked by their digests."""
        return {role: self._read(role, digest) for role, digest in version.digests.items()}

    def unchecked_tables(self, version: DatasetVersion, without: Collection[str]) -> dict[str, DatasetTable]:
        """The tables of a version but those of some roles; a digest takes longer than all else of a page."""
        kept = {role: digest for role, digest in version.digests.items() if role not in without}
        return {role: self._parse(role, digest) for role, digest in kept.items()}

    def count_rows(self, version: DatasetVersion, role: str) -> int:
        """How many rows a table of a version has; none of them is read."""
        content = self._store.tables.read(version.digests[role])
        return int(pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item())

    def table(self, version: DatasetVersion, role: str) -> DatasetTable | None:
        """One table of a version, checked by its digest; None if the version has no such table."""
        digest = version.digests.get(role)
        return None if digest is None else self._read(role, digest)

    def _read(self, role: str, digest: str) -> DatasetTable:
        table = self._parse(role, digest)
        if table.digest != digest:
            raise StoreError(
                f"the table {digest} in {self._store.url} is damaged: its content has another digest"
            )
        return table

    def _parse(self, role: str, digest: str) -> DatasetTable:
        table = table_from_parquet(TABLES[role], self._store.tables.read(digest))
        assert not isinstance(table, Rankings | DocumentClicks)
        return table

    def labels_by_qrels(self) -> dict[str, str]:
        """The label of the newest version that has each table of judgments, by the digest of the table."""
        versions = self.find()[::-1]
        return {version.digests["qrels"]: version.label for version in versions if "qrels" in version.digests}
