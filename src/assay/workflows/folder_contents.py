"""The judgments, queries, documents and runs of a folder, and the search endpoints of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from assay.core.errors import AssayError, InputError, first_line
from assay.core.tables import Queries, Run
from assay.datasets import Collection, helpcentre, read, write
from assay.datasets.formats import kind_of_table

BUILT_IN = "helpcentre"  # the folder of the built-in collection
ENDPOINTS = ("ASSAY_ENDPOINT", "OPENSEARCH_URL", "ELASTICSEARCH_URL", "QDRANT_URL", "DATABASE_URL")
TABLE_KINDS = ("qrels", "queries", "documents")  # judgments first: tables in the same place need no name
_TABLE_NAME = re.compile(r"qrels|queries|topics|judg|corpus|documents|\.(run|qrels|trec)$", re.IGNORECASE)
_MAX_FILES = 200
_MAX_FILE_BYTES = 256 << 20
_SKIPPED_FOLDERS = ("node_modules", "journals", "embeddings", "__pycache__")


@dataclass
class FolderContents:
    """The tables of a folder as paths relative to it, and the endpoints that the environment names."""

    qrels: str | None = None
    queries: str | None = None  # None: in the same place as the judgments, or nowhere
    documents: str | None = None
    runs: list[str] = field(default_factory=list)  # the oldest first
    others: list[str] = field(default_factory=list)  # further tables of the same kinds
    problems: list[str] = field(default_factory=list)  # why files that look like tables cannot be read
    endpoints: list[str] = field(default_factory=list)
    has_queries: bool = False  # with texts
    has_documents: bool = False
    is_built_in: bool = False  # the tables are the built-in collection, which no endpoint has

    def add(self, path: str, tables: Collection | Run) -> None:
        """Use the tables of a file or a folder for every kind of which there is none yet."""
        if isinstance(tables, Run):
            self.runs.append(path)
            return
        kinds = [kind for kind in TABLE_KINDS if getattr(tables, kind) is not None]
        if not [kind for kind in kinds if self._use(kind, path)]:
            self.others.append(path)

    def _use(self, kind: str, path: str) -> bool:
        """Use a path for a kind of table, unless there is one; return whether it is used."""
        present = {"qrels": bool(self.qrels), "queries": self.has_queries, "documents": self.has_documents}
        if present[kind]:
            return False
        self.has_queries |= kind == "queries"
        self.has_documents |= kind == "documents"
        if path != self.qrels:
            setattr(self, kind, path)
        return True


def inspect_folder(folder: str | Path) -> FolderContents:
    """Return the tables of a folder and its direct subfolders, and the endpoints of the environment."""
    folder, contents = Path(folder), FolderContents()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, found a file")
    contents.endpoints = [name for name in ENDPOINTS if os.environ.get(name)]
    places = sorted(_folders(folder), key=lambda place: place != folder)
    collections = {place: tables for place in places if _is_collection(tables := _read_tables(place))}
    for place, collection in list(collections.items())[:1]:
        contents.add(place.relative_to(folder).as_posix(), collection)
    files = [path for place in places for path in sorted(place.iterdir()) if _is_readable(path)]
    for path in [path for path in files if not _is_stage(path)][:_MAX_FILES]:
        tables = _read_tables(path, contents.problems)
        if isinstance(tables, Run) or (tables is not None and path.parent not in collections):
            contents.add(path.relative_to(folder).as_posix(), tables)
    contents.runs.sort(key=lambda name: ((folder / name).stat().st_mtime, name))
    return contents


def write_built_in(folder: str | Path) -> FolderContents:
    """Write the built-in collection into a folder."""
    queries, qrels, documents = helpcentre()
    Path(folder).mkdir(parents=True, exist_ok=True)
    write(Collection(queries, qrels, documents), Path(folder) / BUILT_IN, format="beir")
    return FolderContents(qrels=BUILT_IN, has_queries=True, has_documents=True, is_built_in=True)


def _is_stage(path: Path) -> bool:
    """Whether a run is a stage of a pipeline, as `assay run` writes them with its figures."""
    match = re.fullmatch(r"(.+)\.\d+-[\w.-]+\.run", path.name)
    return match is not None and path.with_name(f"{match[1]}.figures.json").exists()


def _folders(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    yield folder
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and path.name not in _SKIPPED_FOLDERS:
            yield path


def _is_readable(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.stat().st_size <= _MAX_FILE_BYTES


def _is_collection(tables: Collection | Run | None) -> TypeGuard[Collection]:
    """Whether the tables of a folder are a collection with queries and judgments."""
    return isinstance(tables, Collection) and None not in (tables.queries, tables.qrels)


def _read_tables(path: Path, problems: list[str] | None = None) -> Collection | Run | None:
    """Read the tables of a file or a folder; None if it has none, and why, if it looks like a table."""
    try:
        table = read(path)
    except (AssayError, OSError) as error:
        if problems is not None and _TABLE_NAME.search(path.name):
            problems.append(first_line(error))
        return None
    if isinstance(table, Collection | Run):
        return table
    if isinstance(table, Queries) and "text" not in table.columns:
        return None  # no system can search without texts
    return Collection(**{kind_of_table(table): table})  # type: ignore[arg-type]
