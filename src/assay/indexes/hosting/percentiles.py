"""Percentiles of latencies, withheld where there are too few to know them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.stats.histograms import PERCENTILES, fewest
from assay.stats.intervals import place

__all__ = ["PERCENTILES", "fewest", "latency", "percentile_ms"]


def percentile_ms(latencies: NDArray[np.int64], percentile: float) -> float | None:
    """A percentile of latencies (nanoseconds) in milliseconds; None where there are too few."""
    if len(latencies) < fewest(percentile):
        return None
    at = place(len(latencies), percentile / 100)
    return float(np.partition(latencies, at)[at]) / 1e6


def latency(latencies: NDArray[np.int64]) -> dict[str, float | None]:
    """All percentiles, by name; of all repetitions together, since percentiles cannot be averaged."""
    return {f"p{p:g}_ms": percentile_ms(latencies, p) for p in PERCENTILES}
