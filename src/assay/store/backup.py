"""Backup of a whole store to one file, its restoration, and the move to another store.

A backup is a zip of a consistent copy of the database, all tables, and a manifest of their digests.
"""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import make_url

from assay.core.errors import FormatError, InputError, StoreError, first_line
from assay.core.files import write_atomically
from assay.store.record_rows import (
    copy_shared_rows,
    differing_records,
    insert_rows,
    read_record_ids,
    read_rows,
)
from assay.store.records import batches
from assay.store.store import Store
from assay.store.table_files import has_digest
from assay.store.tables import TableStorage

BACKUP_FORMAT = 1
_MANIFEST = "backup.json"
_DATABASE = "assay.db"
_UNREADABLE = (KeyError, ValueError, EOFError, RuntimeError, OSError, zipfile.BadZipFile, zlib.error)


class Backup(NamedTuple):
    """The contents of a backup."""

    records: int  # of all kinds, including deleted ones
    tables: int
    size: int  # of the file, in bytes


class MoveCounts(NamedTuple):
    """How much was copied to another store, and how much was already there."""

    records: int
    records_skipped: int
    tables: int
    tables_skipped: int


def backup(store: Store, path: str | Path) -> Backup:
    """Copy a store in a folder to one file; other processes may write to it meanwhile."""
    database = _database_file(store)
    with write_atomically(path) as temporary:
        with zipfile.ZipFile(temporary, "w") as file, _temporary_database(temporary) as copy:
            count = _copy_database(database, copy)
            file.write(copy, _DATABASE, zipfile.ZIP_DEFLATED)
            with open(copy, "rb") as stream:
                digests = {_DATABASE: _digest(stream)}
            # The tables are read after the records, so that no table of theirs is missing.
            for digest, content in _table_contents(store.tables):
                name = f"tables/{digest}.parquet"
                file.writestr(name, content, zipfile.ZIP_STORED)
                digests[name] = _digest(io.BytesIO(content))
            manifest = {"format": BACKUP_FORMAT, "experiments": count, "files": digests}
            file.writestr(_MANIFEST, json.dumps(manifest, indent=1), zipfile.ZIP_DEFLATED)
        size = temporary.stat().st_size
    return Backup(count, len(digests) - 1, size)


def _database_file(store: Store) -> str:
    """The file of the database of a store in a folder."""
    url = make_url(store.database.url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise InputError(
            f"only a store in a folder can be backed up, found {store.url}; move it to a folder first: "
            "assay experiments move FOLDER"
        )
    return url.database


def _copy_database(database: str, copy: Path) -> int:
    """Copy a consistent state of a database and return how many records it has."""
    try:
        with (
            closing(sqlite3.connect(database, timeout=60)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # a single file, without a write-ahead log
            return int(target.execute("SELECT count(*) FROM experiments").fetchone()[0])
    except sqlite3.Error as error:
        raise StoreError(f"{database} cannot be copied: {error}") from None


def _table_contents(tables: TableStorage) -> Iterator[tuple[str, bytes]]:
    for table in tables.list():
        if tables.has(table.digest):  # otherwise it was unused and has been removed meanwhile
            yield table.digest, _read_table(tables, table.digest)


def _read_table(tables: TableStorage, digest: str) -> bytes:
    """The bytes of a table, after its content has been checked against its digest."""
    content = tables.read(digest)
    try:
        is_intact = has_digest(content, digest)
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"the table {digest} in {tables.url} cannot be read ({first_line(error)})") from None
    if not is_intact:
        raise StoreError(f"the table {digest} in {tables.url} is damaged: its content has another digest")
    return content


def _digest(content: Any) -> str:
    return file_digest(content, lambda: blake2b(digest_size=16)).hexdigest()


@contextmanager
def _temporary_database(path: Path) -> Iterator[Path]:
    """A temporary path for the copy of the database, on the file system of the backup."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".assay-") as folder:
        yield Path(folder) / _DATABASE


def restore(path: str | Path, folder: str | Path) -> Backup:
    """Create a store in a folder from a backup, after all of the backup has been checked."""
    target = Path(folder)
    if any(target.glob(f"{_DATABASE}*")):
        raise InputError(
            f"{target} already contains a store; restore into another folder, or move this one away"
        )
    with _open_backup(path) as file:
        manifest = _read_manifest(file, path)
        for name, digest in manifest["files"].items():
            _check_file(file, name, digest, path)
        tables = TableStorage(str(target / "tables"))
        for name in manifest["files"]:
            if name != _DATABASE:
                tables.write(Path(name).stem, file.read(name))
        # The database is written last: a folder is a store once it has one.
        with write_atomically(target / _DATABASE) as temporary, open(temporary, "wb") as stream:
            shutil.copyfileobj(file.open(_DATABASE), stream)
    with Store(target) as store:
        count = len(read_record_ids(store.database))
    if count != manifest["experiments"]:
        raise StoreError(f"{target} has {count} records, but {path} lists {manifest['experiments']}")
    return Backup(count, len(manifest["files"]) - 1, Path(path).stat().st_size)


@contextmanager
def _open_backup(path: str | Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as file:
            yield file
    except (zipfile.BadZipFile, NotImplementedError, EOFError):
        raise FormatError("not a backup of a store, or a part of it is missing", str(path)) from None
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None


def _read_manifest(file: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    """The manifest of a backup."""
    try:
        manifest: dict[str, Any] = json.loads(file.read(_MANIFEST))
        format_, _ = manifest["format"], (manifest["files"][_DATABASE], manifest["experiments"])
    except (*_UNREADABLE, TypeError):
        raise FormatError(f"not a backup of a store: it has no valid {_MANIFEST}", str(path)) from None
    if format_ != BACKUP_FORMAT:
        raise FormatError(
            f"expected a backup of format {BACKUP_FORMAT}, found {format_}; it needs a newer Assay", str(path)
        )
    return manifest


def _check_file(file: zipfile.ZipFile, name: str, digest: str, path: str | Path) -> None:
    stem = name.removeprefix("tables/").removesuffix(".parquet")
    if name != _DATABASE and not stem.isalnum():
        raise FormatError(f"it contains {name!r}, which is not part of a store", str(path))
    try:
        with file.open(name) as content:
            is_intact = _digest(content) == digest
    except _UNREADABLE:
        is_intact = False
    if not is_intact:
        raise FormatError(f"{name} is damaged; nothing was restored", str(path))


def move(source: Store, target: Store) -> MoveCounts:
    """Copy everything to another store and verify the copy; what is already there is skipped.

    The source is not changed. After an interruption, calling it again continues where it stopped.
    """
    target_digests = {table.digest for table in target.tables.list()}
    tables = [
        (digest, digest in target_digests)
        for digest in sorted(table.digest for table in source.tables.list())
    ]
    for digest, is_there in tables:
        if not is_there:
            target.tables.write(digest, _read_table(source.tables, digest))
    target_ids, ids = set(read_record_ids(target.database)), read_record_ids(source.database)
    new_ids = [record_id for record_id in ids if record_id not in target_ids]
    for batch in batches(new_ids):
        insert_rows(target.database, read_rows(source.database, batch))
    copy_shared_rows(source.database, target.database)
    _verify(source, target, ids, tables)
    skipped = sum(is_there for _, is_there in tables)
    return MoveCounts(len(new_ids), len(ids) - len(new_ids), len(tables) - skipped, skipped)


def _verify(source: Store, target: Store, ids: Sequence[str], tables: Sequence[tuple[str, bool]]) -> None:
    """Raise StoreError if a record or a table differs from the source."""
    rows = (read_rows(source.database, ids), read_rows(target.database, ids))
    differences = [f"record {record_id}" for record_id in differing_records(*rows)]
    differences += [
        f"table {digest}"
        for digest, was_there in tables
        if not _is_same_table(source, target, digest, was_there)
    ]
    if differences:
        remainder = f" and {len(differences) - 10} more" if len(differences) > 10 else ""
        raise StoreError(
            f"{target.url} differs from {source.url}: {', '.join(differences[:10])}{remainder}; "
            "what was there before is unchanged: delete and purge it there, or move to an empty store"
        )


def _is_same_table(source: Store, target: Store, digest: str, was_there: bool) -> bool:
    """Whether a table was copied byte for byte, or was already there with the same content."""
    if source.tables.read(digest) == target.tables.read(digest):
        return True
    return was_there and bool(_read_table(target.tables, digest))
