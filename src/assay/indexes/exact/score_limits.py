"""Between which limits a distance lies, told by one product of matrices in single precision.

A score orders the base for one query as the distance does: |x|² − 2⟨q, x⟩ for l2, −⟨q, x⟩ for ip and
cosine, of vectors from which a common centre was taken (it moves all scores of a query alike) and,
under cosine, of unit length. A sum of d products in floating point, in any order, is wrong by at most
d·u/(1 − d·u)·|q|·|x|, with u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, eq. 3.5).
The error allowed for is written as `fixed + slope·size`, where size is a column beside the vector
(|x|² for l2, |x| for ip, 1 for cosine), so that the product itself gives the lower limit, and no row
pays for the length of another. What is left out by these limits is certainly too far; what is near
is measured in double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Vectors
from assay.core.vectors_check import LARGEST, SMALLEST, too_small

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

_SAMPLE = 256  # rows from which the centre and the common length are taken
_PREPARED = 1 << 15  # numbers of queries made ready at once: to be given new memory takes longer than that
_TAME = 2.0**20  # lengths up to this factor from 1 are left as they are
_WILD = 2.0**60  # squared lengths beyond this factor of the common one do not fit single precision
_TINY = 2.0**-120  # what is lost where a product is too small for single precision
_LEAST = np.float32(2.0**-148)  # more than a square loses that is too small for single precision


class Rows(NamedTuple):
    """Some rows of the base, ready for the product."""

    factor: Singles  # n × (d + 1), the size in the last column
    positions: Places
    wild: Places  # of these rows nothing is known: they may be near

    def part(self, start: int, stop: int) -> Rows:
        """Some of these rows."""
        if not len(self.wild):
            return Rows(self.factor[start:stop], self.positions[start:stop], self.wild)
        first, last = np.searchsorted(self.wild, (start, stop))
        return Rows(self.factor[start:stop], self.positions[start:stop], self.wild[first:last] - start)


@dataclass(frozen=True)
class Ruler:
    """What makes rows of the base ready: the centre that is taken off, and the common scale."""

    metric: str
    centre: NDArray[Any]
    scale: float  # a power of two
    radius: float  # the common length, after scaling
    error: float  # the relative error of a product

    def ready(self, start: int, block: NDArray[Any], factor: Singles) -> Rows:
        """Rows of the base from a position on, written to `factor`; NaN, or no direction, is an error."""
        body = factor[:, :-1]
        with np.errstate(over="ignore", invalid="ignore"):
            self._centred(block, body)
            size: Singles = np.vecdot(body, body)
            wild = self._wild(size, block, start)
            self._sized(factor, size)
        factor[wild] = 0
        return Rows(factor, np.arange(start, start + len(block)), wild)

    def _centred(self, block: NDArray[Any], body: Singles) -> None:
        if self.scale == 1:
            np.subtract(block, self.centre, out=body, casting="same_kind")
        else:
            body[:] = np.subtract(block, self.centre, dtype=np.float64) * self.scale

    def _sized(self, factor: Singles, size: Singles) -> None:
        if self.metric == "l2":
            factor[:, -1] = size
        elif self.metric == "ip":
            np.sqrt(size + len(self.centre) * _LEAST, out=factor[:, -1])
        else:
            factor[:, -1] = 1
            with np.errstate(divide="ignore"):  # by those that were found wild
                factor[:, :-1] *= (1 / np.sqrt(size))[:, None]

    def _wild(self, size: Singles, block: NDArray[Any], start: int) -> Places:
        tame = size <= _WILD * max(1.0, self.radius) ** 2
        if self.metric == "cosine":
            tame &= size >= self.radius**2 / _WILD
            if block.dtype == np.float64:
                tame &= ~too_small(block)
        wild = np.flatnonzero(~tame)
        if len(wild):
            _refuse(wild, block, start, self.metric)
        return wild


def _refuse(wild: Places, block: NDArray[Any], start: int, metric: str) -> None:
    """Refuse rows that hold what is no number or has no direction."""
    rows = block[wild].astype(np.float64)
    reasons = [
        (~np.isfinite(rows).all(axis=1), "holds NaN or infinite numbers"),
        (np.abs(rows).max(axis=1) > LARGEST, f"holds numbers beyond {LARGEST:g}"),
    ]
    if metric == "cosine":
        reasons.append((~rows.any(axis=1), "is zero, and under cosine it has no direction"))
        reasons.append((too_small(rows), f"holds no number of {SMALLEST:g} or more: its direction is lost"))
    for bad, reason in reasons:
        if bad.any():
            at = start + int(wild[bad.argmax()])
            raise InputError(f"base: the vector at position {at} {reason}; leave it out, or make it anew")


@dataclass(frozen=True)
class Sides:
    """The queries' side of the product, and how wrong a score can be."""

    factor: Singles  # (d + 1) × queries
    fixed: Singles  # twice the error that all rows have
    slope: Singles  # twice the error for each unit of a row's size


def ruler(base: Vectors, queries: NDArray[Any], metric: str) -> Ruler:
    """Choose the centre and the scale by some rows of the base; what is chosen moves no result.

    They are medians, so that a few giants do not spoil them.
    """
    some = base.take(_spread(len(base), _SAMPLE)).astype(np.float64)
    some = some[(np.abs(some) < LARGEST).all(axis=1)]
    if not len(some):
        some = np.zeros((1, base.d))
    middle = np.zeros(base.d) if metric == "cosine" else np.median(some, axis=0)
    centre: NDArray[Any] = np.clip(middle, -1e30, 1e30)
    if base.dtype != np.float64:
        centre = centre.astype(np.float32)
    length = _common(some - centre, queries[:_SAMPLE].astype(np.float64) - centre)
    scale = 1.0 if 1 / _TAME <= length <= _TAME else 2.0 ** -round(math.log2(length))
    share = (base.d + 16) * 2.0**-24
    return Ruler(metric, centre, scale, length * scale, 1.02 * share / (1 - share))


def _spread(n: int, most: int) -> Places:
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _common(some: Doubles, others: Doubles) -> float:
    """A length that is common in the base, or at least among the queries."""
    for rows in (some, others):
        lengths = _lengths(rows)
        if lengths.any():
            return float(np.median(lengths[lengths > 0]))
    return 1.0


def sides(ruler: Ruler, queries: NDArray[Any]) -> Sides:
    """The queries' side of the product; queries are finite."""
    n, width = len(queries), queries.shape[1] + 1
    made = Sides(np.empty((width, n), np.float32), np.empty(n, np.float32), np.empty(n, np.float32))
    parts, step = _of_l2 if ruler.metric == "l2" else _of_ip, max(1, _PREPARED // width)
    for some in (slice(start, start + step) for start in range(0, n, step)):
        factor, fixed, slope, unit = parts(ruler, queries[some].astype(np.float64))
        made.factor[:, some] = (factor * unit[:, None]).T
        made.fixed[some] = _up(2 * fixed * unit + _TINY * width)
        made.slope[some] = _up(2 * slope * unit)
    return made


Parts = tuple[Doubles, Doubles, Doubles, Doubles]  # factor, fixed, slope, and the unit to tell them in


def _of_l2(ruler: Ruler, queries: Doubles) -> Parts:
    rows = (queries - ruler.centre) * ruler.scale
    length, c, radius = _lengths(rows), ruler.error, ruler.radius
    # 2c|q||x| ≤ c|q|(R + |x|²/R), and the error of |x|² itself
    fixed, slope = c * length * radius, c * (length / radius + 3)
    fixed += 2.0**-50 * len(ruler.centre) * length**2  # the double precision that decides rounds too
    made = np.column_stack([-2 * rows, 1 - slope])
    return made, fixed, slope, np.minimum(1.0, _power(length / (radius * _TAME)))


def _of_ip(ruler: Ruler, queries: Doubles) -> Parts:
    length = _lengths(queries)
    times = 2 if ruler.metric == "cosine" else 1  # rows are of unit length only up to rounding
    slope = times * ruler.error * length
    # the double precision that decides rounds too, and it sees the centre
    centre = float(_lengths(ruler.centre[None].astype(np.float64))[0])
    fixed = 2.0**-50 * len(ruler.centre) * length * centre * ruler.scale
    return np.column_stack([-queries, -slope]), fixed, slope, _power(length)


def _lengths(rows: Doubles) -> Doubles:
    most = np.maximum(np.abs(rows).max(axis=1, initial=0), 1e-300)
    scaled = rows / most[:, None]
    made: Doubles = most * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return made


def _power(length: Doubles) -> Doubles:
    """For each the power of two that brings it to about 1."""
    made = np.exp2(-np.round(np.log2(np.where(length > 0, length, 1.0))))
    return made.astype(np.float64)


def _up(values: Doubles) -> Singles:
    """Values in single precision, rounded up; what is too large is infinite: nothing is known."""
    with np.errstate(over="ignore"):
        made: Singles = np.nextafter(values.astype(np.float32), np.float32(np.inf))
    return made
