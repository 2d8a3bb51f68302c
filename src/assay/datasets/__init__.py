"""Readers and writers of tables in files. The format of a file is detected from its content.

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
from assay.core.groups import RunBlocks
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets.detection import detect_format
from assay.datasets.formats import (
    FORMATS,
    KINDS,
    Collection,
    Format,
    Kind,
    Table,
    format_by_extension,
    get_format,
    kind_of_table,
)
from assay.datasets.input_files import InputFile
from assay.datasets.output_files import open_for_writing

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
    "read_collection",
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
    """Return the table of a file, or all tables of a folder; `columns` is {our name: name in the file}."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"expected one of {', '.join(KINDS)} as the kind, found {kind!r}")
    source = InputFile(path)
    file_format = _choose_format(source, kind, format, columns)
    if kind is not None and kind not in file_format.reads:
        raise file_format.kind_error(kind, source.label)
    table: Table | Collection = _module(file_format).read(source, kind, columns or {}, file_format)
    return table


def read_collection(path: _Path, *, format: str | None = None, columns: _Columns = None) -> Collection:  # noqa: A002
    """Return the judgments of a file or folder, with the queries and documents that it contains."""
    source = InputFile(path)
    file_format = _choose_format(source, "qrels", format, columns)
    if "qrels" not in file_format.reads:
        raise file_format.kind_error("qrels", source.label)
    kind: Kind | None = None if file_format.is_collection else "qrels"
    table: Table | Collection = _module(file_format).read(source, kind, columns or {}, file_format)
    return table if isinstance(table, Collection) else Collection(qrels=cast(Qrels, table))


def open_run(path: _Path, *, format: str | None = None, columns: _Columns = None) -> RunBlocks:  # noqa: A002
    """Return a run to be scored: a TREC file is read block by block, any other at once."""
    source = InputFile(path)
    file_format = _choose_format(source, "run", format, columns)
    if file_format.name == "trec":
        return _module(file_format).RunFile(source, columns or {})  # type: ignore[no-any-return]
    if "run" not in file_format.reads:
        raise file_format.kind_error("run", source.label)
    run: Run = _module(file_format).read(source, "run", columns or {}, file_format)
    return run


def write(
    table_or_collection: Table | Collection,
    path: _Path,
    *,
    format: str | None = None,  # noqa: A002
) -> None:
    """Write a table to a file, or a collection to a folder, completely or not at all."""
    label, table = os.fspath(path), table_or_collection
    file_format = get_format(format) if format else _format_for_path(label, table)
    if isinstance(table, Collection):
        if not file_format.is_collection or not file_format.writes:
            names = ", ".join(name for name, other in FORMATS.items() if other.is_collection and other.writes)
            raise InputError(
                f"a collection is written as {names}; {file_format.name} can hold only one table"
            )
        if not any(table):
            raise InputError("expected a collection with queries, qrels or documents, found an empty one")
    elif (kind := kind_of_table(table)) not in file_format.writes:
        raise file_format.kind_error(kind, label)
    if file_format.is_collection:
        _module(file_format).write(table, label, file_format)
        return
    with open_for_writing(path) as file:
        _module(file_format).write(table, file, label, file_format)


def helpcentre() -> tuple[Queries, Qrels, Documents]:
    """Return the collection that is part of Assay: articles, questions and judgments of a help centre."""
    folder = os.path.join(os.path.dirname(__file__), "helpcentre")
    return read(folder, "queries"), read(folder, "qrels"), read(folder, "documents")


def _choose_format(source: InputFile, kind: Kind | None, format: str | None, columns: _Columns) -> Format:  # noqa: A002
    if format is not None:
        return get_format(format)
    return get_format(detect_format(source, kind, columns or {}))


def _format_for_path(path: str, table: Table | Collection) -> Format:
    """Return the format to write, according to the name of the file."""
    file_format = format_by_extension(path, None if isinstance(table, Collection) else kind_of_table(table))
    if file_format is None and isinstance(table, Collection):
        return FORMATS["beir"]
    if file_format is None:
        extensions = ", ".join(extension for other in FORMATS.values() for extension in other.extensions)
        raise InputError(f"{path}: the format cannot be told from the name ({extensions}): give format=")
    return file_format


def _module(file_format: Format) -> Any:
    """Import and return the module that reads and writes a format."""
    return import_module(f"assay.datasets.{file_format.module}")
