"""Bounds of distances from one matrix product in single precision.

A score orders the base for one query as the distance does: |x|² − 2⟨q, x⟩ for l2, −⟨q, x⟩ for ip and
cosine. A common center is subtracted from the vectors, which shifts all scores of a query by the same amount;
under cosine they have unit length. A sum of d products in floating point, in any order, has an error of at
most d·u/(1 − d·u)·|q|·|x|, with u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, eq. 3.5).
The error is written as `fixed + slope·size`, where size is an additional column of the vector (|x|² for
l2, |x| for ip, 1 for cosine), so that the product itself is the lower bound and the error of a row does not
depend on the length of other rows. Rows outside the bounds are certainly too far; the others are measured in
double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vector_faults import LARGEST_NUMBER, SMALLEST_NUMBER, are_too_small
from assay.core.vectors import Vectors

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

_SAMPLE_ROWS = 256  # from which the center and the common length are computed
_PREPARED_NUMBERS = 1 << 15  # of queries prepared at once, because allocating more memory takes longer
_UNSCALED_FACTOR = 2.0**20  # lengths within this factor of 1 are not scaled
_REPRESENTABLE_FACTOR = 2.0**60  # of the common squared length: beyond it single precision overflows
_UNDERFLOW = 2.0**-120  # loss if a product is too small for single precision
_SQUARE_UNDERFLOW = np.float32(2.0**-148)  # exceeds the loss if a square is too small for single precision


class ScoreRows(NamedTuple):
    """Rows of the base, prepared for the product."""

    factor: Singles  # n × (d + 1), the size in the last column
    positions: Places
    unbounded: Places  # rows without bounds, which may be near

    def part(self, start: int, stop: int) -> ScoreRows:
        """Return the rows from start up to stop."""
        if not len(self.unbounded):
            return ScoreRows(self.factor[start:stop], self.positions[start:stop], self.unbounded)
        first, last = np.searchsorted(self.unbounded, (start, stop))
        return ScoreRows(
            self.factor[start:stop], self.positions[start:stop], self.unbounded[first:last] - start
        )


@dataclass(frozen=True)
class ScoreScale:
    """The common center and scale by which rows of the base are prepared."""

    metric: str
    center: NDArray[Any]
    scale: float  # a power of two
    radius: float  # common length after scaling
    error: float  # relative error of a product

    def prepare(self, start: int, block: NDArray[Any], factor: Singles) -> ScoreRows:
        """Prepare a block of rows from `start` on, in `factor`; NaN or a missing direction is an error."""
        body = factor[:, :-1]
        with np.errstate(over="ignore", invalid="ignore"):
            self._subtract_center(block, body)
            size: Singles = np.vecdot(body, body)
            unbounded = self._unbounded_rows(size, block, start)
            self._set_sizes(factor, size)
        factor[unbounded] = 0
        return ScoreRows(factor, np.arange(start, start + len(block)), unbounded)

    def _subtract_center(self, block: NDArray[Any], body: Singles) -> None:
        if self.scale == 1:
            np.subtract(block, self.center, out=body, casting="same_kind")
        else:
            body[:] = np.subtract(block, self.center, dtype=np.float64) * self.scale

    def _set_sizes(self, factor: Singles, size: Singles) -> None:
        if self.metric == "l2":
            factor[:, -1] = size
        elif self.metric == "ip":
            np.sqrt(size + len(self.center) * _SQUARE_UNDERFLOW, out=factor[:, -1])
        else:
            factor[:, -1] = 1
            with np.errstate(divide="ignore"):  # for unbounded rows
                factor[:, :-1] *= (1 / np.sqrt(size))[:, None]

    def _unbounded_rows(self, size: Singles, block: NDArray[Any], start: int) -> Places:
        is_bounded = size <= _REPRESENTABLE_FACTOR * max(1.0, self.radius) ** 2
        if self.metric == "cosine":
            is_bounded &= size >= self.radius**2 / _REPRESENTABLE_FACTOR
            if block.dtype == np.float64:
                is_bounded &= ~are_too_small(block)
        unbounded = np.flatnonzero(~is_bounded)
        if len(unbounded):
            _refuse_faulty(unbounded, block, start, self.metric)
        return unbounded


def _refuse_faulty(unbounded: Places, block: NDArray[Any], start: int, metric: str) -> None:
    """Raise an error if rows contain NaN or infinite numbers, or have no direction under cosine."""
    rows = block[unbounded].astype(np.float64)
    reasons = [
        (~np.isfinite(rows).all(axis=1), "contains NaN or infinite numbers"),
        (np.abs(rows).max(axis=1) > LARGEST_NUMBER, f"contains numbers beyond {LARGEST_NUMBER:g}"),
    ]
    if metric == "cosine":
        reasons.append((~rows.any(axis=1), "is zero, which has no direction under cosine"))
        reasons.append(
            (
                are_too_small(rows),
                f"contains no number of {SMALLEST_NUMBER:g} or more, so its direction is lost",
            )
        )
    for is_faulty, reason in reasons:
        if is_faulty.any():
            at = start + int(unbounded[is_faulty.argmax()])
            raise InputError(f"base: the vector at position {at} {reason}; remove or recompute it")


@dataclass(frozen=True)
class QueryFactors:
    """The factors of queries in the product, with the error bounds of their scores."""

    factor: Singles  # (d + 1) × queries
    fixed: Singles  # twice the error that is independent of the row
    slope: Singles  # twice the error per unit of the size of a row


def choose_scale(base: Vectors, queries: NDArray[Any], metric: str) -> ScoreScale:
    """Choose the center and the scale from some rows of the base; the choice affects speed only.

    They are medians, so that a few very long vectors do not dominate them.
    """
    sample = base.take(_spread_positions(len(base), _SAMPLE_ROWS)).astype(np.float64)
    sample = sample[(np.abs(sample) < LARGEST_NUMBER).all(axis=1)]
    if not len(sample):
        sample = np.zeros((1, base.d))
    median = np.zeros(base.d) if metric == "cosine" else np.median(sample, axis=0)
    centre: NDArray[Any] = np.clip(median, -1e30, 1e30)
    if base.dtype != np.float64:
        centre = centre.astype(np.float32)
    length = _common_length(sample - centre, queries[:_SAMPLE_ROWS].astype(np.float64) - centre)
    scale = 1.0 if 1 / _UNSCALED_FACTOR <= length <= _UNSCALED_FACTOR else 2.0 ** -round(math.log2(length))
    rounding = (base.d + 16) * 2.0**-24
    return ScoreScale(metric, centre, scale, length * scale, 1.02 * rounding / (1 - rounding))


def _spread_positions(n: int, count: int) -> Places:
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.int64))


def _common_length(rows_of_base: Doubles, query_rows: Doubles) -> float:
    """Return the median length of rows of the base, or of queries if all those rows are zero."""
    for rows in (rows_of_base, query_rows):
        lengths = _lengths(rows)
        if lengths.any():
            return float(np.median(lengths[lengths > 0]))
    return 1.0


def query_factors(scale: ScoreScale, queries: NDArray[Any]) -> QueryFactors:
    """Return the factors of the queries, which must be finite."""
    n, width = len(queries), queries.shape[1] + 1
    result = QueryFactors(np.empty((width, n), np.float32), np.empty(n, np.float32), np.empty(n, np.float32))
    parts, step = _l2_factors if scale.metric == "l2" else _ip_factors, max(1, _PREPARED_NUMBERS // width)
    for part in (slice(start, start + step) for start in range(0, n, step)):
        factor, fixed, slope, unit = parts(scale, queries[part].astype(np.float64))
        result.factor[:, part] = (factor * unit[:, None]).T
        result.fixed[part] = _round_up(2 * fixed * unit + _UNDERFLOW * width)
        result.slope[part] = _round_up(2 * slope * unit)
    return result


QueryParts = tuple[Doubles, Doubles, Doubles, Doubles]  # factor, fixed, slope, and the unit to scale them by


def _l2_factors(scale: ScoreScale, queries: Doubles) -> QueryParts:
    rows = (queries - scale.center) * scale.scale
    length, c, radius = _lengths(rows), scale.error, scale.radius
    # 2c|q||x| ≤ c|q|(R + |x|²/R), and the error of |x|² itself
    fixed, slope = c * length * radius, c * (length / radius + 3)
    fixed += 2.0**-50 * len(scale.center) * length**2  # double precision, which decides, rounds too
    factor = np.column_stack([-2 * rows, 1 - slope])
    return factor, fixed, slope, np.minimum(1.0, _inverse_power_of_two(length / (radius * _UNSCALED_FACTOR)))


def _ip_factors(scale: ScoreScale, queries: Doubles) -> QueryParts:
    length = _lengths(queries)
    times = 2 if scale.metric == "cosine" else 1  # rows have unit length only up to rounding
    slope = times * scale.error * length
    # double precision, which decides, rounds too, and it includes the center
    centre = float(_lengths(scale.center[None].astype(np.float64))[0])
    fixed = 2.0**-50 * len(scale.center) * length * centre * scale.scale
    return np.column_stack([-queries, -slope]), fixed, slope, _inverse_power_of_two(length)


def _lengths(rows: Doubles) -> Doubles:
    largest = np.maximum(np.abs(rows).max(axis=1, initial=0), 1e-300)
    scaled = rows / largest[:, None]
    lengths: Doubles = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return lengths


def _inverse_power_of_two(length: Doubles) -> Doubles:
    """Return for each length the power of two that scales it to about 1."""
    powers = np.exp2(-np.round(np.log2(np.where(length > 0, length, 1.0))))
    return powers.astype(np.float64)


def _round_up(values: Doubles) -> Singles:
    """Return values in single precision, rounded up; values that are too large become infinite."""
    with np.errstate(over="ignore"):
        rounded_values: Singles = np.nextafter(values.astype(np.float32), np.float32(np.inf))
    return rounded_values
