"""Splits of an evaluation set into parts, such as train and test, that share no family of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Queries
from assay.evaluation.slices import label_queries
from assay.judging.families import Pairs, join_pairs

_NAMES = {2: ("train", "test"), 3: ("train", "validation", "test")}
_MOST_SLICES = 12  # of a column that is counted without being asked for
_OWN_COLUMNS = ("query_id", "text", "family", "family_size", "inclusion_probability")


class SplitPart(NamedTuple):
    """One part of a split, with its counts."""

    name: str
    share: float  # that was asked for
    rows: Ints  # of the query table
    families: int
    slices: Mapping[str, Mapping[str, int]]  # column, label: queries

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain data."""
        slices = {column: dict(counts) for column, counts in self.slices.items()}
        counts = {"queries": len(self.rows), "families": self.families}
        return {"name": self.name, "share": self.share, **counts, "slices": slices}


def part_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the names of the parts: those given, or train and test.

    >>> part_names([], 2), part_names([], 4)
    (('train', 'test'), ('part-1', 'part-2', 'part-3', 'part-4'))
    """
    if not names:
        return _NAMES.get(count, tuple(f"part-{number}" for number in range(1, count + 1)))
    is_path = any(not name or "/" in name or name.startswith(".") for name in names)
    if len(set(names)) != count or is_path:
        raise InputError(f"--names expects {count} different names of folders, found {', '.join(names)}")
    return tuple(names)


def check_shares(shares: Sequence[float]) -> None:
    """Raise InputError if shares are not at least two, above 0, with the sum 1."""
    if len(shares) < 2 or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        found = " ".join(f"{share:g}" for share in shares)
        raise InputError(f"--shares expects two or more shares above 0 with the sum 1, found {found}")


def join_groups(first: Ints, second: Ints) -> Ints:
    """Return groups that keep together what either of two groupings keeps together.

    >>> join_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    rows, shift = np.arange(len(first)), len(first)
    links = np.concatenate([shift + first, 2 * shift + second])
    return join_pairs(3 * shift, Pairs(np.concatenate([rows, rows]), links))[:shift]


def split_groups(groups: Ints, shares: Sequence[float], rng: np.random.Generator) -> Ints:
    """Return the part of each row: groups go, the largest first, to the part that lacks most."""
    sizes = np.bincount(groups)
    if len(sizes) < len(shares):
        raise UndecidableError(
            f"there are {len(sizes):,} groups of queries that must stay together, too few for "
            f"{len(shares)} parts"
        )
    missing = np.array(shares) * len(groups)
    parts = np.empty(len(sizes), np.int64)
    for group in np.lexsort((rng.random(len(sizes)), -sizes)).tolist():
        parts[group] = int(np.argmax(missing))
        missing[parts[group]] -= sizes[group]
    return parts[groups]


def split_times(groups: Ints, times: Floats, shares: Sequence[float]) -> Ints:
    """Return the part of each row: earlier groups first; a group belongs to its earliest time.

    Groups of the same time stay in one part.
    """
    earliest = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(earliest, groups, times)
    moments, place = np.unique(earliest[groups], return_inverse=True)
    counts = np.bincount(place)
    middle = np.cumsum(counts) - counts / 2
    cuts = np.cumsum(shares)[:-1] * len(groups)
    parts: Ints = np.searchsorted(cuts, middle, "right")[place]
    if len(np.unique(parts)) < len(shares):
        raise UndecidableError(
            f"the queries have {len(moments):,} different times: a part would be empty; choose other shares"
        )
    return parts


def parse_times(values: Sequence[Any], ids: Sequence[str], column: str) -> Floats:
    """Return times as seconds: numbers as they are, texts such as 2026-01-31 or 2026-01-31T12:00:00Z."""
    return np.array(
        [_parse_time(value, query, column) for value, query in zip(values, ids, strict=True)], np.float64
    )


def _parse_time(value: Any, query: str, column: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        return float(value)
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InputError(
            f"the {column} of query {query!r} must be a time such as 2026-01-31 or a number, found {value!r}"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def describe_parts(
    queries: Queries,
    parts: Ints,
    families: Ints,
    names: Sequence[str],
    shares: Sequence[float],
    columns: Sequence[str],
) -> list[SplitPart]:
    """Return the parts with their counts by slice."""
    labels = {column: np.array(label_queries(column, queries), dtype=object) for column in columns}
    split_parts = []
    for number, (name, share) in enumerate(zip(names, shares, strict=True)):
        rows = np.flatnonzero(parts == number)
        slices = {
            column: {label: int((values[rows] == label).sum()) for label in sorted(set(values))}
            for column, values in labels.items()
        }
        split_parts.append(SplitPart(name, share, rows, len(np.unique(families[rows])), slices))
    return split_parts


def slice_columns(queries: Queries) -> list[str]:
    """Return the columns of a query table with few different values."""
    return [
        name
        for name, values in queries.columns.items()
        if name not in _OWN_COLUMNS and 1 < len({str(value) for value in values}) <= _MOST_SLICES
    ]
