"""Trials as they are studied: each with the recall of its queries, as far as that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.data import Data
from assay.indexes.hits import Hits
from assay.indexes.trials import Trial, robustness_name
from assay.measures.formulas import reaches
from assay.stats.intervals import Estimate, estimate, normal_quantile, wilson


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
        """The mean recall with the interval of a mean of many values, which it is where others publish it."""
        if self.mean is None or self.n < 2:
            return Estimate(self.mean, None, None, level, self.n)
        apart = (np.arange(len(self.counts)) / self.k - self.mean) ** 2
        half = normal_quantile(0.5 + level / 2) * float(self.counts @ apart / (self.n - 1) / self.n) ** 0.5
        return Estimate(self.mean, max(0.0, self.mean - half), min(1.0, self.mean + half), level, self.n)

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

    @cached_property
    def distribution(self) -> Distribution | None:
        """How many queries have which recall; None where that is not known."""
        if self.hits is None:
            return self.published
        known = self.hits.out_of > 0
        shares = self.hits.counts[known] * self.hits.k // self.hits.out_of[known]
        return Distribution(np.bincount(shares, minlength=self.hits.k + 1))

    @property
    def recall(self) -> Estimate:
        """The mean recall, as far as it is known: measured, of the distribution, or as others state it."""
        if self.trial.recall is not None:
            return self.trial.recall
        if self.distribution is not None:
            return self.distribution.recall()
        return Estimate(self.trial.reported.get("recall"), None, None, 0.95, self._asked)

    def robustness(self, delta: float, level: float = 0.95) -> Estimate:
        """The share of queries whose recall reaches δ, as far as it is known."""
        if self.hits is not None:
            return estimate(self.hits.reaching(delta), "share", level)
        if self.distribution is not None:
            return self.distribution.robustness(delta, level)
        stated = self.trial.reported.get(robustness_name(delta, self.trial.k))
        if self.trial.robustness(delta) or stated is None or not self._asked:
            return self.trial.robustness(delta) or Estimate(stated, None, None, level, self._asked)
        return wilson(stated * self._asked, self._asked, level)

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
