"""Trials as a plain table (CSV, TSV, Parquet): figures as reported, every other column a parameter."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError
from assay.core.vectors import METRICS
from assay.indexes.foreign.curves import USUAL_K, k_of, place, refuse_columns, refuse_curve, rounding
from assay.indexes.foreign.curves import reported as robustness
from assay.indexes.foreign.found import Found, metric_of, told
from assay.indexes.foreign.kept import value
from assay.indexes.hosting.percentiles import PERCENTILES
from assay.indexes.sweeps.plan import MODES

SOURCE = "table"
NOTE = "as reported; no neighbours to score"
ENGINES = ("engine", "algorithm", "name", "index")  # the first that is there names the engine
Row = Mapping[str, Any]


def read(path: str) -> Iterator[Found]:
    """The trials of a table."""
    for line, row in rows(path):
        yield _found(row, path, line)


def rows(path: str) -> Iterator[tuple[int, Row]]:
    """The rows of a table, each with its line; there is at least one."""
    found = _parquet(path) if _begins(path, b"PAR1") else _delimited(path)
    first = next(found, None)
    if first is None:
        raise FormatError("has no rows: there is nothing to read", path)
    yield first
    yield from found


def _begins(path: str, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _delimited(path: str) -> Iterator[tuple[int, Row]]:
    """The rows of a text file, each with its line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"is not UTF-8 text: {error}; write it as UTF-8", path) from None
    head = text.partition("\n")[0]
    delimiter = max("\t,;", key=head.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from _rows(reader, path)
    except csv.Error as error:
        raise FormatError(f"is no table: {error}", path, reader.line_num) from None


def _rows(reader: Any, path: str) -> Iterator[tuple[int, Row]]:
    header = _header([name.strip() for name in next(reader, [])], path)
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise FormatError(
                f"expected {len(header)} cells, as in the first line, found {len(cells)}",
                path,
                reader.line_num,
            )
        yield reader.line_num, dict(zip(header, map(str.strip, cells), strict=True))


def _parquet(path: str) -> Iterator[tuple[int, Row]]:
    """The rows of a Parquet file, each with its number."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FormatError(f"cannot be read as Parquet: {error}; fetch or write it again", path) from None
    _header(frame.columns, path)
    yield from enumerate(frame.iter_rows(named=True), 1)


def _header(names: list[str], path: str) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FormatError(f"has more than one column {', '.join(map(repr, twice))}", path, 1)
    stated = FIGURES.keys() & set(names) or any(map(place, names))
    if not stated or not set(ENGINES) & set(names):
        raise FormatError(
            f"expected a column 'engine' (or {', '.join(ENGINES[1:])}) and at least one of "
            f"{', '.join(FIGURES)}, cdf_0.3, Robustness-0.3@10 …; "
            f"found {', '.join(map(repr, names)) or 'nothing'}{_near(names)}",
            path,
            1,
        )
    for one, other in _BYTES.items():
        if {one, other} <= set(names):
            raise FormatError(f"columns {one!r} and {other!r} are of the same figure: keep one", path, 1)
    refuse_columns(names, path)
    return names


def _near(names: Iterable[str]) -> str:
    """A hint at figures that columns are nearly named like.

    >>> _near(["recal", "config"])
    "; did you mean 'recall' by 'recal'?"
    """
    found = [(name, get_close_matches(name.lower(), FIGURES, 1, 0.8)) for name in sorted(names)]
    said = [f"{near[0]!r} by {name!r}" for name, near in found if near and near[0] != name]
    return f"; did you mean {' and '.join(said)}?" if said else ""


def _found(row: Row, path: str, line: int) -> Found:
    known = {name: cell for name, cell in row.items() if cell not in (None, "")}
    named = next(name for name in ENGINES if name in row)
    if named not in known:
        raise FormatError(f"column {named!r}: expected the name of an engine, found nothing", path, line)
    reported, facts = _read({**FIGURES, **_ASKED}, known, path, line), _read(_FACTS, known, path, line)
    reported = {_BYTES.get(name, name): found for name, found in reported.items()}
    columns = [name for name in known if place(name)]
    stated = k_of(columns, facts.get("k"), path, line)
    note = NOTE + "; how queries were sent is not stated, and taken to be one at a time" * (
        "mode" not in facts
    )
    note += f"; K is not stated, and taken to be {USUAL_K}" * (stated is None)
    if columns:
        shares = _read(dict.fromkeys(columns, _SHARE), known, path, line)
        k = facts["k"] = stated or USUAL_K
        refuse_curve(known, k, path, line)
        reported |= robustness(shares, k) | rounding(known, k)
    others = known.keys() - {named, *columns} - _COLUMNS
    if not reported.keys() - _ASKED.keys():
        expected = f"{', '.join(FIGURES)}, cdf_0.3 …"
        raise FormatError(f"states no figure: expected one of {expected}{_near(others)}", path, line)
    build, search = _parameters({name: cell for name, cell in known.items() if name in others})
    made = told(SOURCE, str(known[named]), build=build, search=search, reported=reported, note=note, **facts)
    return Found(made, made)


def _read(columns: Mapping[str, Column], known: Row, path: str, line: int) -> dict[str, Any]:
    made = {}
    for name in columns.keys() & known.keys():
        expected, take = columns[name]
        try:
            made[name] = take(known[name])
        except (ValueError, TypeError, OverflowError):
            raise FormatError(
                f"column {name!r}: expected {expected}, found {known[name]!r}", path, line
            ) from None
    return {name: made[name] for name in columns if name in made}


def _parameters(cells: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of building and those of searching; without a prefix they are of searching."""
    build: dict[str, Any] = {}
    search: dict[str, Any] = {}
    for column, cell in cells.items():
        prefix, _, name = column.partition(".")
        into = {"build": build, "search": search}.get(prefix) if name else None
        if into is None:
            search[column] = value(cell)
        else:
            into[name] = value(cell)
    return build, search


def _at_least(low: float, high: float = math.inf) -> Callable[[Any], float]:
    def take(cell: Any) -> float:
        made = float(cell)
        if not low <= made <= high or math.isinf(made) or isinstance(cell, bool):
            raise ValueError(cell)
        return made

    return take


def _megabytes(cell: Any) -> float:
    return _at_least(0)(cell) * 2**20


def _count(cell: Any) -> int:
    made = float(cell)
    if made < 1 or made != int(made) or isinstance(cell, bool):
        raise ValueError(cell)
    return int(made)


def _one_of(words: tuple[str, ...], spelled: Callable[[str], str]) -> Callable[[Any], str]:
    def take(cell: Any) -> str:
        made = spelled(str(cell))
        if made not in words:
            raise ValueError(cell)
        return made

    return take


Column = tuple[str, Callable[[Any], Any]]  # what is expected, and how it is read
_SHARE: Column = ("a number from 0 to 1", _at_least(0, 1))
_AMOUNT: Column = ("a number of 0 or more", _at_least(0))
_WHOLE: Column = ("a whole number of 1 or more", _count)
FIGURES: Mapping[str, Column] = {
    "recall": _SHARE,
    "qps": _AMOUNT,
    **dict.fromkeys((f"p{p:g}_ms" for p in PERCENTILES), _AMOUNT),
    "build_seconds": _AMOUNT,
    "memory_bytes": _AMOUNT,
    "disk_bytes": _AMOUNT,
    "memory_mb": (_AMOUNT[0], _megabytes),
    "disk_mb": (_AMOUNT[0], _megabytes),
}
_BYTES = {"memory_mb": "memory_bytes", "disk_mb": "disk_bytes"}  # as it is kept
_FACTS: Mapping[str, Column] = {
    "k": _WHOLE,
    "n": _WHOLE,
    "d": _WHOLE,
    "threads": _WHOLE,
    "metric": (f"one of {', '.join(METRICS)}", _one_of(METRICS, metric_of)),
    "mode": (f"one of {', '.join(MODES)}", _one_of(MODES, str.lower)),
}
_ASKED: Mapping[str, Column] = {"queries": _WHOLE}  # that a share is of
_COLUMNS = {*FIGURES, *_ASKED, *_FACTS}
