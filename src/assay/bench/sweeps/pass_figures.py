"""Figures of stored passes: hits, recall measures, throughput and latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.bench.sweeps.folder import Pass
from assay.bench.sweeps.progress import TrialFigures
from assay.bench.sweeps.stored_hits import StoredHits
from assay.bench.trials import DELTAS, PassSpread, robustness_name
from assay.indexes.exact.distances import Doubles
from assay.indexes.hits import HitRule, Hits
from assay.indexes.vector_data import VectorData
from assay.stats.capacity import SATURATION_SHARE
from assay.stats.percentiles import latency_percentiles

HitSource = HitRule | StoredHits


def score_pass(timed_pass: Pass, hit_source: HitSource) -> Hits:
    """Return the hits of each query in one pass; a query that was not sent is undefined."""
    n = len(hit_source.out_of)
    queries = timed_pass.queries[:n]
    if isinstance(hit_source, StoredHits):
        assert timed_pass.hits is not None
        return hit_source.select(queries, timed_pass.hits[:n])
    answers, was_asked = np.full((n, timed_pass.ids.shape[1]), -1, np.int64), np.zeros(n, np.bool_)
    answers[queries], was_asked[queries] = timed_pass.ids[:n], True
    hits = hit_source.hits(answers)
    return hits._replace(out_of=np.where(was_asked, hits.out_of, 0))


def query_measures(hits: Hits, deltas: Sequence[float] = DELTAS) -> dict[str, Doubles]:
    """Return the measures of each query: recall, whether it reaches each δ, whether it has no hit."""
    measures = {f"R@{hits.k}": hits.recall}
    measures |= {robustness_name(delta, hits.k): hits.reaches(delta) for delta in deltas}
    zero_hits = (hits.counts == 0).astype(np.float64)
    return measures | {f"ZeroHit@{hits.k}": np.where(hits.out_of > 0, zero_hits, np.nan)}


def timing_figures(passes: Sequence[Pass], offered_rate: float | None = None) -> dict[str, Any]:
    """Return throughput, latency percentiles, errors and capacity of passes, as fields of a trial."""
    figures: dict[str, Any] = {"errors": sum(timed_pass.errors for timed_pass in passes)}
    capacities = [timed_pass.extra["capacity"] for timed_pass in passes if "capacity" in timed_pass.extra]
    if None in capacities:  # one pass met no rate: its stored answers are from a closed loop
        return figures
    figures["capacity"] = spread(capacities)
    figures["qps"] = spread([_rate(timed_pass, offered_rate, timed_pass.errors) for timed_pass in passes])
    latencies = np.concatenate([timed_pass.latencies for timed_pass in passes])
    if len(latencies):
        answered_latencies = latencies[latencies >= 0]
        figures |= {"latency": latency_percentiles(answered_latencies), "samples": len(answered_latencies)}
    if offered_rate is not None:  # failed requests count as finished
        rates = [_rate(timed_pass, offered_rate) for timed_pass in passes]
        is_saturated = bool(np.median(rates) < SATURATION_SHARE * offered_rate)
        figures |= {"offered": offered_rate, "saturated": is_saturated}
    return figures


def _rate(timed_pass: Pass, offered_rate: float | None, failed_requests: int = 0) -> float:
    """Return requests per second, over at least the duration of the schedule if a rate was offered."""
    scheduled_seconds = len(timed_pass.queries) / offered_rate if offered_rate else 0.0
    return (len(timed_pass.queries) - failed_requests) / max(timed_pass.seconds, scheduled_seconds)


def progress_figures(passes: Sequence[Pass], data: VectorData) -> TrialFigures:
    """Return recall, queries per second and median latency of passes by their stored hits."""
    if not passes:
        return TrialFigures()
    figures: Mapping[str, Any] = timing_figures(passes)
    n = len(data.queries)
    queries, hits = passes[0].queries[:n], passes[0].hits  # each query once
    has_truth = (data.truth.positions[queries, : data.k] >= 0).any(axis=1)
    is_known = hits is not None and bool(has_truth.any())
    recall = float(np.mean(hits[:n][has_truth] / data.k)) if hits is not None and is_known else None
    qps = figures["qps"].median if "qps" in figures else None
    return TrialFigures(recall, qps, figures.get("latency", {}).get("p50_ms"))


def spread(values: Sequence[float]) -> PassSpread | None:
    """Return the median, minimum and maximum over repetitions; None if there are none.

    >>> spread([3.0, 1.0, 2.0])
    PassSpread(median=2.0, low=1.0, high=3.0, repetitions=3)
    """
    if not values:
        return None
    return PassSpread(float(np.median(values)), float(min(values)), float(max(values)), len(values))
