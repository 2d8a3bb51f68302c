"""Trials with the recall of their queries, as far as it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.bench.studies.distribution import RecallDistribution
from assay.bench.trials import Trial, robustness_name
from assay.core.vectors import Positions
from assay.indexes.hits import Hits
from assay.indexes.recall import mean_recall, widen_point_interval
from assay.stats.intervals import Estimate, estimate, estimate_share


@dataclass(frozen=True)
class ScoredTrial:
    """A trial with the known results of its queries."""

    trial: Trial
    hits: Hits | None = None  # None: only figures are known
    returned_ids: Positions | None = None  # returned ids by query number
    published_distribution: RecallDistribution | None = field(default=None)  # as reported by another harness
    is_fitted: bool = False  # its parameters were chosen by its answers to these queries

    @cached_property
    def distribution(self) -> RecallDistribution | None:
        """The distribution of recall; None if it is not known."""
        if self.hits is None:
            return self.published_distribution
        has_truth = self.hits.out_of > 0
        shares = self.hits.counts[has_truth] * self.hits.k // self.hits.out_of[has_truth]
        return RecallDistribution(np.bincount(shares, minlength=self.hits.k + 1))

    def restrict_to(self, rows: NDArray[np.int64]) -> ScoredTrial:
        """Return the trial with only these queries; unchanged if single queries are not known."""
        if self.hits is None:
            return self
        hits = self.hits._replace(counts=self.hits.counts[rows], out_of=self.hits.out_of[rows])
        return ScoredTrial(replace(self.trial, measures={}), hits, is_fitted=self.is_fitted)

    @cached_property
    def recall(self) -> Estimate:
        """The mean recall: as measured, else from the distribution, else as reported."""
        if self.trial.recall is not None:
            return widen_point_interval(self.trial.recall)
        if self.hits is not None:
            return mean_recall(self.hits.recall)
        if self.distribution is not None:
            return self.distribution.recall()
        return Estimate(self.trial.reported.get("recall"), None, None, 0.95, self._reported_queries)

    def robustness(self, delta: float, level: float = 0.95) -> Estimate:
        """Return the share of queries whose recall reaches δ; its value is None if unknown."""
        if self.hits is not None:
            return estimate(self.hits.reaches(delta), "share", level)
        if self.distribution is not None:
            return self.distribution.robustness(delta, level)
        name = self._reported_name(delta)
        if name in self.trial.measures:
            return self.trial.measures[name]
        reported_share = self.trial.reported.get(name)
        if reported_share is None or not self._reported_queries:
            return Estimate(reported_share, None, None, level, self._reported_queries)
        return estimate_share(reported_share * self._reported_queries, self._reported_queries, level)

    def _reported_name(self, delta: float) -> str:
        """Return the reported name of robustness at δ; with K = 10, reaching 0.25 means reaching 0.3."""
        exact, k = robustness_name(delta, self.trial.k), self.trial.k
        if exact in self.trial.measures or exact in self.trial.reported:
            return exact
        return robustness_name(math.ceil(delta * k - 1e-9) / k, k)

    @property
    def _reported_queries(self) -> int:
        """The reported number of queries."""
        return int(self.trial.reported.get("queries", 0))

    def failure(self, delta: float, level: float = 0.95) -> Estimate:
        """Return the share of queries whose recall does not reach δ."""
        robustness = self.robustness(delta, level)
        if robustness.value is None or not robustness.n:
            return robustness._replace(value=None if robustness.value is None else 1 - robustness.value)
        return estimate_share(round((1 - robustness.value) * robustness.n), robustness.n, level)
