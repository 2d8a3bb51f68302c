"""The value of another policy from logged clicks by inverse propensities, with the effective sample size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate

LEAST_EFFECTIVE_N = 100.0


@dataclass(frozen=True)
class OffPolicyValue:
    """What a policy would have earned on the log of another, and whether the log can tell.

    `effective_n` is (Σw)² / Σw²: the number of equally weighted rows that would tell as much (Kish 1965).
    """

    ips: Estimate  # mean of weight × reward (Horvitz and Thompson 1952)
    snips: Estimate  # divided by the mean weight (Swaminathan and Joachims 2015)
    logged: Estimate  # the mean reward of the log itself
    effective_n: float
    least_effective_n: float
    mean_weight: float  # 1 in expectation, if the propensities are right
    largest_weight: float
    coverage: float | None = None  # of a ranking: the share of its gain that the logged documents have

    @property
    def n(self) -> int:
        """The number of rows of the log."""
        return self.ips.n

    @property
    def is_supported(self) -> bool:
        """Whether the effective sample size is large enough for an estimate."""
        return self.effective_n >= self.least_effective_n

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as plain data; they are null if the log does not support them."""
        nothing = {"value": None, "low": None, "high": None, "n": self.n}
        return {
            "status": "estimated" if self.is_supported else "refused",
            "ips": self.ips.to_dict() if self.is_supported else nothing,
            "snips": self.snips.to_dict() if self.is_supported else dict(nothing),
            "logged": self.logged.to_dict(),
            "n": self.n,
            "effective_n": self.effective_n,
            "least_effective_n": self.least_effective_n,
            "mean_weight": self.mean_weight,
            "largest_weight": self.largest_weight,
            "coverage": self.coverage,
            "without_support": None
            if self.is_supported
            else {"ips": self.ips.value, "snips": self.snips.value},
        }


def estimate_policy(
    rewards: Floats, weights: Floats, level: float = 0.95, least_effective_n: float = LEAST_EFFECTIVE_N
) -> OffPolicyValue:
    """Return the value of a policy; a weight is its propensity divided by that of the logged policy.

    >>> value = estimate_policy(np.array([1.0, 0.0, 1.0, 0.0]), np.array([2.0, 0.0, 2.0, 0.0]))
    >>> value.ips.value, value.snips.value, value.effective_n
    (1.0, 1.0, 2.0)
    """
    n, total = len(rewards), float(weights.sum())
    mean_weight = total / n
    earned = weights * rewards
    ratio = float(earned.sum()) / total if total else math.nan
    deviations = (weights * (rewards - ratio) / mean_weight) if total else np.full(n, np.nan)
    return OffPolicyValue(
        _with_spread(float(earned.mean()), earned, level),
        _with_spread(ratio, deviations, level),
        _with_spread(float(rewards.mean()), rewards, level),
        total**2 / float((weights**2).sum()) if total else 0.0,
        least_effective_n,
        mean_weight,
        float(weights.max(initial=0.0)),
    )


def _with_spread(value: float, values: Floats, level: float) -> Estimate:
    """Return a mean with the normal interval of the spread of values around it."""
    n = len(values)
    if math.isnan(value):
        return Estimate(None, None, None, level, n)
    if n < 2:
        return Estimate(value, None, None, level, n)
    half = normal_quantile(0.5 + level / 2) * float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(value, value - half, value + half, level, n)
