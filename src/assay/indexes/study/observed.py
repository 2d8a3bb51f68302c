"""Trials as they are studied: each with the recall of its queries, as far as that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.hits import Hits
from assay.indexes.recall import mean_recall, unsure
from assay.indexes.sweeps.data import Data
from assay.indexes.trials import Trial, robustness_name
from assay.measures.formulas import reaches
from assay.stats.intervals import Estimate, estimate, wilson


class Distribution(NamedTuple):
    """How many queries have which recall: the number of those with 0, 1, … K of their K nearest."""

    counts: NDArray[np.int64]

    @property
    def k(self) -> int:
        """K."""
        return len(self.counts) - 1

    @property
    def n(self) -> int:
        """The queries."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """The mean recall.

        >>> Distribution(np.array([1, 0, 3])).mean
        0.75
        """
        return float(self.counts @ np.arange(len(self.counts))) / (self.k * self.n) if self.n else None

    def recall(self, level: float = 0.95) -> Estimate:
        """The mean recall with its interval: that of queries with these hits, whoever counted them."""
        return mean_recall(np.repeat(np.arange(len(self.counts)) / self.k, self.counts), level)

    def robustness(self, delta: float, level: float = 0.95) -> Estimate:
        """The share of queries whose recall reaches δ."""
        hits = np.arange(len(self.counts), dtype=np.float64)
        reached = reaches(hits, np.full(len(hits), float(self.k)), delta) > 0
        return wilson(int(self.counts[reached].sum()), self.n, level)

    def curve(self, level: float = 0.95) -> list[tuple[float, Estimate]]:
        """Robustness at every δ that recall can have: 1/K, 2/K, … 1."""
        deltas = [j / self.k for j in range(1, self.k + 1)]
        return [(delta, self.robustness(delta, level)) for delta in deltas]

    def percentile(self, share: float) -> float | None:
        """The recall that at most this share of queries stay below.

        >>> [Distribution(np.array([bad, 0, 100 - bad])).percentile(0.01) for bad in (1, 2)]
        [1.0, 0.0]
        """
        if not self.n:
            return None
        below = np.cumsum(self.counts)
        return min(int(np.searchsorted(below, share * self.n + 1e-9, side="right")), self.k) / self.k


@dataclass(frozen=True)
class Observed:
    """A trial, and what is known of its queries."""

    trial: Trial
    hits: Hits | None = None  # None: only figures are known
    returned: Positions | None = None  # by the number of the query
    published: Distribution | None = field(default=None)  # where others state it
    fitted: bool = False  # its parameters were found by its answers to these very queries

    @cached_property
    def distribution(self) -> Distribution | None:
        """How many queries have which recall; None where that is not known."""
        if self.hits is None:
            return self.published
        known = self.hits.out_of > 0
        shares = self.hits.counts[known] * self.hits.k // self.hits.out_of[known]
        return Distribution(np.bincount(shares, minlength=self.hits.k + 1))

    def among(self, rows: NDArray[np.int64]) -> Observed:
        """The trial with these of its queries alone; as it is where its queries are not known one by one."""
        if self.hits is None:
            return self
        some = self.hits._replace(counts=self.hits.counts[rows], out_of=self.hits.out_of[rows])
        return Observed(replace(self.trial, measures={}), some, fitted=self.fitted)

    @cached_property
    def recall(self) -> Estimate:
        """The mean recall, as far as it is known: measured, of the distribution, or as others state it."""
        if self.trial.recall is not None:
            return unsure(self.trial.recall)
        if self.hits is not None:
            return mean_recall(self.hits.recall)
        if self.distribution is not None:
            return self.distribution.recall()
        return Estimate(self.trial.reported.get("recall"), None, None, 0.95, self._asked)

    def robustness(self, delta: float, level: float = 0.95) -> Estimate:
        """The share of queries whose recall reaches δ, as far as it is known."""
        if self.hits is not None:
            return estimate(self.hits.reaching(delta), "share", level)
        if self.distribution is not None:
            return self.distribution.robustness(delta, level)
        name = self._stated_name(delta)
        if name in self.trial.measures:
            return self.trial.measures[name]
        stated = self.trial.reported.get(name)
        if stated is None or not self._asked:
            return Estimate(stated, None, None, level, self._asked)
        return wilson(stated * self._asked, self._asked, level)

    def _stated_name(self, delta: float) -> str:
        """The name that robustness at δ is stated by: what reaches 0.25 of 10 reaches 0.3 of them."""
        exact, k = robustness_name(delta, self.trial.k), self.trial.k
        if exact in self.trial.measures or exact in self.trial.reported:
            return exact
        return robustness_name(math.ceil(delta * k - 1e-9) / k, k)

    @property
    def _asked(self) -> int:
        """How many queries others state that they asked."""
        return int(self.trial.reported.get("queries", 0))

    def failure(self, delta: float, level: float = 0.95) -> Estimate:
        """The share of queries whose recall does not reach δ."""
        reached = self.robustness(delta, level)
        if reached.value is None or not reached.n:
            return reached._replace(value=None if reached.value is None else 1 - reached.value)
        return wilson(round((1 - reached.value) * reached.n), reached.n, level)


@dataclass(frozen=True)
class Study:
    """Trials of the same data."""

    observed: tuple[Observed, ...]
    about: Mapping[str, Any]  # as a sweep tells it: data, machine, options; empty where nothing is known
    data: Data | None  # None: only figures are known
    source: str  # the folder or the file they were read from

    @property
    def k(self) -> int:
        """K of all trials."""
        found = {one.trial.k for one in self.observed}
        if len(found) > 1:
            several = " and ".join(map(str, sorted(found)))
            raise InputError(f"{self.source}: trials are scored at K = {several}: choose one with -k")
        return found.pop()


def one_way(trials: Sequence[Trial], mode: str | None) -> str:
    """The way of asking whose trials are looked at: the one that is named, or `single` where there is any.

    >>> one_way([Trial("a", "flat", mode="batch")], None)
    'batch'
    """
    there = list(dict.fromkeys(trial.mode for trial in trials))
    if mode is not None and mode not in there:
        raise InputError(f"no trial was asked by {mode}; there are trials of {', '.join(there)}")
    return mode or ("single" if "single" in there else there[0])
