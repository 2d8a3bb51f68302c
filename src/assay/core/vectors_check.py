"""What vectors must not hold: numbers that are none, and zeros where a direction is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Matrix, Vectors

_PIECE = 16 << 20  # bytes at a time
LARGEST = 1e150  # beyond it a squared distance does not fit double precision
SMALLEST = 1e-140  # below it a squared length does not


class Found(NamedTuple):
    """How many rows have a fault, and the position of the first; None where there is none."""

    number: int = 0
    first: int | None = None

    def plus(self, other: Found) -> Found:
        """This and what was found in later rows."""
        return Found(self.number + other.number, other.first if self.first is None else self.first)


class Faults(NamedTuple):
    """What is wrong with some vectors."""

    rows: int
    not_finite: Found = Found()  # NaN or infinite
    zero: Found = Found()  # of no length: they have no direction, so no cosine
    large: Found = Found()  # beyond what has a distance
    small: Found = Found()  # below what has a direction

    def problems(self, metric: str = "cosine") -> list[str]:
        """What stands in the way under a metric, in words.

        >>> Faults(5, zero=Found(2, 3)).problems()
        ['2 of 5 rows are zero, the first at position 3: under cosine they have no direction']
        >>> Faults(5, zero=Found(2, 3)).problems("l2")
        []
        """
        made = [] if self.rows else ["there are no rows"]
        if self.not_finite.number:
            made.append(_counted(self.rows, self.not_finite, "NaN or infinite numbers", "hold"))
        if self.zero.number and metric == "cosine":
            said = _counted(self.rows, self.zero, "zero", "are")
            made.append(f"{said}: under cosine they have no direction")
        if self.small.number and metric == "cosine":
            said = _counted(self.rows, self.small, f"no number of {SMALLEST:g} or more", "hold")
            made.append(f"{said}: under cosine their direction cannot be told")
        if self.large.number:
            made.append(_counted(self.rows, self.large, f"numbers beyond {LARGEST:g}", "hold"))
        return made


def faults(vectors: Vectors) -> Faults:
    """What is wrong with vectors, looked through some rows at a time.

    >>> from assay.core.vectors import Held
    >>> faults(Held(np.array([[1, 0], [0, 0], [np.nan, 1]], np.float32)))[:3]
    (3, Found(number=1, first=2), Found(number=1, first=1))
    """
    not_finite, zero, large, small = Found(), Found(), Found(), Found()
    for start, block in pieces(vectors):
        if block.dtype.kind == "f":
            not_finite = not_finite.plus(_found(~np.isfinite(block).all(axis=1), start))
        if block.dtype == np.float64:
            large = large.plus(_found((np.isfinite(block) & (np.abs(block) > LARGEST)).any(axis=1), start))
            small = small.plus(_found(too_small(block), start))
        zero = zero.plus(_found(~block.any(axis=1), start))
    return Faults(len(vectors), not_finite, zero, large, small)


def too_small(block: Matrix) -> NDArray[np.bool_]:
    """The rows that are not zero, but too small for their squares.

    >>> too_small(np.array([[0.0, 0.0], [1e-170, 0.0], [1e-170, 1e-9]])).tolist()
    [False, True, False]
    """
    most = np.abs(block).max(axis=1, initial=0)
    made: NDArray[np.bool_] = (most > 0) & (most < SMALLEST)
    return made


def refuse_faults(vectors: Vectors, metric: str, name: str) -> None:
    """Refuse vectors that cannot be searched under a metric; the name says whose they are."""
    problems = faults(vectors).problems(metric)
    if problems:
        raise InputError(f"{name}: {'; '.join(problems)}; leave these rows out, or make them anew")


def refuse_mismatch(base: Vectors, queries: Vectors) -> None:
    """Refuse a base and queries of different dimensions."""
    if base.d != queries.d:
        raise InputError(
            f"the base has {base.d} dimensions and the queries have {queries.d}: "
            "both must come from the same model"
        )


def pieces(vectors: Vectors, size: int = _PIECE) -> Iterator[tuple[int, Matrix]]:
    """The rows, about 16 MiB at a time, each with the position of the first."""
    return vectors.blocks(max(1, size // max(1, vectors.d * vectors.dtype.itemsize)))


def _found(bad: Any, start: int) -> Found:
    count = int(np.count_nonzero(bad))
    return Found(count, start + int(bad.argmax()) if count else None)


def _counted(rows: int, found: Found, what: str, verb: str) -> str:
    return f"{found.number:,} of {rows:,} rows {verb} {what}, the first at position {found.first}"
