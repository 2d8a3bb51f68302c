"""Credits that were computed elsewhere: a table of user, query and credits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from assay.core.errors import FormatError
from assay.core.events import Place
from assay.datasets.columnar import read_frame
from assay.datasets.delimited import DelimitedRows
from assay.datasets.detection import detect_format
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import read_rows
from assay.online.interleaving.page_credits import CreditProblems, PageCredits

_USERS = ("user", "user_id", "client_id")
_QUERIES = ("query", "query_id", "page")
_CREDITS, _TEAMS = ("credits", "credit"), ("team", "ranker")
_SIGNED = ("baseline", "candidate")  # the rankers of a table with one signed number
_Row = Mapping[str, Any]


def is_credit_table(source: InputFile) -> bool:
    """Whether a file has columns of users, queries and credits, or of users, queries and two rankers."""
    try:
        first = next(islice(_rows(source), 1), None)
    except FormatError:
        return False
    if first is None:
        return False
    names = [*first[1]]
    has_keys = _find(names, _USERS) is not None and _find(names, _QUERIES) is not None
    return has_keys and "user_query" not in names and "action_name" not in names and len(names) >= 3


def read_credit_table(source: InputFile) -> PageCredits:
    """Return the credits of a table of one of these forms.

    `user, query, team, credits`: a row for each team. `user, query, A, B`: a column for each ranker.
    `user, query, credits`: a JSON object {"A": 1, "B": 2}, or a number, below 0 for the baseline.
    """
    problems = CreditProblems()
    pages: dict[tuple[str, str], dict[str, float]] = {}
    rows = 0
    for line, row in _rows(source):
        rows += 1
        place = Place(source.label, line, str(row.get(_find([*row], _QUERIES) or "", "")))
        user = row.get(_find([*row], _USERS) or "")
        values = _credits(row)
        if user is None or user == "":
            problems.add("row without a user", place)
        elif values is None:
            problems.add("row without a number of credits", place)
        else:
            page = pages.setdefault((str(user), place.detail), {})
            for ranker, value in values.items():
                page[ranker] = page.get(ranker, 0.0) + value
    return _page_credits(source, pages, rows, problems)


def _page_credits(
    source: InputFile,
    pages: Mapping[tuple[str, str], Mapping[str, float]],
    rows: int,
    problems: CreditProblems,
) -> PageCredits:
    rankers = tuple(sorted({ranker for page in pages.values() for ranker in page}))
    if len(rankers) < 2:
        found = f"found only those of {rankers[0]!r}" if rankers else f"found {rows:,} rows without any"
        raise FormatError(f"expected credits of two or more rankers, {found}", source.label)
    credited = {key: page for key, page in pages.items() if any(page.values())}
    values = [[page.get(ranker, 0.0) for ranker in rankers] for page in credited.values()]
    counts = {
        "queries": len(pages),
        "queries_with_credit": len(credited),
        "users": len({user for user, _ in pages}),
        "clicks": rows,
    }
    users = [user for user, _ in credited]
    matrix = np.array(values, float).reshape(len(values), len(rankers))
    return PageCredits("credits", rankers, users, matrix, counts, problems.problems())


def _rows(source: InputFile) -> Iterator[tuple[int, _Row]]:
    name = detect_format(source, None, {})
    if name in ("csv", "tsv"):
        yield from DelimitedRows(source, name, {})
    elif name == "jsonl":
        yield from read_rows(source)
    elif name in ("parquet", "arrow"):
        yield from enumerate(read_frame(source, name).iter_rows(named=True), 1)


def _find(names: list[str], aliases: tuple[str, ...]) -> str | None:
    return next((name for name in names if name.lower() in aliases), None)


def _credits(row: _Row) -> dict[str, float] | None:
    """Return the credits of a row by ranker; None if they cannot be read."""
    names = [*row]
    column, team = _find(names, _CREDITS), _find(names, _TEAMS)
    if column is None:
        keys = {_find(names, _USERS), _find(names, _QUERIES)}
        return _numbers({name: value for name, value in row.items() if name not in keys})
    if team is not None:
        return _numbers({str(row[team]): row[column]}) if row[team] else None
    value = row[column]
    parsed = _parse_object(value) if isinstance(value, str) and value.lstrip()[:1] == "{" else value
    if isinstance(parsed, Mapping):
        return _numbers(parsed)
    number = _number(value)
    return None if number is None else dict(zip(_SIGNED, (max(-number, 0.0), max(number, 0.0)), strict=True))


def _parse_object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _numbers(values: Mapping[str, Any]) -> dict[str, float] | None:
    numbers = {name: _number(value) for name, value in values.items()}
    known = {name: number for name, number in numbers.items() if number is not None and number >= 0}
    return known if len(known) == len(numbers) else None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
