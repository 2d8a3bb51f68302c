"""The typed input specification: where the tables of a request are, how to read them, and the tables read."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.groups import RunBlocks
from assay.core.suggestions import did_you_mean
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import FORMATS, Collection, open_run, read, read_collection
from assay.datasets.formats import JUDGMENTS_FILE
from assay.workflows.settings import read_settings

__all__ = ["FORMATS", "KINDS", "RunWatch", "TableFiles", "Tables", "read_configurations"]
_COLUMNS = {
    "qrels": ("query_id", "doc_id", "grade"),
    "run": ("query_id", "doc_id", "score", "rank"),
    "queries": ("query_id", "text"),
    "documents": ("doc_id", "title", "text"),
}
KINDS = tuple(_COLUMNS)
RunWatch = Callable[[RunBlocks], RunBlocks]  # wraps a run to report how much of it was read


class Tables(NamedTuple):
    """The tables of a request, opened."""

    qrels: Qrels
    queries: Queries | None
    documents: Documents | None
    runs: list[RunBlocks]
    judgments: str | None = None  # the file beside the qrels with what each judge said, if there is one

    @property
    def derived_texts(self) -> dict[str, str]:
        """The text of each query if its reader made the ids, which say nothing to people."""
        return self.texts() if self.queries is not None and self.queries.has_derived_ids else {}

    def texts(self) -> dict[str, str]:
        """Return the text of each query that has one."""
        if self.queries is None or "text" not in self.queries.columns:
            return {}
        pairs = zip(self.queries.ids, self.queries.columns["text"], strict=True)
        return {query: str(text) for query, text in pairs if text}


@dataclass(frozen=True, kw_only=True)
class TableFiles:
    """The files of a request and how they are written; `-` is standard input."""

    qrels: str | None = None
    runs: Sequence[str] = ()
    names: Sequence[str] = ()  # of the runs, in their order; none: each is named by its file
    queries: str | None = None
    documents: str | None = None
    columns: Sequence[str] = ()  # [KIND:]NAME=COLUMN
    formats: Sequence[str] = ()  # [KIND=]FORMAT
    store: str | None = None  # the store of dataset:NAME

    def open(self) -> Tables:
        """Read the tables and open the runs; judgments are required."""
        if self.qrels is None:
            raise InputError("expected the path of the judgments, found none")
        self._check_standard_input()
        columns, formats = _parse_columns(self.columns), _parse_formats(self.formats)
        collection = self._open_collection(self.qrels, formats.get("qrels"), columns["qrels"])
        if collection.qrels is None:
            raise InputError(f"{self.qrels}: expected judgments, found none in this folder")
        queries, documents = self.open_unjudged()
        return Tables(
            collection.qrels,
            collection.queries if queries is None else queries,
            collection.documents if documents is None else documents,
            self.open_runs(),
            _judgments_file(self.qrels),
        )

    def _open_collection(
        self, source: str, file_format: str | None, columns: Mapping[str, str]
    ) -> Collection:
        if not source.startswith("dataset:"):
            return read_collection(source, format=file_format, columns=columns)
        from assay.workflows.dataset_versions import open_collection  # loads the store

        return open_collection(source, self.store)

    def open_runs(self) -> list[RunBlocks]:
        """Open the runs, each under a name of its own; they need no judgments."""
        self._check_standard_input()
        columns, formats = _parse_columns(self.columns), _parse_formats(self.formats)
        runs = [open_run(path, format=formats.get("run"), columns=columns["run"]) for path in self.runs]
        return _name_by_option(runs, self.names) if self.names else _name_distinctly(runs, self.runs)

    def _check_standard_input(self) -> None:
        if [self.qrels, self.queries, self.documents, *self.runs].count("-") > 1:
            raise InputError("standard input (-) can be read only once; give the other files by their paths")

    def open_unjudged(self) -> tuple[Queries | None, Documents | None]:
        """Read the queries and the documents that have files of their own."""
        columns, formats = _parse_columns(self.columns), _parse_formats(self.formats)
        queries = documents = None
        if self.queries:
            queries = read(self.queries, "queries", format=formats.get("queries"), columns=columns["queries"])
        if self.documents:
            documents = read(
                self.documents, "documents", format=formats.get("documents"), columns=columns["documents"]
            )
        return queries, documents


def _judgments_file(source: str) -> str | None:
    """Return the judgments in the folder of an evaluation set."""
    path = os.path.join(source, JUDGMENTS_FILE)
    return path if os.path.isfile(path) else None


def read_configurations(
    paths: Sequence[str], names: Sequence[str], params: Sequence[str] = ()
) -> dict[str, Mapping[str, Any]]:
    """Return the configuration of each named run: its file, if there are files, and its parameters.

    A parameter is KEY=VALUE of every run, or RUN:KEY=VALUE of one; it replaces the setting of the file.
    """
    if paths and len(paths) != len(names):
        raise InputError(f"--config expects one file for each of the {len(names)} runs, found {len(paths)}")
    configurations = {name: read_settings(path) for name, path in zip(names, paths, strict=False)}
    for param in params:
        prefix = next((name for name in names if param.startswith(f"{name}:")), "")
        if not prefix and ":" in param.partition("=")[0]:
            unknown = param.partition(":")[0]
            hint = did_you_mean(unknown, names) or f"there are {', '.join(names)}"
            raise InputError(f"--param {param}: there is no run {unknown!r}; {hint}")
        keys, value = _parse_param(param.removeprefix(f"{prefix}:") if prefix else param)
        for name in [prefix] if prefix else names:
            configurations[name] = _replace_setting(configurations.get(name, {}), keys, value)
    return configurations


def _parse_param(text: str) -> tuple[list[str], Any]:
    """Return the keys and the value of a parameter; a value that is not JSON is text.

    >>> _parse_param("index.ef=64"), _parse_param("model=e5")
    ((['index', 'ef'], 64), (['model'], 'e5'))
    """
    key, equals, value = text.partition("=")
    keys = key.strip().split(".")
    if not equals or not all(keys):
        raise InputError(f"--param expects KEY=VALUE or RUN:KEY=VALUE, such as index.ef=64; found {text!r}")
    try:
        return keys, json.loads(value, parse_constant=str)
    except ValueError:
        return keys, value


def _replace_setting(settings: Mapping[str, Any], keys: Sequence[str], value: Any) -> dict[str, Any]:
    """Return settings with another value at nested keys."""
    first, *rest = keys
    inner = settings.get(first)
    below = inner if isinstance(inner, Mapping) else {}
    return {**settings, first: _replace_setting(below, rest, value) if rest else value}


def _parse_columns(options: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the column names given for each kind of table."""
    columns: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for text in options:
        field, equals, column = text.partition("=")
        kind, _, name = field.rpartition(":")
        matching = [k for k, names in _COLUMNS.items() if name in names and kind in ("", k)]
        if not equals or not matching:
            choices = "; ".join(f"{k}: {', '.join(names)}" for k, names in _COLUMNS.items())
            names = {name for names in _COLUMNS.values() for name in names}
            hint = did_you_mean(name, names) or did_you_mean(kind, KINDS)
            raise InputError(
                f"columns expect NAME=COLUMN or KIND:NAME=COLUMN such as run:doc_id=article ({choices}), "
                f"found {text!r}" + (f"; {hint}" if hint and equals else "")
            )
        for table in matching:
            columns[table][name] = column
    return columns


def _parse_formats(options: Sequence[str]) -> dict[str, str]:
    """Return the format given for each kind of table."""
    formats: dict[str, str] = {}
    for text in options:
        kind, _, name = text.rpartition("=")
        if name not in FORMATS or kind not in ("", *KINDS):
            hint = did_you_mean(name, FORMATS) if name not in FORMATS else did_you_mean(kind, KINDS)
            problem = f"a format is one of {', '.join(FORMATS)}, or KIND=FORMAT, found {text!r}"
            raise InputError(problem + (hint and f"; {hint}"))
        formats.update(dict.fromkeys((kind,) if kind else KINDS, name))
    return formats


def _name_by_option(runs: list[RunBlocks], names: Sequence[str]) -> list[RunBlocks]:
    """Name the runs as --name says."""
    if len(names) != len(runs) or len(set(names)) < len(names) or not all(map(str.strip, names)):
        raise InputError(
            f"--name expects {len(runs)} different names, one for each run in their order, "
            f"found {', '.join(map(repr, names))}"
        )
    for run, name in zip(runs, names, strict=True):
        run.name = name
    return runs


def _name_distinctly(runs: list[RunBlocks], paths: Sequence[str]) -> list[RunBlocks]:
    """Name each run by its file; if two files have the same name, by its tag, or by its whole path."""
    counts = Counter(run.name for run in runs)
    tags = Counter(run.tag for run in runs)
    for run, path in zip(runs, paths, strict=True):
        if counts[run.name] > 1:
            run.name = run.tag if run.tag and tags[run.tag] == 1 and run.tag not in counts else path
    if len({run.name for run in runs}) < len(runs):
        raise InputError("the same run is given twice; give each run once")
    return runs
