"""Percentiles of latencies, withheld where there are too few to know them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)


def fewest(percentile: float) -> int:
    """How many samples a percentile needs: about ten beyond it.

    >>> fewest(99), fewest(99.9), fewest(50)
    (1000, 10000, 20)
    """
    return round(10 / (1 - percentile / 100))


def percentile_ms(latencies: NDArray[np.int64], percentile: float) -> float | None:
    """A percentile of latencies (nanoseconds) in milliseconds; None where there are too few."""
    if len(latencies) < fewest(percentile):
        return None
    return float(np.percentile(latencies, percentile, method="inverted_cdf")) / 1e6


def latency(latencies: NDArray[np.int64]) -> dict[str, float | None]:
    """All percentiles, by name; of all repetitions together, since percentiles cannot be averaged."""
    return {f"p{p:g}_ms": percentile_ms(latencies, p) for p in PERCENTILES}
