"""What a command or a project names, opened: judgments, runs, and tables beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import FORMATS, open_run, read, read_judged

_COLUMNS = {
    "qrels": ("query_id", "doc_id", "grade"),
    "run": ("query_id", "doc_id", "score", "rank"),
    "queries": ("query_id", "text"),
    "documents": ("doc_id", "title", "text"),
}
KINDS = tuple(_COLUMNS)


class Named(Protocol):
    """Where tables are and how they are written."""

    qrels: str
    queries: str | None
    documents: str | None
    runs: list[str]
    columns: list[str]  # [KIND:]NAME=COLUMN
    formats: list[str]  # [KIND=]FORMAT


class Inputs(NamedTuple):
    """The tables, opened."""

    qrels: Qrels
    queries: Queries | None
    documents: Documents | None
    runs: list[Blocks]

    @classmethod
    def of(cls, named: Named) -> Inputs:
        """Open what is named."""
        paths = [named.qrels, named.queries, named.documents, *named.runs]
        if paths.count("-") > 1:
            raise InputError("standard input (-) can be read only once; give the other files by their paths")
        columns, formats = _columns(named.columns), _formats(named.formats)
        queries, qrels, documents = read_judged(
            named.qrels, format=formats.get("qrels"), columns=columns["qrels"]
        )
        if qrels is None:
            raise InputError(f"{named.qrels}: expected judgments, found none in this folder")
        asked, searched = tables(named)
        runs = [open_run(path, format=formats.get("run"), columns=columns["run"]) for path in named.runs]
        queries = queries if asked is None else asked
        documents = documents if searched is None else searched
        return cls(qrels, queries, documents, _apart(runs, named.runs))

    def texts(self) -> dict[str, str]:
        """The text of each query, where there is one."""
        if self.queries is None or "text" not in self.queries.columns:
            return {}
        pairs = zip(self.queries.ids, self.queries.columns["text"], strict=True)
        return {query: str(text) for query, text in pairs if text}


def tables(named: Named) -> tuple[Queries | None, Documents | None]:
    """The queries and the documents that are named by themselves."""
    columns, formats = _columns(named.columns), _formats(named.formats)
    queries, documents = named.queries, named.documents
    return (
        read(queries, "queries", format=formats.get("queries"), columns=columns["queries"])
        if queries
        else None,
        read(documents, "documents", format=formats.get("documents"), columns=columns["documents"])
        if documents
        else None,
    )


def _columns(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """The columns named for each kind of table."""
    made: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for text in given:
        name, equals, column = text.partition("=")
        kind, _, name = name.rpartition(":")
        fitting = [k for k, names in _COLUMNS.items() if name in names and kind in ("", k)]
        if not equals or not fitting:
            known = "; ".join(f"{k}: {', '.join(names)}" for k, names in _COLUMNS.items())
            raise InputError(
                f"columns expect NAME=COLUMN or KIND:NAME=COLUMN such as run:doc_id=article ({known}), "
                f"found {text!r}"
            )
        for each in fitting:
            made[each][name] = column
    return made


def _formats(given: Sequence[str]) -> dict[str, str]:
    """The format named for each kind of table."""
    made: dict[str, str] = {}
    for text in given:
        kind, _, name = text.rpartition("=")
        if name not in FORMATS or kind not in ("", *KINDS):
            raise InputError(f"a format is one of {', '.join(FORMATS)}, or KIND=FORMAT, found {text!r}")
        made.update(dict.fromkeys((kind,) if kind else KINDS, name))
    return made


def _apart(runs: list[Blocks], paths: list[str]) -> list[Blocks]:
    """Runs with names that differ: the file's name, or its path where two have the same."""
    seen = Counter(run.name for run in runs)
    for run, path in zip(runs, paths, strict=True):
        if seen[run.name] > 1:
            run.name = path
    if len({run.name for run in runs}) < len(runs):
        raise InputError("the same run is given twice; give each run once")
    return runs
