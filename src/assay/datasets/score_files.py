"""Scores of queries in files: what `assay eval --per-query` prints as CSV or JSON, or any table of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import FormatError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Queries
from assay.datasets.delimited import DelimitedRows, parse_numbers
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import decode_json, read_rows

Scores = dict[str, dict[str, float]]  # system, query
_SYSTEMS = ("run", "system", "name")
_QUERIES = ("query_id", *Queries.aliases["query_id"])


def read_scores(path: str, measure: str | None = None) -> Scores:
    """Return the scores of each system by one measure (the first, if none is named).

    A table has a column of queries, optionally one of systems (`run`), and a column for each measure.
    """
    source = InputFile(path)
    head = source.head(64).lstrip()
    if head.startswith(b"{") and b'"runs"' in head:
        return _read_evaluation(decode_json(source.read(), source.label), measure, source.label)
    rows = list(_rows(source))
    if not rows:
        raise FormatError("expected rows of scores, found none", source.label)
    return _scores_of_rows(rows, measure, source.label)


def _rows(source: InputFile) -> list[Mapping[str, Any]]:
    if source.head(64).lstrip().startswith(b"{"):
        return [row for _, row in read_rows(source)]
    table = DelimitedRows(source, "tsv" if b"\t" in source.head(4096) else "csv", {})
    table.require_names("queries")
    cells = [row for _, row in table]
    columns = {name: parse_numbers([row[name] for row in cells]) for name in table.names}
    return [{name: columns[name][place] for name in table.names} for place in range(len(cells))]


def _read_evaluation(data: Mapping[str, Any], measure: str | None, label: str) -> Scores:
    """Return the scores in the JSON of an evaluation."""
    rows = [
        {"run": run["name"], "query_id": query, **values}
        for run in data["runs"]
        for query, values in run.get("per_query", {}).items()
    ]
    if not rows:
        raise FormatError("expected scores of each query (assay eval --per-query), found none", label)
    return _scores_of_rows(rows, measure, label)


def _scores_of_rows(rows: Sequence[Mapping[str, Any]], measure: str | None, label: str) -> Scores:
    names = list(rows[0])
    query = next((name for name in names if name.lower() in _QUERIES), None)
    if query is None:
        raise FormatError(f"expected a column query_id, found {', '.join(names)}", label)
    system = next((name for name in names if name.lower() in _SYSTEMS), None)
    column = _choose_measure(rows[0], measure, (query, system), label)
    scores: Scores = {}
    for row in rows:
        value = row.get(column)
        if isinstance(value, int | float):
            scores.setdefault("" if system is None else str(row[system]), {})[str(row[query])] = float(value)
    if not scores:
        raise FormatError(f"the column {column} has no numbers", label)
    return scores


def _choose_measure(
    row: Mapping[str, Any], measure: str | None, others: tuple[str | None, ...], label: str
) -> str:
    """Return the column of a measure, or the first with a number."""
    names = [name for name in row if name not in others]
    if measure is None:
        numbers = [name for name in names if isinstance(row[name], int | float)]
        if not numbers:
            raise FormatError(f"expected a column of scores, found {', '.join(row)}", label)
        return numbers[0]
    if measure not in names:
        hint = did_you_mean(measure, names) or f"it has {', '.join(names)}"
        raise FormatError(f"there are no scores of {measure}; {hint}", label)
    return measure
