"""Readers and writers of every format. What a file is, is told by its content.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "judged.qrels"
>>> write(Qrels({"q1": {"d1": 2, "d2": 0}}), path)
>>> read(path)
Qrels(1 queries, 2 rows)
"""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, cast, overload

from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets.formats import (
    FORMATS,
    KINDS,
    Collection,
    Format,
    Kind,
    Table,
    by_extension,
    kind_of_table,
    named,
)
from assay.datasets.sources import Source

__all__ = [
    "FORMATS",
    "KINDS",
    "Collection",
    "Format",
    "Kind",
    "Table",
    "helpcentre",
    "open_run",
    "read",
    "read_judged",
    "write",
]

_Path = str | os.PathLike[str]
_Columns = Mapping[str, str] | None


@overload
def read(
    path: _Path, kind: Literal["qrels"], *, format: str | None = ..., columns: _Columns = ...
) -> Qrels: ...
@overload
def read(path: _Path, kind: Literal["run"], *, format: str | None = ..., columns: _Columns = ...) -> Run: ...
@overload
def read(
    path: _Path, kind: Literal["queries"], *, format: str | None = ..., columns: _Columns = ...
) -> Queries: ...
@overload
def read(
    path: _Path, kind: Literal["documents"], *, format: str | None = ..., columns: _Columns = ...
) -> Documents: ...
@overload
def read(
    path: _Path, kind: None = None, *, format: str | None = ..., columns: _Columns = ...
) -> Table | Collection: ...


def read(
    path: _Path,
    kind: Kind | None = None,
    *,
    format: str | None = None,  # noqa: A002
    columns: _Columns = None,
) -> Table | Collection:
    """The table of a file, or all tables of a folder; `columns` says {our name: name in the file}."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"expected one of {', '.join(KINDS)} as the kind, found {kind!r}")
    source = Source(path)
    made = _chosen(source, kind, format, columns)
    if kind is not None and kind not in made.reads:
        raise made.refuse(kind, source.label)
    found: Table | Collection = _module(made).read(source, kind, columns or {}, made)
    return found


def read_judged(path: _Path, *, format: str | None = None, columns: _Columns = None) -> Collection:  # noqa: A002
    """The judgments of a file or folder, with the queries and documents that lie beside them in it."""
    source = Source(path)
    made = _chosen(source, "qrels", format, columns)
    if "qrels" not in made.reads:
        raise made.refuse("qrels", source.label)
    kind: Kind | None = None if made.several else "qrels"
    found: Table | Collection = _module(made).read(source, kind, columns or {}, made)
    return found if isinstance(found, Collection) else Collection(qrels=cast(Qrels, found))


def open_run(path: _Path, *, format: str | None = None, columns: _Columns = None) -> Blocks:  # noqa: A002
    """A run to be scored: a TREC file is gone through piece by piece, any other is read whole."""
    source = Source(path)
    made = _chosen(source, "run", format, columns)
    if made.name == "trec":
        return _module(made).RunFile(source)  # type: ignore[no-any-return]
    if "run" not in made.reads:
        raise made.refuse("run", source.label)
    run: Run = _module(made).read(source, "run", columns or {}, made)
    return run


def write(
    table_or_collection: Table | Collection,
    path: _Path,
    *,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write a table to a file, or a collection to a folder, whole or not at all."""
    label, found = os.fspath(path), table_or_collection
    made = named(format) if format else _promised(label, found)
    if isinstance(found, Collection):
        if not made.several:
            several = ", ".join(name for name, other in FORMATS.items() if other.several)
            raise InputError(f"a collection is written as {several}; {made.name} holds one table")
        if not any(found):
            raise InputError("expected a collection with queries, qrels or documents, found an empty one")
    elif (kind := kind_of_table(found)) not in made.writes:
        raise made.refuse(kind, label)
    if made.several:
        _module(made).write(found, label, made)
        return
    from assay.datasets.sinks import writing

    with writing(path) as file:
        _module(made).write(found, file, label, made)


def helpcentre() -> tuple[Queries, Qrels, Documents]:
    """The collection that comes with Assay: a help centre's articles, questions and judgments."""
    folder = os.path.join(os.path.dirname(__file__), "helpcentre")
    return read(folder, "queries"), read(folder, "qrels"), read(folder, "documents")


def _chosen(source: Source, kind: Kind | None, format: str | None, columns: _Columns) -> Format:  # noqa: A002
    if format is not None:
        return named(format)
    from assay.datasets.sniff import format_of

    return named(format_of(source, kind, columns or {}))


def _promised(path: str, found: Table | Collection) -> Format:
    """The format that the name of a file to be written promises."""
    made = by_extension(path, None if isinstance(found, Collection) else kind_of_table(found))
    if made is None and isinstance(found, Collection):
        return FORMATS["beir"]
    if made is None:
        known = ", ".join(ending for other in FORMATS.values() for ending in other.extensions)
        raise InputError(f"{path}: the name does not say which format to write ({known}): give format=")
    return made


def _module(made: Format) -> Any:
    """The reader and writer of a format, loaded only now."""
    return import_module(f"assay.datasets.{made.module}")
