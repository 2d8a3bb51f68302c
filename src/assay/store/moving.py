"""A whole store: into one file and out of it, and from one database to another.

A backup is a zip of a consistent copy of the database, every table, and a list of their digests.
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
from dataclasses import replace
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import make_url

from assay.core.errors import FormatError, InputError, StoreError
from assay.core.files import put_in_place
from assay.core.records import Experiment
from assay.store.store import Store
from assay.store.tables import Tables

FORMAT = 1  # of the backup
_LIST = "backup.json"
_DATABASE = "assay.db"
_UNREADABLE = (KeyError, ValueError, EOFError, RuntimeError, OSError, zipfile.BadZipFile, zlib.error)
_SOME = 500  # records in one transaction


class Backup(NamedTuple):
    """What a backup holds."""

    experiments: int  # with the dropped ones
    tables: int
    size: int  # of the file, in bytes


class Moved(NamedTuple):
    """What was copied to another store, and what was there already."""

    experiments: int
    experiments_there: int
    tables: int
    tables_there: int


def backup(store: Store, path: str | Path) -> Backup:
    """Copy a folder store to one file, while others may write to it."""
    database = _database(store)
    with put_in_place(path) as beside:
        with zipfile.ZipFile(beside, "w") as file, _beside(beside) as copy:
            count = _copied(database, copy)
            file.write(copy, _DATABASE, zipfile.ZIP_DEFLATED)
            with open(copy, "rb") as made:
                listed = {_DATABASE: _digest(made)}
            for digest, content in _contents(store.tables):  # after the records, which then all have theirs
                name = f"tables/{digest}.parquet"
                file.writestr(name, content, zipfile.ZIP_STORED)
                listed[name] = _digest(io.BytesIO(content))
            told = {"format": FORMAT, "experiments": count, "files": listed}
            file.writestr(_LIST, json.dumps(told, indent=1), zipfile.ZIP_DEFLATED)
        size = beside.stat().st_size
    return Backup(count, len(listed) - 1, size)


def _database(store: Store) -> str:
    """The file of a folder store's database."""
    url = make_url(store.database.url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise InputError(
            f"a backup is made of a store in a folder, found {store.url}; move it to a folder first: "
            "assay experiments move FOLDER"
        )
    return url.database


def _copied(database: str, copy: Path) -> int:
    """Copy a database as it is at one moment; how many experiments it has."""
    try:
        with closing(sqlite3.connect(database, timeout=60)) as source, closing(sqlite3.connect(copy)) as made:
            source.backup(made)
            made.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
            return int(made.execute("SELECT count(*) FROM experiments").fetchone()[0])
    except sqlite3.Error as error:
        raise StoreError(f"{database} cannot be copied: {error}") from None


def _contents(tables: Tables) -> Iterator[tuple[str, bytes]]:
    for kept in tables.list():
        if tables.has(kept.digest):  # else it was cleaned away since: nothing referred to it
            yield kept.digest, _sound(tables, kept.digest)


def _sound(tables: Tables, digest: str) -> bytes:
    """The file of a table, unless its content is not what its name says."""
    tables.get(digest)
    return tables.read(digest)


def _digest(content: Any) -> str:
    return file_digest(content, lambda: blake2b(digest_size=16)).hexdigest()


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A place for the copy of the database: where the backup is, there is room."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".assay-") as folder:
        yield Path(folder) / _DATABASE


def restore(path: str | Path, folder: str | Path) -> Backup:
    """Make a store in a folder from a backup, once all of it is found to be sound."""
    place = Path(folder)
    if any(place.glob(f"{_DATABASE}*")):
        raise InputError(f"{place} already holds a store; restore into another folder, or move this one away")
    with _opened(path) as file:
        told = _told(file, path)
        for name, digest in told["files"].items():
            _checked(file, name, digest, path)
        tables = Tables(str(place / "tables"))
        for name in told["files"]:
            if name != _DATABASE:
                tables.write(Path(name).stem, file.read(name))
        # The records last: a store is there once they are.
        with put_in_place(place / _DATABASE) as beside, open(beside, "wb") as made:
            shutil.copyfileobj(file.open(_DATABASE), made)
    with Store(place) as store:
        found = len(store.ids())
    if found != told["experiments"]:
        raise StoreError(f"{place} holds {found} experiments, but {path} says {told['experiments']}")
    return Backup(found, len(told["files"]) - 1, Path(path).stat().st_size)


@contextmanager
def _opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as file:
            yield file
    except (zipfile.BadZipFile, NotImplementedError, EOFError):
        raise FormatError("this is not a backup of a store, or a part of it is missing", str(path)) from None
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None


def _told(file: zipfile.ZipFile, path: str | Path) -> dict[str, Any]:
    """The list of what a backup holds."""
    try:
        told: dict[str, Any] = json.loads(file.read(_LIST))
        format_, _ = told["format"], (told["files"][_DATABASE], told["experiments"])
    except (*_UNREADABLE, TypeError):
        raise FormatError(f"this is not a backup of a store: it has no sound {_LIST}", str(path)) from None
    if format_ != FORMAT:
        raise FormatError(
            f"expected a backup of format {FORMAT}, found {format_}; it needs a newer Assay", str(path)
        )
    return told


def _checked(file: zipfile.ZipFile, name: str, digest: str, path: str | Path) -> None:
    stem = name.removeprefix("tables/").removesuffix(".parquet")
    if name != _DATABASE and not stem.isalnum():
        raise FormatError(f"it holds {name!r}, which is no part of a store", str(path))
    try:
        with file.open(name) as content:
            sound = _digest(content) == digest
    except _UNREADABLE:
        sound = False
    if not sound:
        raise FormatError(f"{name} is damaged; nothing was restored", str(path))


def move(source: Store, target: Store) -> Moved:
    """Copy everything to another store and check it there; what is there already is skipped.

    Nothing is taken from the source. Interrupted, it goes on where it stopped when it is called again.
    """
    listed = {kept.digest for kept in target.tables.list()}
    tables = [(digest, digest in listed) for digest in sorted(kept.digest for kept in source.tables.list())]
    for digest, there in tables:
        if not there:
            target.tables.write(digest, _sound(source.tables, digest))
    before, found = target.ids(), _all(source)
    new = [experiment for experiment in found if experiment.id not in before]
    for start in range(0, len(new), _SOME):
        target.put_all(new[start : start + _SOME])
    _verify(source, target, found, tables)
    skipped = sum(there for _, there in tables)
    return Moved(len(new), len(found) - len(new), len(tables) - skipped, skipped)


def _all(store: Store) -> list[Experiment]:
    """Every experiment in a settled form: databases sort by their own rules."""
    return [
        replace(e, metrics=tuple(sorted(e.metrics, key=lambda m: m[:3])), tags=tuple(sorted(e.tags)))
        for e in (*store.list(), *store.list(deleted=True))
    ]


def _verify(
    source: Store, target: Store, found: Sequence[Experiment], tables: Sequence[tuple[str, bool]]
) -> None:
    """Refuse to call it done while anything differs."""
    there = {experiment.id: experiment for experiment in _all(target)}
    wrong = [f"experiment {e.id}" for e in found if there.get(e.id) != e]
    wrong += [f"table {digest}" for digest, was in tables if not _same(source, target, digest, was)]
    if wrong:
        more = f" and {len(wrong) - 10} more" if len(wrong) > 10 else ""
        raise StoreError(
            f"{target.url} differs from {source.url}: {', '.join(wrong[:10])}{more}; what was there before "
            "is left as it was: delete and purge it there, or move to an empty store"
        )


def _same(source: Store, target: Store, digest: str, was_there: bool) -> bool:
    """Whether a table was copied byte for byte, or was there with the same content."""
    if source.tables.read(digest) == target.tables.read(digest):
        return True
    return was_there and target.tables.get(digest).digest == digest
