"""Latencies in log-linear buckets: small, mergeable without loss, and exact within a known bound.

Percentiles of parts cannot be averaged; histograms of parts can be added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Self

from assay.core.errors import FormatError
from assay.stats.intervals import Estimate, estimate_share, quantile_position

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
_BITS = 9  # the leading bits of a value that are kept: a bucket is at most 1/256 of its values wide


def min_samples(percentile: float) -> int:
    """The number of samples that a percentile needs: about ten beyond it.

    >>> min_samples(99), min_samples(99.9), min_samples(50)
    (1000, 10000, 20)
    """
    return round(10 / (1 - percentile / 100))


class Histogram:
    """The number of values (nanoseconds) in each bucket; a bucket is identified by its least value.

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
        return cls(Counter(_bucket_start(int(value)) for value in values))

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(Counter(self.counts) + Counter(other.counts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def percentile(self, percentile: float) -> float | None:
        """A percentile in milliseconds, exact to 0.2 %; None if there are too few values."""
        if self.n < min_samples(percentile):
            return None
        position = quantile_position(self.n, percentile / 100)
        cumulative_counts = accumulate(self.counts.values())
        low = next(low for low, count in zip(self.counts, cumulative_counts, strict=True) if count > position)
        return (low + (_bucket_width(low) - 1) / 2) / 1e6

    def percentiles(self) -> dict[str, float | None]:
        """The common percentiles, by name."""
        return {f"p{p:g}_ms": self.percentile(p) for p in PERCENTILES}

    def share_within(self, ms: float, unanswered: int = 0) -> Estimate:
        """The share of requests that took at most this long (exact to 0.4 %); unanswered ones did not.

        >>> Histogram.of([2_000_000, 9_000_000]).share_within(5, unanswered=2).value
        0.25
        """
        limit = ms * 1e6 * (1 + 1e-12)  # the product may be rounded down
        within = sum(count for low, count in self.counts.items() if low <= limit)
        return estimate_share(within, self.n + unanswered)

    def to_dict(self) -> dict[str, int]:
        """The counts by the least value of their bucket in nanoseconds, as plain data."""
        return {str(low): count for low, count in self.counts.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The histogram of stored counts."""
        try:
            counts = {int(low): int(count) for low, count in data.items()}
        except (ValueError, TypeError):
            raise FormatError("expected a histogram as {nanoseconds: count}, found something else") from None
        return cls(counts)

    def __repr__(self) -> str:
        return f"Histogram(n={self.n:,})"


def _bucket_start(value: int) -> int:
    """The least value of the bucket of a value."""
    spare = max(0, value.bit_length() - _BITS)
    return value >> spare << spare


def _bucket_width(low: int) -> int:
    return 1 << max(0, low.bit_length() - _BITS)
