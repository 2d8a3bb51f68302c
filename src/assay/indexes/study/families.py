"""Kinds of indexes, and how many times as often one fails as another."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from assay.indexes.study.observed import Observed
from assay.indexes.study.ratios import ratio_of_sums
from assay.indexes.trials import Trial
from assay.stats.intervals import Estimate, normal_quantile, wilson
from assay.stats.paired import mcnemar

FAMILIES = ("graph", "partition", "tree", "exact", "other")
# What the words of a name begin with. An index says more than the database it is in, so databases (and what
# wraps an index) are last, with the family of what they build where nothing is said. Puck is a partition:
# its clusters say where is looked, also in Tinker (the index of the paper), which walks a graph in them.
_WORDS = (
    (
        "graph",
        "hnsw nsg diskann vamana hgraph nmslib usearch voyager ngt svs symphonyqg pynndescent vectorlite",
    ),
    ("partition", "ivf scann puck fastscan rabitq"),
    ("tree", "annoy"),
    ("exact", "flat brute exact sqlite"),
    ("graph", "adaptive chroma duckdb elastic milvus opensearch qdrant redis vespa weaviate zilliz zvec"),
)


def family(engine: str) -> str:
    """The kind of index that an engine is, by its name: graph, partition, tree, exact, or other.

    >>> family("faiss.ivfflat"), family("HNSW"), family("milvus"), family("mine")
    ('partition', 'graph', 'graph', 'other')
    """
    words = re.findall(r"[a-z0-9]+", engine.lower())
    for name, beginnings in _WORDS:
        if any(word.startswith(tuple(beginnings.split())) for word in words):
            return name
    return "other"


def family_of(trial: Trial) -> str:
    """The kind of index of a trial: of what the engine builds, where it can build several, else by its name.

    >>> family_of(Trial("a", "milvus", {"index_type": "IVF_FLAT"}))
    'partition'
    """
    named = (family(str(trial.build.get(name, ""))) for name in ("index_type", "inner"))
    return next((found for found in named if found != "other"), family(trial.engine))


class Ratio(NamedTuple):
    """How many times as often one fails as the other, at one δ."""

    delta: float
    first: Estimate  # its failure rate: the share of queries whose recall is below δ
    second: Estimate
    ratio: Estimate  # its value is None where the second never fails, and its low end then the least it is
    p: float | None = None  # of McNemar's test, where both were asked the same queries


def failure_ratio(first: Observed, second: Observed, delta: float, level: float = 0.95) -> Ratio:
    """The failure rate of one over that of the other.

    Where both were asked the same queries, these are drawn again together (paired bootstrap); where only
    distributions are known, the interval is that of two independent shares (Katz et al. 1978).
    """
    made = _paired(first, second, delta, level) or _apart(first, second, delta, level)
    return made._replace(ratio=_without_failures(made.first, made.second, level) or made.ratio)


def _paired(first: Observed, second: Observed, delta: float, level: float) -> Ratio | None:
    if first.hits is None or second.hits is None or first.hits.counts.shape != second.hits.counts.shape:
        return None
    known = (first.hits.out_of > 0) & (second.hits.out_of > 0)
    one, other = ((hits.reaching(delta)[known] == 0).astype(int) for hits in (first.hits, second.hits))
    rate, against = (wilson(int(failed.sum()), len(failed), level) for failed in (one, other))
    p = float(mcnemar((one - other).astype(float)[:, None])[0])
    return Ratio(delta, rate, against, ratio_of_sums(one, other, level), None if math.isnan(p) else p)


def _apart(first: Observed, second: Observed, delta: float, level: float) -> Ratio:
    one, other = first.failure(delta, level), second.failure(delta, level)
    return Ratio(delta, one, other, _katz(one, other, level))


def _katz(one: Estimate, other: Estimate, level: float) -> Estimate:
    """The ratio of two independent shares, with the log-normal interval (Katz et al. 1978, method C)."""
    if one.value is None or not other.value:
        return Estimate(None, None, None, level, 0)
    ratio, n = one.value / other.value, min(one.n, other.n)
    if not (n and one.value):
        return Estimate(ratio, None, None, level, n)
    spread = sum((1 - found.value) / (found.value * found.n) for found in (one, other) if found.value)
    half = normal_quantile(0.5 + level / 2) * math.sqrt(spread)
    return Estimate(ratio, ratio * math.exp(-half), ratio * math.exp(half), level, n)


def _without_failures(one: Estimate, other: Estimate, level: float) -> Estimate | None:
    """What is known of the ratio where one of both never fails: its rate is below 3/n, not known to be 0."""
    if not (one.n and other.n) or (one.value and other.value):
        return None
    n = min(one.n, other.n)
    if one.value and one.low:
        return Estimate(None, one.low * other.n / 3, None, level, n)
    if other.value and other.low:
        return Estimate(0.0, 0.0, 3 / one.n / other.low, level, n)
    return Estimate(None, None, None, level, n)
