"""Sample ratio mismatch: whether the arms received the units that they were planned to receive.

Counts are compared with planned weights by the chi-squared test (once) or by the sequential multinomial
test of Lindon and Malek (arXiv 2011.03567), which may be looked at after every unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.errors import InputError

SRM_ALPHA = 0.001
CONCENTRATION = 10_000.0  # how close to the plan the sequential test expects mismatches to be
LEAST_EXPECTED = 5.0  # units that chi-squared needs in each arm


@dataclass(frozen=True)
class SampleRatio:
    """Units by arm beside the expected ones; p is None where `reason` says why."""

    observed: Mapping[str, int]
    expected: Mapping[str, float]
    p: float | None
    method: str
    reason: str = ""
    unplanned: int = 0  # units in arms that were planned to receive none

    def is_mismatch(self, alpha: float = SRM_ALPHA) -> bool | None:
        """Whether the counts contradict the plan; None: unknown. Units in an arm with weight 0 do."""
        if self.unplanned:
            return True
        return None if self.p is None else self.p < alpha

    def to_dict(self) -> dict[str, object]:
        """The test as plain data."""
        return {
            "p": self.p,
            "method": self.method,
            "observed": dict(self.observed),
            "expected": dict(self.expected),
            "reason": self.reason or None,
            "unplanned": self.unplanned,
        }


def _expect(observed: Mapping[str, int], weights: Mapping[str, float]) -> dict[str, float]:
    """The units that each arm should have; arms without a weight have weight 0."""
    total_weight = sum(weights.values())
    is_sound = all(math.isfinite(w) and w >= 0 for w in weights.values()) and total_weight > 0
    if not is_sound:
        raise InputError(f"expected weights of 0 or more and one above 0, found {dict(weights)}")
    if any(count < 0 for count in observed.values()):
        raise InputError(f"expected counts of 0 or more, found {dict(observed)}")
    names = dict.fromkeys([*weights, *observed])
    n = sum(count for name, count in observed.items() if weights.get(name, 0.0) > 0)
    return {name: n * weights.get(name, 0.0) / total_weight for name in names}


def check_sample_ratio(observed: Mapping[str, int], weights: Mapping[str, float]) -> SampleRatio:
    """The chi-squared test of counts by arm; an arm with weight 0 is not a degree of freedom.

    >>> result = check_sample_ratio({"control": 4900, "treatment": 5100, "off": 0},
    ...                             {"control": 0.5, "treatment": 0.5, "off": 0.0})
    >>> round(result.p, 4)
    0.0455
    """
    from scipy.special import chdtrc

    expected = _expect(observed, weights)
    counts = {name: int(observed.get(name, 0)) for name in expected}
    planned = [name for name, value in expected.items() if weights.get(name, 0.0) > 0]
    unplanned = sum(counts[name] for name in counts if name not in planned)
    reason = _find_obstacle(planned, expected)
    if reason:
        return SampleRatio(counts, expected, None, "chi-squared", reason, unplanned)
    statistic = sum((counts[name] - expected[name]) ** 2 / expected[name] for name in planned)
    p = float(chdtrc(len(planned) - 1, statistic))
    return SampleRatio(counts, expected, p, "chi-squared", "", unplanned)


def _find_obstacle(
    planned: Sequence[str], expected: Mapping[str, float], least: float = LEAST_EXPECTED
) -> str:
    if len(planned) < 2:
        return "fewer than two arms with a weight"
    smallest = min(expected[name] for name in planned)
    if smallest < least:
        return f"fewer than {least:g} expected units in an arm" if smallest else "no units"
    return ""


@dataclass(frozen=True)
class SequentialSampleRatio:
    """The sequential test after the units of one look; add the units of the next with `update`.

    The smallest p so far is the p: once alarmed, always alarmed.
    """

    weights: Mapping[str, float]
    concentration: float = CONCENTRATION
    counts: Mapping[str, int] | None = None
    log_largest: float = 0.0  # the largest logarithm of the Bayes factor so far
    unplanned: int = 0

    def update(self, new_units: Mapping[str, int]) -> SequentialSampleRatio:
        """The test after these further units by arm."""
        _expect(new_units, self.weights)
        before = self.counts or {}
        counts = {
            name: before.get(name, 0) + int(new_units.get(name, 0))
            for name, weight in self.weights.items()
            if weight > 0
        }
        extra = sum(count for name, count in new_units.items() if not self.weights.get(name, 0.0) > 0)
        log_factor = log_bayes_factor(counts, self.weights, self.concentration)
        return SequentialSampleRatio(
            self.weights,
            self.concentration,
            counts,
            max(self.log_largest, log_factor),
            self.unplanned + extra,
        )

    @property
    def p(self) -> float | None:
        """p valid at every look; None before the first unit."""
        return math.exp(-self.log_largest) if self.counts and sum(self.counts.values()) else None

    @property
    def result(self) -> SampleRatio:
        """The test as it stands."""
        counts = {name: (self.counts or {}).get(name, 0) for name in self.weights}
        planned = sum(weight > 0 for weight in self.weights.values())
        reason = "no units" if self.p is None else "fewer than two arms with a weight" if planned < 2 else ""
        expected = _expect(counts, self.weights)
        return SampleRatio(
            counts, expected, None if reason else self.p, "sequential multinomial", reason, self.unplanned
        )


def log_bayes_factor(
    counts: Mapping[str, int], weights: Mapping[str, float], concentration: float = CONCENTRATION
) -> float:
    """The logarithm of how much likelier the counts are under a Dirichlet mixture around the plan.

    Equation 5 of arXiv 2011.03567; arms with weight 0 are left out.
    """
    arms = {name: weight for name, weight in weights.items() if weight > 0}
    total_weight, n = sum(arms.values()), sum(counts.get(name, 0) for name in arms)
    factor = math.lgamma(concentration) - math.lgamma(concentration + n)
    for name, weight in arms.items():
        share, count = weight / total_weight, counts.get(name, 0)
        prior = concentration * share
        factor += math.lgamma(prior + count) - math.lgamma(prior) - count * math.log(share)
    return factor


def watch_sample_ratio(
    increments: Iterable[Mapping[str, int]],
    weights: Mapping[str, float],
    concentration: float = CONCENTRATION,
) -> SampleRatio:
    """The sequential test over looks in the order of time, each with the units that were new.

    >>> hours = [{"a": 60, "b": 40}] * 24
    >>> watch_sample_ratio(hours, {"a": 1, "b": 1}).is_mismatch()
    True
    """
    test = SequentialSampleRatio(weights, concentration)
    for units in increments:
        test = test.update(units)
    return test.result


@dataclass(frozen=True)
class ExposureCheck:
    """Whether the units of an experiment can be analysed at all."""

    units: int
    in_several_arms: int
    smallest_arm: int
    least_units: int
    largest_share: float

    @property
    def several_share(self) -> float | None:
        """The share of units that were in several arms; None without units."""
        return self.in_several_arms / self.units if self.units else None

    @property
    def has_too_many_in_several_arms(self) -> bool:
        """Whether more units than tolerated were in several arms."""
        return self.several_share is not None and self.several_share > self.largest_share

    @property
    def has_too_few_units(self) -> bool:
        """Whether an arm has fewer units than required."""
        return self.smallest_arm < self.least_units


def check_exposures(
    counts: Mapping[str, int], in_several_arms: int, *, least_units: int = 100, largest_share: float = 0.01
) -> ExposureCheck:
    """Check units in several arms and the smallest arm; `counts` are of units in one arm only.

    >>> check_exposures({"a": 900, "b": 950}, 50).has_too_many_in_several_arms
    True
    """
    units = sum(counts.values()) + in_several_arms
    return ExposureCheck(units, in_several_arms, min(counts.values(), default=0), least_units, largest_share)
