"""Distances between queries and vectors in double precision, by which neighbours are ranked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_SMALLEST_PRODUCT = 1e-290
_EXACT_DIMENSIONS = 1 << 15  # up to which the squared product of byte vectors fits 64 bits
_SUMMED_DIMENSIONS = 4096  # at once: beyond 8,192 the order of the sum depends on other rows


def pair_distances(
    metric: str, queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None = None
) -> Doubles:
    """Return the distance of each row of queries to the same row of vectors.

    The sum over dimensions has the same order for every pair, so it does not depend on the other pairs.
    Integers are exact, except for the root. `space` is an array of the same shape that is overwritten,
    because allocating memory takes long.

    >>> pair_distances("l2", np.array([[0, 0]], np.uint8), np.array([[3, 4]], np.uint8)).tolist()
    [5.0]
    """
    return _FORMULAS[metric](queries, vectors, space)


def _to_float64(rows: NDArray[Any], space: Doubles | None = None) -> Doubles:
    if space is None:
        return np.ascontiguousarray(rows, np.float64)
    space[:] = rows
    return space


def _dot(a: Doubles, b: Doubles) -> Doubles:
    """Return row-wise dot products without BLAS, whose order of summation depends on the processor."""
    sums: Doubles = np.einsum("ij,ij->i", a[:, :_SUMMED_DIMENSIONS], b[:, :_SUMMED_DIMENSIONS])
    for start in range(_SUMMED_DIMENSIONS, a.shape[1], _SUMMED_DIMENSIONS):
        sums += np.einsum(
            "ij,ij->i", a[:, start : start + _SUMMED_DIMENSIONS], b[:, start : start + _SUMMED_DIMENSIONS]
        )
    return sums


def _l2(queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None) -> Doubles:
    difference: Doubles = np.subtract(queries, vectors, out=space, dtype=np.float64)
    return np.sqrt(_dot(difference, difference))


def _ip(queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None) -> Doubles:
    return 0.0 - _dot(_to_float64(queries, space), _to_float64(vectors))  # never −0, which prints differently


def _cosine(queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None) -> Doubles:
    a, b = _to_float64(queries, space), _to_float64(vectors)
    dot, query_squares, vector_squares = _dot(a, b), _dot(a, a), _dot(b, b)
    if "f" in (queries.dtype.kind, vectors.dtype.kind):
        return 1 - dot / _product_roots(query_squares, vector_squares)
    squared = (
        _exact_fraction(dot, vector_squares) if a.shape[1] <= _EXACT_DIMENSIONS else dot**2 / vector_squares
    )
    return 1 - np.sign(dot) * np.sqrt(squared / query_squares)


def _product_roots(a: Doubles, b: Doubles) -> Doubles:
    """Return the root of a product, even if the product overflows or underflows a double."""
    with np.errstate(over="ignore", under="ignore"):
        product = a * b
    is_safe = (product > _SMALLEST_PRODUCT) & (product < 1 / _SMALLEST_PRODUCT)
    roots: Doubles = np.where(is_safe, np.sqrt(product), np.sqrt(a) * np.sqrt(b))
    return roots


def _exact_fraction(dot: Doubles, length: Doubles) -> Doubles:
    """Return dot² / length of integers; equal fractions give equal doubles, so that ties are recognized.

    >>> _exact_fraction(np.array([3.0, 9.0]), np.array([2.0, 18.0])).tolist()
    [4.5, 4.5]
    """
    square, divisor = dot.astype(np.int64) ** 2, length.astype(np.int64)
    common = np.maximum(np.gcd(square, divisor), 1)
    fractions: Doubles = (square // common) / (divisor // common)
    return fractions


_FORMULAS: dict[str, Callable[[NDArray[Any], NDArray[Any], Doubles | None], Doubles]] = {
    "l2": _l2,
    "ip": _ip,
    "cosine": _cosine,
}
