"""How small a difference so many queries can show, and what the set is therefore good for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import INFO, WARNING, Finding, count_of
from assay.stats.power import assess_size

_MEASURE = "nDCG"
_TYPICAL_DEVIATION = 0.25  # of the difference of nDCG@10 of one query, if there are no two runs to measure it
_LEAST_QUERIES = 25  # Buckley and Voorhees (2000): at least 25 queries, better 50
_START = (50, 10)  # queries and labels of each, to start with, by search guides
_GATE = 1000  # queries to gate releases, by search guides


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Say what a set of this size can be used for."""
    n = len(data.qrels.query_ids)
    per_query = float(np.median(data.qrels.groups.lengths))
    deviation, source = _deviation(data)
    size = assess_size(n, deviation, data.margin)
    smallest = size.detectable_difference
    shown = "no difference" if smallest is None or smallest > 1 else f"differences of {smallest:.3f} or more"
    is_small = n < _LEAST_QUERIES
    yield Finding(
        "benchmark_size",
        WARNING if is_small else INFO,
        n,
        f"{count_of(n, 'judged query', 'judged queries')} with {per_query:g} labels each (median) show "
        f"{shown} of {_MEASURE}@{data.k} with 80 % power ({source}): {_verdict(n, per_query)}",
        _fix(n, per_query, size.queries_needed, data.margin),
        [size.to_dict() | {"labels_per_query": per_query, "deviation": deviation}],
    )


def _deviation(data: EvaluationSet) -> tuple[float, str]:
    """Return the standard deviation of the differences between two runs, and where it is from."""
    scores = [evaluation.scores[f"{_MEASURE}@{data.k}"] for evaluation in data.evaluations]
    pairs = [second - first for first, second in combinations(scores, 2)]
    deviations = [float(np.nanstd(pair, ddof=1)) for pair in pairs if np.isfinite(pair).sum() > 1]
    if not deviations or not max(deviations):
        return _TYPICAL_DEVIATION, f"if differences of queries deviate by {_TYPICAL_DEVIATION}, as is typical"
    middle = float(np.median(deviations))
    return middle, f"the differences of the runs deviate by {middle:.3f}"


def _verdict(n: int, per_query: float) -> str:
    if n < _LEAST_QUERIES:
        return f"below the {_LEAST_QUERIES} queries that any conclusion needs"
    if n < _START[0]:
        return f"below the {_START[0]} queries that guides name to start with"
    if per_query < _START[1]:
        return f"enough queries to start with, with fewer than the {_START[1]} labels that guides name"
    if n < _GATE:
        return f"enough to start with, below the {_GATE:,} queries that guides name to gate releases"
    return "enough to gate releases, by the number that guides name"


def _fix(n: int, per_query: float, needed: int | None, margin: float) -> str:
    parts = []
    if needed is not None and needed > n:
        parts.append(f"to show a difference of {margin:g}, judge {needed:,} queries in all")
    if per_query < _START[1]:
        parts.append(f"judge at least {_START[1]} documents of each query (`assay dataset pool`)")
    return "; ".join(parts) or "none: the set shows the difference that matters"
