"""A rule checked against one estimate or comparison: on which side of its threshold, and how sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.decisions.rules import Rule
from assay.stats import Estimate
from assay.stats.comparison import Comparison
from assay.stats.power import queries_needed
from assay.stats.thresholds import Sides

_AT_BOUNDARY = 1e-6  # a value this close to the threshold lies on it


@dataclass(frozen=True)
class Check:
    """One rule checked on all queries or one slice."""

    rule: Rule
    slice: str
    value: Estimate  # of the candidate; of its improvement if the rule compares
    p_holds: float | None  # p of the test that the rule holds; small: it is shown to hold
    p_fails: float | None  # p of the test that the rule fails; small: it is shown to fail
    deviation: float | None = None
    losers: tuple[str, ...] = ()  # the queries that lost most
    corrected_p: float | None = None  # p_fails, corrected for all rules
    status: str = "undecided"  # passed, failed, undecided or skipped
    has_enough_queries: bool = True  # as many as the rules require
    family: int = 1  # the number of failures that are corrected together
    has_same_results: bool = False  # the candidate returned what the baseline returned

    @property
    def boundary(self) -> float:
        """The value at which the rule turns from holding to failing."""
        return -self.rule.threshold if self.rule.condition == "not_worse_than" else self.rule.threshold

    @property
    def is_at_boundary(self) -> bool:
        """Whether the value lies on the boundary."""
        return self.value.value is not None and abs(self.value.value - self.boundary) < _AT_BOUNDARY

    @property
    def looks_worse(self) -> bool:
        """Whether the interval of a candidate that must not be worse lies below 0."""
        return self.rule.condition == "not_worse_than" and (self.value.high or 0.0) < 0

    @property
    def side(self) -> int:
        """1 if the whole interval lies on the right side of the boundary, -1 if on the wrong side, else 0."""
        if self.has_same_results:
            return 1
        if self.rule.subject == "figure":  # its p values were derived from the ends of its interval
            return 1 if self.p_holds == 0 else -1 if self.p_fails == 0 else 0
        low, high, boundary = self.value.low, self.value.high, self.boundary
        if self.rule.condition == "at_most":
            return 1 if high is not None and high <= boundary else -int(low is not None and low > boundary)
        return 1 if low is not None and low >= boundary else -int(high is not None and high < boundary)

    @property
    def deciding_n(self) -> int | None:
        """The number of queries that would decide if the value and its deviation stayed the same."""
        if self.value.value is None or not self.deviation or self.is_at_boundary:
            return None
        is_wrong = (self.value.value > self.boundary) == (self.rule.condition == "at_most")
        family = self.family if is_wrong else 1  # only failures are corrected
        gap = abs(self.value.value - self.boundary)
        return queries_needed(gap, self.deviation, (1 - self.value.level) / family)


def check_comparison(rule: Rule, comparison: Comparison) -> Check:
    """Check a rule that compares: the improvement over the baseline against the threshold."""
    e = comparison.difference
    low, high = (_negate(e.high), _negate(e.low)) if comparison.lower_is_better else (e.low, e.high)
    value = e._replace(value=comparison.improvement, low=low, high=high)
    boundary = -rule.threshold if rule.condition == "not_worse_than" else rule.threshold
    p_holds, p_fails = comparison.p_above(boundary), comparison.p_below(boundary)
    return Check(rule, comparison.slice, value, p_holds, p_fails, comparison.deviation)


def check_same_results(check: Check) -> Check:
    """Return a check of a candidate that returned what the baseline returned: it is not worse."""
    if check.rule.condition != "not_worse_than" or check.value.value is None:
        return check
    value = check.value._replace(low=None, high=None)
    return replace(check, value=value, p_holds=0.0, p_fails=1.0, has_same_results=True)


def _negate(value: float | None) -> float | None:
    return None if value is None else -value


def check_estimate(
    rule: Rule, value: Estimate, sides: Sides, *, label: str = "all", deviation: float | None = None
) -> Check:
    """Check a value of the candidate, given the p values for both sides of the threshold."""
    p_holds, p_fails = (sides.below, sides.above) if rule.condition == "at_most" else sides
    return Check(rule, label, value, p_holds, p_fails, deviation)


def check_figure(rule: Rule, figure: float | Mapping[str, Any], level: float) -> Check:
    """Check a single number, or one with an interval of its own ({"value", "low", "high"})."""
    ends = figure if isinstance(figure, Mapping) else {"value": figure}
    value, low, high = ends["value"], ends.get("low"), ends.get("high")
    lowest, highest = (value if end is None else end for end in (low, high))
    holds, fails = (lowest >= rule.threshold, highest < rule.threshold)
    if rule.condition == "at_most":
        holds, fails = (highest <= rule.threshold, lowest > rule.threshold)
    return Check(rule, "all", Estimate(value, low, high, level, 1), float(not holds), float(not fails))
