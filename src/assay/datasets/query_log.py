"""Query tables and raw query logs: one row for each query, or one for each time that a query was issued.

A log has a text on every row and no ids, or ids that repeat. Rows with the same text become one query: its
frequency is the sum of their counts, its id follows from the text, and `at` is its earliest time. A file
`.txt` has one issued query on each line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.core.columns import match_columns
from assay.core.errors import FormatError, TableError
from assay.core.tables import Queries
from assay.datasets import read
from assay.datasets.columnar import read_frame
from assay.datasets.delimited import DelimitedRows, parse_numbers
from assay.datasets.detection import detect_format
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.jsonl import read_rows
from assay.datasets.query_list import query_id
from assay.datasets.ubi import read_events

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": Queries.aliases["query_id"],
    "text": (*Queries.aliases["text"], "user_query", "search_term", "search_query", "keywords", "q"),
    "frequency": ("count", "searches", "impressions"),
    "results": ("result_count", "num_results", "n_results", "total_hits", "hits", "query_response_hit_ids"),
    "at": ("timestamp", "time", "datetime", "date"),
}
_UBI_MARKS = (b'"action_name"', b'"ubi_queries"', b'"query_response_id"')
_Columns = dict[str, list[Any]]


class QueryLog(NamedTuple):
    """The different queries of a file, how often each was issued, and how many rows it had."""

    queries: Queries
    frequencies: Floats  # 1 for each query if the file does not say
    rows: int
    is_log: bool  # whether each row was an issued query
    has_frequencies: bool
    problems: int = 0  # irregular records of a UBI log


def read_query_log(path: str, columns: Mapping[str, str] | None = None, is_ubi: bool = False) -> QueryLog:
    """Return the queries of a table, a collection or a log; `columns` is {our name: name in the file}.

    UBI events are recognised in JSON lines; `is_ubi` reads any other file of them.
    """
    if is_ubi or path.lower().endswith(".zip"):
        return _read_ubi(path)
    source = InputFile(path)
    if _looks_like_ubi(source):
        return _read_ubi(path)
    values = _read_columns(source, columns or {})
    if values is None:
        return query_log_of_table(read(path, "queries", columns=columns), source.label)
    ids = values.get("query_id")
    if ids is None or None in ids or len(set(map(str, ids))) < len(ids):
        return _group_rows(values, source.label)
    return query_log_of_table(Queries(values), source.label)


def _looks_like_ubi(source: InputFile) -> bool:
    if source.path == "-" or os.path.isdir(source.path) or ":" in source.path:
        return False
    head = source.head(1 << 16)
    return head.lstrip().startswith(b"{") and any(mark in head for mark in _UBI_MARKS)


def _read_ubi(path: str) -> QueryLog:
    """Return the queries of a UBI log, each issued once for each query_id."""
    events = read_events(path)
    issued = events.queries.filter(events.queries["user_query"].is_not_null())
    texts = issued["user_query"].to_list()
    if not texts:
        raise FormatError("expected queries with user_query, found only events", path)
    times = [None if at is None else at.isoformat() for at in issued["at"].to_list()]
    results = [None if hits is None else len(hits) for hits in issued["hit_ids"].to_list()]
    values: _Columns = {"text": texts, "at": times}
    values |= {"results": results} if any(count is not None for count in results) else {}
    problems = sum(problem.count for problem in events.problems)
    return _group_rows(values, path)._replace(problems=problems)


def _read_columns(source: InputFile, columns: Mapping[str, str]) -> _Columns | None:
    """Return the columns of a file under our names; None if it is not a table of rows."""
    if source.path.lower().removesuffix(".gz").removesuffix(".zst").endswith(".txt"):
        values: _Columns = {"text": [text for _, text in source.text_lines(LONGEST_TEXT) if text.strip()]}
    else:
        name = detect_format(source, "queries", columns)
        if name not in _READERS:
            return None
        values = _READERS[name](source, name, columns)
    if not values or not len(next(iter(values.values()))):
        raise FormatError("expected rows of queries, found none", source.label)
    try:
        targets = match_columns(list(values), ALIASES, columns)
    except TableError as error:
        raise FormatError(str(error), source.label) from None
    return {targets.get(column, column): cells for column, cells in values.items()}


def _read_delimited(source: InputFile, name: str, columns: Mapping[str, str]) -> _Columns:
    rows = DelimitedRows(source, name, columns)
    if not rows.has_header:  # the names of a log are not those of a table
        names = match_columns(list(rows.names), ALIASES, {})
        rows = DelimitedRows(source, name, {target: column for column, target in names.items()} | {**columns})
    rows.require_names("queries")
    values: _Columns = {column: [] for column in rows.names}
    for _, row in rows:
        for column, cell in row.items():
            values[column].append(cell)
    texts = {*ALIASES["text"], *ALIASES["query_id"], "text", "query_id", *columns.values()}
    return {c: cells if c.lower() in texts else parse_numbers(cells) for c, cells in values.items()}


def _read_jsonl(source: InputFile, name: str, columns: Mapping[str, str]) -> _Columns:
    rows = [row for _, row in read_rows(source)]
    names = dict.fromkeys(column for row in rows for column in row)
    return {column: [row.get(column) for row in rows] for column in names}


def _read_columnar(source: InputFile, name: str, columns: Mapping[str, str]) -> _Columns:
    values: _Columns = read_frame(source, name).to_dict(as_series=False)
    return values


_READERS = {
    "csv": _read_delimited,
    "tsv": _read_delimited,
    "jsonl": _read_jsonl,
    "parquet": _read_columnar,
    "arrow": _read_columnar,
}


def query_log_of_table(queries: Queries, label: str) -> QueryLog:
    """Return the queries of a table; without a column `frequency` each counts once."""
    if "text" not in queries.columns:
        names = ", ".join(queries.columns)
        raise FormatError(f"expected a column with the texts of the queries, found {names}", label)
    counts = queries.columns.get("frequency")
    texts = _check_texts(queries.columns["text"], label)
    values = {**queries.columns, "text": texts} | _result_counts(queries.columns)
    return QueryLog(
        Queries(values), _counts(counts, len(queries), label), len(queries), False, counts is not None
    )


def _check_texts(texts: Sequence[Any], label: str) -> list[str]:
    row = next((place for place, text in enumerate(texts) if not isinstance(text, str)), None)
    if row is not None:
        raise FormatError(f"expected a text in row {row + 1}, found {texts[row]!r}", label)
    return list(texts)


def _counts(counts: Sequence[Any] | None, rows: int, label: str) -> Floats:
    """Return the frequencies, 0 for a missing one."""
    if counts is None:
        return np.ones(rows)
    for row, count in enumerate(counts):
        is_number = isinstance(count, int | float) and not isinstance(count, bool)
        if count is not None and not (is_number and 0 <= count < float("inf")):
            raise FormatError(f"expected a frequency of at least 0 in row {row + 1}, found {count!r}", label)
    return np.array([count or 0 for count in counts], np.float64)


def _result_counts(values: Mapping[str, Sequence[Any]]) -> _Columns:
    """Return the column `results` as numbers: lists of results are counted, what is no number is None."""
    if "results" not in values:
        return {}
    counts = [len(cell) if isinstance(cell, list) else cell for cell in values["results"]]
    return {"results": [count if isinstance(count, int | float) else None for count in counts]}


def _group_rows(values: _Columns, label: str) -> QueryLog:
    """Return one query for each text of a log; its other columns are those of its first row."""
    if "text" not in values:
        names = ", ".join(values)
        problem = f"no column with the texts of the queries among {names}: name it with --columns text=…"
        raise FormatError(problem, label)
    values = values | _result_counts(values)
    texts = [" ".join(text.split()) for text in _check_texts(values["text"], label)]
    counts = _counts(values.get("frequency"), len(texts), label)
    places: dict[str, int] = {}
    query = np.array([places.setdefault(text, len(places)) for text in texts], np.int64)
    first = np.unique(query, return_index=True)[1].tolist()
    frequencies = np.bincount(query, counts).astype(np.float64)
    others = [name for name in values if name not in ("query_id", "text", "frequency")]
    columns: _Columns = {"query_id": list(map(query_id, places)), "text": list(places)}
    columns |= {name: [values[name][row] for row in first] for name in others}
    columns |= _summaries(values, query.tolist(), len(places))
    queries = Queries({**columns, "frequency": _whole(frequencies)})
    return QueryLog(queries, frequencies, len(texts), True, True)


def _whole(numbers: Floats) -> list[float]:
    """Return whole numbers as such."""
    return [int(number) if number == int(number) else number for number in numbers.tolist()]


def _summaries(values: Mapping[str, Sequence[Any]], query: Sequence[int], count: int) -> _Columns:
    """Return the earliest time and the most results of each query."""
    summaries: _Columns = {}
    for name, choose in (("at", min), ("results", max)):
        cells: list[list[Any]] = [[] for _ in range(count)]
        for place, cell in zip(query, values.get(name, ()), strict=False):
            if cell is not None:
                cells[place].append(cell)
        if name in values:
            summaries[name] = [choose(defined) if defined else None for defined in cells]
    return summaries
