"""What commands read: judgments, runs, and tables beside them."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import NamedTuple

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
_KINDS = tuple(_COLUMNS)


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that say where tables are and how they are written."""
    parser.add_argument(
        "--queries", metavar="FILE", help="the query table: ids, texts and columns to slice by"
    )
    parser.add_argument("--documents", metavar="FILE", help="the documents' texts, for --by intent")
    parser.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="[KIND:]NAME=COLUMN",
        help="which column of a file is query_id, doc_id, grade, score, rank, text or title, "
        "in all files or only in one kind (run:doc_id=article); may be repeated",
    )
    parser.add_argument(
        "--from",
        dest="formats",
        action="append",
        default=[],
        metavar="[KIND=]FORMAT",
        help=f"the format, where content does not tell: {', '.join(FORMATS)}; "
        f"KIND is one of {', '.join(_KINDS)}",
    )


class Inputs(NamedTuple):
    """What a command was given, opened."""

    qrels: Qrels
    queries: Queries | None
    documents: Documents | None
    runs: list[Blocks]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Inputs:
        """Open what the arguments name."""
        paths = [arguments.qrels, arguments.queries, arguments.documents, *arguments.runs]
        if paths.count("-") > 1:
            raise InputError("standard input (-) can be read only once; give the other files by their paths")
        columns, formats = _columns(arguments.columns), _formats(arguments.formats)
        queries, qrels, documents = read_judged(
            arguments.qrels, format=formats.get("qrels"), columns=columns["qrels"]
        )
        if qrels is None:
            raise InputError(f"{arguments.qrels}: expected judgments, found none in this folder")
        if arguments.queries:
            queries = read(
                arguments.queries, "queries", format=formats.get("queries"), columns=columns["queries"]
            )
        if arguments.documents:
            documents = read(
                arguments.documents,
                "documents",
                format=formats.get("documents"),
                columns=columns["documents"],
            )
        runs = [open_run(path, format=formats.get("run"), columns=columns["run"]) for path in arguments.runs]
        return cls(qrels, queries, documents, _apart(runs, arguments.runs))


def _columns(given: list[str]) -> dict[str, dict[str, str]]:
    """The columns named for each kind of table."""
    made: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
    for text in given:
        name, equals, column = text.partition("=")
        kind, _, name = name.rpartition(":")
        fitting = [k for k, names in _COLUMNS.items() if name in names and kind in ("", k)]
        if not equals or not fitting:
            known = "; ".join(f"{k}: {', '.join(names)}" for k, names in _COLUMNS.items())
            raise InputError(
                f"--columns expects NAME=COLUMN or KIND:NAME=COLUMN such as run:doc_id=article ({known}), "
                f"found {text!r}"
            )
        for each in fitting:
            made[each][name] = column
    return made


def _formats(given: list[str]) -> dict[str, str]:
    """The format named for each kind of table."""
    made: dict[str, str] = {}
    for text in given:
        kind, _, name = text.rpartition("=")
        if name not in FORMATS or kind not in ("", *_KINDS):
            raise InputError(f"--from expects one of {', '.join(FORMATS)}, or KIND=FORMAT, found {text!r}")
        made.update(dict.fromkeys((kind,) if kind else _KINDS, name))
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
