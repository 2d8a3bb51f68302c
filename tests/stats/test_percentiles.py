"""Percentiles of latencies."""

import numpy as np

from assay.stats.percentiles import latency_percentiles, min_samples, percentile_ms


def test_a_percentile_has_its_rank_at_any_number_of_samples() -> None:
    for n in (10_000, 20_000, 100_000):
        latencies = np.arange(1, n + 1)[::-1] * 1_000_000
        assert percentile_ms(latencies, 99.9) == n * 999 // 1000


def test_percentiles_are_withheld_where_samples_are_few() -> None:
    assert (min_samples(99), min_samples(99.9)) == (1000, 10_000)
    samples = np.arange(999, dtype=np.int64) * 1_000_000
    assert latency_percentiles(samples)["p99_ms"] is None
    assert percentile_ms(np.arange(1, 1001) * 1_000_000, 99) == 990.0
    assert percentile_ms(np.empty(0, np.int64), 50) is None
