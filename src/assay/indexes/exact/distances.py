"""The distance of a query and a vector, in double precision: the one that decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_SMALL = 1e-290
_WHOLE = 1 << 15  # dimensions up to which the square of a product of bytes is a whole number of 64 bits
_PIECE = 4096  # numbers of a row that are summed at once: beyond 8,192 the order depends on other rows


def of_pairs(
    metric: str, queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None = None
) -> Doubles:
    """The distance of each row of queries to the same row of vectors.

    The sum over dimensions is made in the same order for every pair, so that it does not depend on
    which other pairs are computed beside it. Integers are exact, but for the root. `space` is memory of
    their shape that is written over: to be given new memory takes long.

    >>> of_pairs("l2", np.array([[0, 0]], np.uint8), np.array([[3, 4]], np.uint8)).tolist()
    [5.0]
    """
    return _FORMULAS[metric](queries, vectors, space)


def _doubles(rows: NDArray[Any], space: Doubles | None = None) -> Doubles:
    if space is None:
        return np.ascontiguousarray(rows, np.float64)
    space[:] = rows
    return space


def _dot(a: Doubles, b: Doubles) -> Doubles:
    """Not by BLAS, which sums in another order on another processor: parts may be searched by several."""
    made: Doubles = np.einsum("ij,ij->i", a[:, :_PIECE], b[:, :_PIECE])
    for start in range(_PIECE, a.shape[1], _PIECE):
        made += np.einsum("ij,ij->i", a[:, start : start + _PIECE], b[:, start : start + _PIECE])
    return made


def _l2(queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None) -> Doubles:
    difference: Doubles = np.subtract(queries, vectors, out=space, dtype=np.float64)
    return np.sqrt(_dot(difference, difference))


def _ip(queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None) -> Doubles:
    return 0.0 - _dot(_doubles(queries, space), _doubles(vectors))  # not −0, which prints as something else


def _cosine(queries: NDArray[Any], vectors: NDArray[Any], space: Doubles | None) -> Doubles:
    a, b = _doubles(queries, space), _doubles(vectors)
    dot, own, length = _dot(a, b), _dot(a, a), _dot(b, b)
    if "f" in (queries.dtype.kind, vectors.dtype.kind):
        return 1 - dot / _roots(own, length)
    squared = _fraction(dot, length) if a.shape[1] <= _WHOLE else dot**2 / length
    return 1 - np.sign(dot) * np.sqrt(squared / own)


def _roots(one: Doubles, other: Doubles) -> Doubles:
    """The root of a product, also where the product is too large or too small for a double."""
    with np.errstate(over="ignore", under="ignore"):
        product = one * other
    fits = (product > _SMALL) & (product < 1 / _SMALL)
    made: Doubles = np.where(fits, np.sqrt(product), np.sqrt(one) * np.sqrt(other))
    return made


def _fraction(dot: Doubles, length: Doubles) -> Doubles:
    """dot² / length of whole numbers: equal fractions become equal doubles, so that ties are seen to be ties.

    >>> _fraction(np.array([3.0, 9.0]), np.array([2.0, 18.0])).tolist()
    [4.5, 4.5]
    """
    square, below = dot.astype(np.int64) ** 2, length.astype(np.int64)
    common = np.maximum(np.gcd(square, below), 1)
    made: Doubles = (square // common) / (below // common)
    return made


_FORMULAS: dict[str, Callable[[NDArray[Any], NDArray[Any], Doubles | None], Doubles]] = {
    "l2": _l2,
    "ip": _ip,
    "cosine": _cosine,
}
