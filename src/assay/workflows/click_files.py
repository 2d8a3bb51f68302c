"""Files of `assay judge clicks`: logs that are read, and tables that are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from assay.core.errors import FormatError, InputError
from assay.core.events import Problem
from assay.core.result_pages import Pages
from assay.datasets import read
from assay.datasets.input_files import InputFile
from assay.datasets.output_files import open_for_writing
from assay.datasets.result_pages import is_page_file, read_pages
from assay.datasets.ubi import read_events
from assay.judging.clicks.event_pages import pages_of_events

_TABLE_FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


class PageLog(NamedTuple):
    """Result pages, and what the log had beside them."""

    pages: Pages
    counts: Mapping[str, int]
    problems: Sequence[Problem]


def read_page_log(
    paths: Sequence[str], click_actions: Sequence[str] = ("click",), queries: str | None = None
) -> PageLog:
    """Return the pages of files of result pages, or of UBI events; `queries` gives texts their ids."""
    if not paths:
        raise InputError("expected result pages or UBI events, found no file")
    sources = [InputFile(path) for path in paths]
    are_pages = [is_page_file(source) for source in sources]
    if all(are_pages):
        pages = read_pages(*sources)
        return PageLog(pages, {"pages": len(pages)}, ())
    if any(are_pages):
        raise FormatError(
            "is a file of result pages among logs of events; give one kind", paths[are_pages.index(True)]
        )
    events = read_events(*sources)
    result = pages_of_events(events, click_actions, _query_ids(queries) if queries else None)
    return PageLog(result.pages, {**events.counts, **result.counts}, events.problems)


def _query_ids(path: str) -> dict[str, str]:
    """Return the id of each text of a query table."""
    table = read(path, "queries").frame
    return dict(reversed(table.select("text", "query_id").rows()))


def write_pair_table(frame: pl.DataFrame, path: str) -> None:
    """Write pairs with their relevance and grade as CSV, TSV, JSON lines or Parquet, by the extension."""
    ending = next((e for e in _TABLE_FORMATS if path.removesuffix(".gz").endswith(e)), None)
    if ending is None:
        raise InputError(f"-o expects a file ending in {', '.join(_TABLE_FORMATS)}, found {path!r}")
    with open_for_writing(path) as file:
        if ending == ".parquet":
            frame.write_parquet(file)
        elif ending in (".csv", ".tsv"):
            frame.write_csv(file, separator="\t" if ending == ".tsv" else ",")
        else:
            frame.write_ndjson(file)


def write_problems(problems: Sequence[Problem], path: str) -> None:
    """Write the place of every irregularity of a log as CSV."""
    rows = [
        (p.kind, place.source, place.line, place.detail, p.treatment) for p in problems for place in p.places
    ]
    schema = {
        "kind": pl.String,
        "source": pl.String,
        "line": pl.Int64,
        "detail": pl.String,
        "treatment": pl.String,
    }
    with open_for_writing(path) as file:
        pl.DataFrame(rows, schema=schema, orient="row").write_csv(file)
