"""Families of indexes, and the ratio of the failure rates of two trials."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from assay.bench.studies.bootstrap_ratio import ratio_of_sums
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import Trial
from assay.indexes.index import FAMILIES as FAMILIES
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate, estimate_share
from assay.stats.paired_tests import mcnemar

# Prefixes of the words in a name. The index type is more specific than the database, so databases and
# wrappers come last, with the family of their default index. Puck is a partition: its clusters decide where
# to search, also in Tinker (the index of the paper), which walks a graph inside them.
_FAMILY_WORDS = (
    (
        "graph",
        "hnsw nsg diskann vamana hgraph nmslib usearch voyager ngt svs symphonyqg pynndescent vectorlite",
    ),
    ("partition", "ivf scann puck fastscan rabitq"),
    ("tree", "annoy"),
    ("exact", "flat brute exact sqlite"),
    ("graph", "adaptive chroma duckdb elastic milvus opensearch qdrant redis vespa weaviate zilliz zvec"),
)


def family_of_engine(engine: str) -> str:
    """Return the family of an engine by its name: graph, partition, tree, exact, or other.

    >>> [family_of_engine(name) for name in ("faiss.ivfflat", "HNSW", "milvus", "mine")]
    ['partition', 'graph', 'graph', 'other']
    """
    words = re.findall(r"[a-z0-9]+", engine.lower())
    for name, prefixes in _FAMILY_WORDS:
        if any(word.startswith(tuple(prefixes.split())) for word in words):
            return name
    return "other"


def family_of_trial(trial: Trial) -> str:
    """Return the declared family of a trial, else that of its index type, else that of its engine.

    >>> family_of_trial(Trial("a", "milvus", {"index_type": "IVF_FLAT"}))
    'partition'
    """
    if trial.family:
        return trial.family
    families = (family_of_engine(str(trial.build.get(name, ""))) for name in ("index_type", "inner"))
    return next((name for name in families if name != "other"), family_of_engine(trial.engine))


class FailureRatio(NamedTuple):
    """The ratio of the failure rates of two trials at one δ."""

    delta: float
    first: Estimate  # the failure rate: the share of queries whose recall is below δ
    second: Estimate
    ratio: Estimate  # if the second never fails, the value is None and low is a lower bound
    p: float | None = None  # of McNemar's test, if both trials have the same queries


def failure_ratio(first: ScoredTrial, second: ScoredTrial, delta: float, level: float = 0.95) -> FailureRatio:
    """Return the failure rate of one trial divided by that of the other.

    If both have the same queries, the interval is a paired bootstrap; if only distributions are known, it is
    that of two independent shares (Katz et al. 1978).
    """
    ratio = _paired_ratio(first, second, delta, level) or _independent_ratio(first, second, delta, level)
    return ratio._replace(ratio=_zero_failure_ratio(ratio.first, ratio.second, level) or ratio.ratio)


def _paired_ratio(first: ScoredTrial, second: ScoredTrial, delta: float, level: float) -> FailureRatio | None:
    if first.hits is None or second.hits is None or first.hits.counts.shape != second.hits.counts.shape:
        return None
    has_truth = (first.hits.out_of > 0) & (second.hits.out_of > 0)
    both = [(hits.reaches(delta)[has_truth] == 0).astype(int) for hits in (first.hits, second.hits)]
    rates = [estimate_share(int(fails.sum()), len(fails), level) for fails in both]
    p = float(mcnemar((both[0] - both[1]).astype(float)[:, None])[0])
    ratio = ratio_of_sums(both[0], both[1], level)
    return FailureRatio(delta, rates[0], rates[1], ratio, None if math.isnan(p) else p)


def _independent_ratio(first: ScoredTrial, second: ScoredTrial, delta: float, level: float) -> FailureRatio:
    first_rate, second_rate = first.failure(delta, level), second.failure(delta, level)
    return FailureRatio(delta, first_rate, second_rate, _katz_ratio(first_rate, second_rate, level))


def _katz_ratio(first: Estimate, second: Estimate, level: float) -> Estimate:
    """Return the ratio of two independent shares with a log-normal interval (Katz et al. 1978, method C)."""
    if first.value is None or not second.value:
        return Estimate(None, None, None, level, 0)
    ratio, n = first.value / second.value, min(first.n, second.n)
    if not (n and first.value):
        return Estimate(ratio, None, None, level, n)
    spread = sum((1 - rate.value) / (rate.value * rate.n) for rate in (first, second) if rate.value)
    half = normal_quantile(0.5 + level / 2) * math.sqrt(spread)
    return Estimate(ratio, ratio * math.exp(-half), ratio * math.exp(half), level, n)


def _zero_failure_ratio(first: Estimate, second: Estimate, level: float) -> Estimate | None:
    """Return bounds of the ratio if one trial never fails: its rate is below 3/n (rule of three), not 0."""
    if not (first.n and second.n) or (first.value and second.value):
        return None
    n = min(first.n, second.n)
    if first.value and first.low:
        return Estimate(None, first.low * second.n / 3, None, level, n)
    if second.value and second.low:
        return Estimate(0.0, 0.0, 3 / first.n / second.low, level, n)
    return Estimate(None, None, None, level, n)
