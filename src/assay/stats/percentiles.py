"""Percentiles of latencies, withheld if there are too few samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.stats.histograms import PERCENTILES, min_samples
from assay.stats.intervals import quantile_position

__all__ = ["PERCENTILES", "latency_percentiles", "min_samples", "percentile_ms"]


def percentile_ms(latencies: NDArray[np.int64], percentile: float) -> float | None:
    """Return a percentile of latencies (nanoseconds) in milliseconds; None if there are too few."""
    if len(latencies) < min_samples(percentile):
        return None
    index = quantile_position(len(latencies), percentile / 100)
    return float(np.partition(latencies, index)[index]) / 1e6


def latency_percentiles(latencies: NDArray[np.int64]) -> dict[str, float | None]:
    """Return all percentiles of latencies by name; percentiles of parts cannot be averaged."""
    return {f"p{p:g}_ms": percentile_ms(latencies, p) for p in PERCENTILES}
