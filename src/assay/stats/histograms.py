"""Latencies in log-linear buckets: kept in little room, merged without loss, read with a bounded error.

Percentiles of parts cannot be averaged; histograms of parts add up to that of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Self

from assay.core.errors import FormatError
from assay.stats.intervals import Estimate, place, wilson

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
_BITS = 9  # of a value that are kept: a bucket is at most 1/256 of its values wide


def fewest(percentile: float) -> int:
    """How many samples a percentile needs: about ten beyond it.

    >>> fewest(99), fewest(99.9), fewest(50)
    (1000, 10000, 20)
    """
    return round(10 / (1 - percentile / 100))


class Histogram:
    """How many values (nanoseconds) fell into each bucket; each bucket is known by its least value.

    >>> both = Histogram.of([1_000_000] * 10) + Histogram.of([3_000_000] * 10)
    >>> both.n, round(both.percentile(50), 2), both.percentile(99)
    (20, 1.0, None)
    """

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts = dict(sorted((counts or {}).items()))
        self.n = sum(self.counts.values())

    @classmethod
    def of(cls, values: Iterable[int]) -> Self:
        """The histogram of some values."""
        return cls(Counter(_low(int(value)) for value in values))

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(Counter(self.counts) + Counter(other.counts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def percentile(self, percentile: float) -> float | None:
        """A percentile in milliseconds, off by 0.2 % at most; None where there are too few values."""
        if self.n < fewest(percentile):
            return None
        at = place(self.n, percentile / 100)
        passed = accumulate(self.counts.values())
        low = next(low for low, count in zip(self.counts, passed, strict=True) if count > at)
        return (low + (_width(low) - 1) / 2) / 1e6

    def percentiles(self) -> dict[str, float | None]:
        """All percentiles that are commonly asked for, by name."""
        return {f"p{p:g}_ms": self.percentile(p) for p in PERCENTILES}

    def share_within(self, ms: float, unanswered: int = 0) -> Estimate:
        """The share that took no longer (to 0.4 %); what was never answered is not within anything.

        >>> Histogram.of([2_000_000, 9_000_000]).share_within(5, unanswered=2).value
        0.25
        """
        limit = ms * 1e6 * (1 + 1e-12)  # the product may be rounded down
        within = sum(count for low, count in self.counts.items() if low <= limit)
        return wilson(within, self.n + unanswered)

    def to_dict(self) -> dict[str, int]:
        """The counts by the least nanoseconds of their bucket, as plain data."""
        return {str(low): count for low, count in self.counts.items()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """The histogram that was stored."""
        try:
            counts = {int(low): int(count) for low, count in found.items()}
        except (ValueError, TypeError):
            raise FormatError("expected a histogram as {nanoseconds: count}, found something else") from None
        return cls(counts)

    def __repr__(self) -> str:
        return f"Histogram(n={self.n:,})"


def _low(value: int) -> int:
    """The least value of the bucket of a value."""
    spare = max(0, value.bit_length() - _BITS)
    return value >> spare << spare


def _width(low: int) -> int:
    return 1 << max(0, low.bit_length() - _BITS)
