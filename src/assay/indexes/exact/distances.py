"""The distance of a query and a vector, in double precision: the one that decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_PIECE = 4096  # numbers of a row that are summed at once: beyond 8,192 the order depends on other rows


def of_pairs(metric: str, queries: NDArray[Any], vectors: NDArray[Any]) -> Doubles:
    """The distance of each row of queries to the same row of vectors.

    The sum over dimensions is made in the same order for every pair, so that it does not depend on
    which other pairs are computed beside it. Integers are exact, but for the root.

    >>> of_pairs("l2", np.array([[0, 0]], np.uint8), np.array([[3, 4]], np.uint8)).tolist()
    [5.0]
    """
    return _FORMULAS[metric](queries, vectors)


def _doubles(rows: NDArray[Any]) -> Doubles:
    return np.ascontiguousarray(rows, np.float64)


def _dot(a: Doubles, b: Doubles) -> Doubles:
    """Not by BLAS, which sums in another order on another processor: parts may be searched by several."""
    made: Doubles = np.einsum("ij,ij->i", a[:, :_PIECE], b[:, :_PIECE])
    for start in range(_PIECE, a.shape[1], _PIECE):
        made += np.einsum("ij,ij->i", a[:, start : start + _PIECE], b[:, start : start + _PIECE])
    return made


def _l2(queries: NDArray[Any], vectors: NDArray[Any]) -> Doubles:
    difference = np.subtract(queries, vectors, dtype=np.float64)
    return np.sqrt(_dot(difference, difference))


def _ip(queries: NDArray[Any], vectors: NDArray[Any]) -> Doubles:
    return 0.0 - _dot(_doubles(queries), _doubles(vectors))  # not −0, which prints as something else


def _cosine(queries: NDArray[Any], vectors: NDArray[Any]) -> Doubles:
    a, b = _doubles(queries), _doubles(vectors)
    dot, length = _dot(a, b), _dot(b, b)
    if "f" in (queries.dtype.kind, vectors.dtype.kind):
        return 1 - dot / np.sqrt(_dot(a, a) * length)
    # equal fractions of whole numbers are divided into equal doubles, so that what is tied is seen to be
    return 1 - np.sign(dot) * np.sqrt(dot**2 / length / _dot(a, a))


_FORMULAS: dict[str, Callable[[NDArray[Any], NDArray[Any]], Doubles]] = {
    "l2": _l2,
    "ip": _ip,
    "cosine": _cosine,
}
