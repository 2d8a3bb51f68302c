"""Checks of vectors: numbers that are not finite, and rows without a direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Matrix, Vectors

_BLOCK_BYTES = 16 << 20  # bytes of a block
LARGEST_NUMBER = 1e150  # above it a squared distance overflows double precision
SMALLEST_NUMBER = 1e-140  # below it a squared length underflows


class FaultyRows(NamedTuple):
    """The number of rows with a fault, and the position of the first; None if there is none."""

    number: int = 0
    first: int | None = None

    def __add__(self, other: FaultyRows) -> FaultyRows:  # type: ignore[override]  # of later rows
        return FaultyRows(self.number + other.number, other.first if self.first is None else self.first)


class VectorFaults(NamedTuple):
    """The faults of some vectors."""

    rows: int
    not_finite: FaultyRows = FaultyRows()  # NaN or infinite
    zero: FaultyRows = FaultyRows()  # they have no direction, so no cosine
    large: FaultyRows = FaultyRows()  # too large for a distance
    small: FaultyRows = FaultyRows()  # too small for a direction

    def problems(self, metric: str = "cosine") -> list[str]:
        """Return the problems of a search under a metric, as text.

        >>> VectorFaults(5, zero=FaultyRows(2, 3)).problems()
        ['2 of 5 rows are zero, the first at position 3: under cosine they have no direction']
        >>> VectorFaults(5, zero=FaultyRows(2, 3)).problems("l2")
        []
        """
        problems = [] if self.rows else ["there are no rows"]
        if self.not_finite.number:
            problems.append(_count_text(self.rows, self.not_finite, "NaN or infinite numbers", "hold"))
        if self.zero.number and metric == "cosine":
            problem = _count_text(self.rows, self.zero, "zero", "are")
            problems.append(f"{problem}: under cosine they have no direction")
        if self.small.number and metric == "cosine":
            problem = _count_text(self.rows, self.small, f"no number of {SMALLEST_NUMBER:g} or more", "hold")
            problems.append(f"{problem}: under cosine their direction cannot be computed")
        if self.large.number:
            problems.append(_count_text(self.rows, self.large, f"numbers above {LARGEST_NUMBER:g}", "hold"))
        return problems


def find_faults(vectors: Vectors) -> VectorFaults:
    """Return the faults of vectors, which are checked block by block.

    >>> from assay.core.vectors import InMemoryVectors
    >>> find_faults(InMemoryVectors(np.array([[1, 0], [0, 0], [np.nan, 1]], np.float32)))[:3]
    (3, FaultyRows(number=1, first=2), FaultyRows(number=1, first=1))
    """
    not_finite, zero, large, small = FaultyRows(), FaultyRows(), FaultyRows(), FaultyRows()
    for start, block in row_blocks(vectors):
        if block.dtype.kind == "f":
            not_finite += _faulty_rows(~np.isfinite(block).all(axis=1), start)
        if block.dtype == np.float64:
            is_large = (np.isfinite(block) & (np.abs(block) > LARGEST_NUMBER)).any(axis=1)
            large += _faulty_rows(is_large, start)
            small += _faulty_rows(are_too_small(block), start)
        zero += _faulty_rows(~block.any(axis=1), start)
    return VectorFaults(len(vectors), not_finite, zero, large, small)


def are_too_small(block: Matrix) -> NDArray[np.bool_]:
    """Return for each row whether it is not zero, but its squared length underflows.

    >>> are_too_small(np.array([[0.0, 0.0], [1e-170, 0.0], [1e-170, 1e-9]])).tolist()
    [False, True, False]
    """
    largest = np.abs(block).max(axis=1, initial=0)
    too_small: NDArray[np.bool_] = (largest > 0) & (largest < SMALLEST_NUMBER)
    return too_small


def refuse_faults(vectors: Vectors, metric: str, name: str) -> None:
    """Raise InputError if vectors cannot be searched under a metric; `name` is used in the message."""
    problems = find_faults(vectors).problems(metric)
    if problems:
        raise InputError(f"{name}: {'; '.join(problems)}; remove these rows or compute them again")


def refuse_mismatch(base: Vectors, queries: Vectors) -> None:
    """Raise InputError if the base and the queries have different dimensions."""
    if base.d != queries.d:
        raise InputError(
            f"the base has {base.d} dimensions and the queries have {queries.d}: "
            "both must come from the same model"
        )


def row_blocks(vectors: Vectors, size: int = _BLOCK_BYTES) -> Iterator[tuple[int, Matrix]]:
    """Return the rows in blocks of about 16 MiB, each with the position of its first row."""
    return vectors.blocks(max(1, size // max(1, vectors.d * vectors.dtype.itemsize)))


def _faulty_rows(is_faulty: Any, start: int) -> FaultyRows:
    count = int(np.count_nonzero(is_faulty))
    return FaultyRows(count, start + int(is_faulty.argmax()) if count else None)


def _count_text(rows: int, faulty: FaultyRows, what: str, verb: str) -> str:
    return f"{faulty.number:,} of {rows:,} rows {verb} {what}, the first at position {faulty.first}"
