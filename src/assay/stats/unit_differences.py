"""The difference between two arms of an experiment, from the sums over their units.

Absolute differences are Welch's (1947); ratios and relative lift use the delta method (Deng, Knoblich
and Lu 2018, arXiv 1803.06336); CUPED subtracts what a covariate from before the experiment explains
(Deng, Xu, Kohavi and Walker 2013), with the factor that gives the difference its smallest variance.
Relative lift is the (adjusted) difference divided by the plain value of the control.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.stats.arms import Arms, Strata, join_arms
from assay.stats.comparison import Comparison
from assay.stats.difference_intervals import NormalSpread, Spread, UnknownSpread
from assay.stats.intervals import Estimate, estimate_share
from assay.stats.lift_spreads import LogSpread, QuotientSpread
from assay.stats.moments import Moments

ALTERNATIVES = ("two-sided", "greater", "less")
LIFT_INTERVALS = ("delta", "log", "fieller")


@dataclass(frozen=True)
class UnitDifference:
    """treatment - control, absolute or relative to the control, with its interval, p and method.

    `reason` says why the interval and p are unknown. A one-sided interval has one end, the other is None.
    """

    estimate: Estimate
    p: float | None
    method: str
    alternative: str
    control: Estimate
    treatment: Estimate
    spread: Spread = field(repr=False, compare=False)
    reason: str = ""
    is_relative: bool = False
    variance_reduction: float | None = None  # by the covariate: 1 - adjusted variance / plain variance

    @property
    def n(self) -> int:
        """The units of both arms."""
        return self.control.n + self.treatment.n

    @property
    def error(self) -> float | None:
        """The standard error, if the distribution is taken to be normal."""
        return self.spread.error if isinstance(self.spread, NormalSpread) else None

    def to_comparison(self, measure: str, *, lower_is_better: bool = False) -> Comparison:
        """The difference as a comparison that decisions read."""
        error = self.error
        return Comparison(
            measure=measure,
            baseline_name="control",
            candidate_name="treatment",
            column="",
            value="",
            baseline=self.control.value,
            candidate=self.treatment.value,
            difference=self.estimate,
            test=self.method,
            p=self.p,
            corrected_p=self.p,
            wins=None,
            ties=None,
            losses=None,
            effect=None,
            deviation=None if error is None else error * math.sqrt(self.n),
            lower_is_better=lower_is_better,
            spread=self.spread,
        )


def mean_estimate(moments: Moments, level: float = 0.95) -> Estimate:
    """The mean over units with Student's interval; a share with its exact one.

    >>> [round(end, 3) for end in mean_estimate(Moments.from_values([1.0, 2.0, 4.0, 5.0]))[:3]]
    [3.0, 0.095, 5.905]
    """
    if moments.is_share and moments.n:
        return estimate_share(moments.sum, moments.n, level)
    plain = Moments(moments.n, moments.sum, moments.sum_squares)
    return _estimate_arm(plain, level)


def ratio_estimate(moments: Moments, level: float = 0.95) -> Estimate:
    """The ratio of two sums with an interval by the delta method, over units."""
    return _estimate_arm(moments, level)


def arm_estimate(moments: Moments, level: float = 0.95) -> Estimate:
    """The mean, or the ratio if there is a denominator."""
    return ratio_estimate(moments, level) if moments.is_ratio else mean_estimate(moments, level)


def _estimate_arm(moments: Moments, level: float) -> Estimate:
    n = moments.n
    value = _ratio(moments.means()) if n else None
    if value is None or n < 2:
        return Estimate(value, None, None, level, n)
    gradient = _value_gradient(moments.means())
    variance = float(gradient @ moments.covariance() @ gradient) / n
    if variance <= 0:
        return Estimate(value, None, None, level, n)
    return Estimate(value, *NormalSpread(value, math.sqrt(variance), n - 1).interval(level), level, n)


def _ratio(means: Floats, at: int = 0) -> float | None:
    return float(means[at] / means[at + 1]) if means[at + 1] else None


def _value_gradient(means: Floats, at: int = 0) -> Floats:
    """The derivative of a ratio of two components by the four means."""
    gradient = np.zeros(4)
    gradient[at] = 1 / means[at + 1]
    gradient[at + 1] = -means[at] / means[at + 1] ** 2
    return gradient


def difference(
    control: Moments | Strata,
    treatment: Moments | Strata,
    *,
    level: float = 0.95,
    alternative: str = "two-sided",
    use_covariate: bool = True,
    weights: Mapping[str, float] | None = None,
) -> UnitDifference:
    """treatment - control of a mean or a ratio; arms given by stratum are post-stratified.

    >>> a, b = Moments.from_values([1.0, 2.0, 3.0]), Moments.from_values([3.0, 4.0, 8.0])
    >>> result = difference(a, b)
    >>> round(result.p, 4), result.method
    (0.1791, 'Welch')
    """
    arms = join_arms(control, treatment, weights)
    change = arms if isinstance(arms, str) else _subtract(arms, use_covariate)
    if isinstance(change, str) or isinstance(arms, str):
        return _unknown(control, treatment, level, alternative, str(change), is_relative=False)
    spread: Spread = NormalSpread(change.value, math.sqrt(change.variance), change.freedom)
    estimates = _estimate_both(arms, control, treatment, level)
    return _conclude(arms, change, spread, level, alternative, estimates)


def relative_difference(
    control: Moments | Strata,
    treatment: Moments | Strata,
    *,
    interval: str = "delta",
    level: float = 0.95,
    alternative: str = "two-sided",
    use_covariate: bool = True,
    weights: Mapping[str, float] | None = None,
) -> UnitDifference:
    """(treatment - control) / control: relative lift, 0.02 for 2 % more.

    `interval`: `delta` (symmetric), `log` (of the logarithm of the quotient) or `fieller` (exact for
    normal means: best if the control's mean is not many errors above 0; unknown if it may be 0).
    """
    if interval not in LIFT_INTERVALS:
        raise InputError(f"expected an interval of {', '.join(LIFT_INTERVALS)}; found {interval!r}")
    arms = join_arms(control, treatment, weights)
    change = arms if isinstance(arms, str) else _subtract(arms, use_covariate)
    if isinstance(change, str) or isinstance(arms, str):
        return _unknown(control, treatment, level, alternative, str(change), is_relative=True)
    spread = _lift_spread(arms, change, interval)
    if isinstance(spread, str):
        return _unknown(control, treatment, level, alternative, spread, is_relative=True)
    estimates = _estimate_both(arms, control, treatment, level)
    return _conclude(arms, change, spread, level, alternative, estimates, interval)


@dataclass(frozen=True)
class _Change:
    """The absolute difference as a linear function of the eight means, near their values."""

    value: float
    gradient: Floats  # 2 × 4
    variance: float
    freedom: float
    variance_reduction: float | None
    control: float
    control_gradient: Floats


def _subtract(arms: Arms, use_covariate: bool) -> _Change | str:
    values = [_ratio(means) for means in arms.means]
    if values[0] is None or values[1] is None:
        return "a denominator of 0"
    gradient = np.stack([-_value_gradient(arms.means[0]), _value_gradient(arms.means[1])])
    control_gradient = np.stack([_value_gradient(arms.means[0]), np.zeros(4)])
    value, plain = values[1] - values[0], arms.variance(gradient)
    if plain <= 0:
        return "no variance: the values are equal, or nearly so beside their size"
    factor, covariate = _covariate_factor(arms, gradient) if use_covariate else (0.0, np.zeros((2, 4)))
    gradient = gradient - factor * covariate
    variance = arms.variance(gradient)
    if variance <= 1e-12 * plain:
        return "no variance is left: the covariate determines the value"
    if factor:
        value -= factor * _covariate_gap(arms.means)
    reduction = 1 - variance / plain if factor else None
    return _Change(value, gradient, variance, arms.freedom(gradient), reduction, values[0], control_gradient)


def _covariate_gap(means: Floats) -> float:
    return float(means[1, 2] / means[1, 3] - means[0, 2] / means[0, 3])


def _covariate_factor(arms: Arms, gradient: Floats) -> tuple[float, Floats]:
    """The factor of the covariate's difference that leaves the smallest variance, and its gradient."""
    if not arms.means[:, 3].all():
        return 0.0, np.zeros((2, 4))
    covariate = np.stack([-_value_gradient(arms.means[0], 2), _value_gradient(arms.means[1], 2)])
    variance = arms.variance(covariate)
    return (arms.covariance(gradient, covariate) / variance if variance > 0 else 0.0), covariate


def _lift_spread(arms: Arms, change: _Change, interval: str) -> Spread | str:
    """The distribution of the relative difference, or the reason why it is unknown."""
    if change.control <= 0:
        return "relative to a control that is not above 0"
    lift = change.value / change.control
    gradient = (change.gradient - lift * change.control_gradient) / change.control
    error, freedom = math.sqrt(arms.variance(gradient)), change.freedom
    if interval == "log":
        if lift <= -1:
            return "the logarithm of a treatment that is not above 0"
        return LogSpread(math.log1p(lift), error / (1 + lift), arms.freedom(gradient))
    base_variance = arms.variance(change.control_gradient)
    if interval == "fieller":
        cross = arms.covariance(change.gradient, change.control_gradient)
        return QuotientSpread(change.value, change.control, change.variance, base_variance, cross, freedom)
    is_near_zero = change.control < 5 * math.sqrt(base_variance)  # then the delta method is too narrow
    return NormalSpread(lift, error, freedom, is_near_zero)


def _conclude(
    arms: Arms,
    change: _Change,
    spread: Spread,
    level: float,
    alternative: str,
    estimates: tuple[Estimate, Estimate],
    lift: str = "",
) -> UnitDifference:
    value = change.value / change.control if lift else change.value
    method = _name_method(arms, change, lift)
    result = difference_of_estimates(estimates, spread, method, level, alternative, value, "", bool(lift))
    return replace(result, variance_reduction=change.variance_reduction)


def difference_of_estimates(
    estimates: tuple[Estimate, Estimate],
    spread: Spread,
    method: str,
    level: float,
    alternative: str = "two-sided",
    value: float | None = None,
    reason: str = "",
    is_relative: bool = False,
) -> UnitDifference:
    """The difference between two estimates whose spread is known, or the reason why it is not."""
    low, high = interval_of(spread, level, alternative)
    if low is None and high is None and not reason:
        reason = "the control may be 0"
    n = sum(estimate.n for estimate in estimates)
    return UnitDifference(
        estimate=Estimate(value, low, high, level, n, spread.is_narrow),
        p=p_of(spread, alternative),
        method=method,
        alternative=alternative,
        control=estimates[0],
        treatment=estimates[1],
        spread=spread,
        reason=reason,
        is_relative=is_relative,
    )


def _name_method(arms: Arms, change: _Change, lift: str) -> str:
    parts = ["Welch"]
    if arms.blocks[0].covariance[1].any() or arms.blocks[1].covariance[1].any():
        parts.append("ratio")
    if change.variance_reduction is not None:
        parts.append("CUPED")
    if arms.is_stratified:
        parts.append("post-stratified")
    if lift:
        parts.append({"delta": "relative", "log": "relative (log)", "fieller": "relative (Fieller)"}[lift])
    return ", ".join(parts)


def _estimate_both(
    arms: Arms, control: Moments | Strata, treatment: Moments | Strata, level: float
) -> tuple[Estimate, Estimate]:
    """The plain mean or ratio of each arm, weighted by stratum as the difference is."""
    if isinstance(control, Moments) and isinstance(treatment, Moments):
        return arm_estimate(control, level), arm_estimate(treatment, level)
    return _stratified_estimate(arms, 0, level), _stratified_estimate(arms, 1, level)


def _stratified_estimate(arms: Arms, arm: int, level: float) -> Estimate:
    gradient = np.zeros((2, 4))
    gradient[arm] = _value_gradient(arms.means[arm])
    value, variance = _ratio(arms.means[arm]), arms.variance(gradient)
    if value is None or variance <= 0:
        return Estimate(value, None, None, level, arms.n[arm])
    spread = NormalSpread(value, math.sqrt(variance), arms.freedom(gradient))
    return Estimate(value, *spread.interval(level), level, arms.n[arm])


def _unknown(
    control: Moments | Strata,
    treatment: Moments | Strata,
    level: float,
    alternative: str,
    reason: str,
    is_relative: bool,
) -> UnitDifference:
    """A difference without an interval; its value only where there are no strata."""
    estimates = [
        arm_estimate(arm, level)
        if isinstance(arm, Moments)
        else Estimate(None, None, None, level, _size(arm))
        for arm in (control, treatment)
    ]
    first, second = (estimate.value for estimate in estimates)
    value = None if first is None or second is None else second - first
    if is_relative:
        value = value / first if value is not None and first is not None and first > 0 else None
    return difference_of_estimates(
        (estimates[0], estimates[1]), UnknownSpread(), "none", level, alternative, value, reason, is_relative
    )


def _size(strata: Strata) -> int:
    return sum(moments.n for moments in strata.values())


def interval_of(
    spread: Spread, level: float, alternative: str = "two-sided"
) -> tuple[float | None, float | None]:
    """The two-sided interval, or the one-sided one, whose other end is None."""
    if alternative not in ALTERNATIVES:
        raise InputError(f"expected an alternative of {', '.join(ALTERNATIVES)}; found {alternative!r}")
    if alternative == "two-sided":
        return spread.interval(level)
    low, high = spread.interval(2 * level - 1)
    return (low, None) if alternative == "greater" else (None, high)


def p_of(spread: Spread, alternative: str = "two-sided") -> float | None:
    """p of the hypothesis of no difference against this alternative."""
    if alternative == "two-sided":
        return spread.two_sided()
    p = spread.p_at_most(0.0)
    return p if alternative == "greater" or p is None else 1 - p
