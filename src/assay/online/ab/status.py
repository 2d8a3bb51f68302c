"""The status of a test: rules on its metrics decided as a gate decides, in the words people know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.decisions.checks import Check, check_comparison
from assay.decisions.rules import ONLINE_METRIC, Rule, Rules
from assay.decisions.verdict import Verdict, decide
from assay.online.ab.comparisons import MetricResult
from assay.online.ab.design import ABDesign
from assay.online.ab.progress import Progress

READY, GUARDRAILS_FAIL, GOAL_FAILS = "Ready to ship", "Guardrails failing", "Goal failing"
UNHEALTHY, NO_DATA, TOO_FEW = "Unhealthy", "No data", "Not enough data"
NO_EFFECT, UNDECIDED, RUNNING = "No effect shown", "Undecided", "Running"
_EXIT_CODES = {GUARDRAILS_FAIL: 1, UNHEALTHY: 3, NO_DATA: 3, TOO_FEW: 3}


@dataclass(frozen=True)
class Status:
    """The state of a test, or of one of its variants, and the reasons."""

    kind: str  # one of the words above
    reasons: Sequence[str] = ()
    days_left: int | None = None
    units_left: int | None = None

    @property
    def label(self) -> str:
        """The status in words: `Ready to ship`, `12 days left`.

        >>> Status(RUNNING, days_left=1).label
        '1 day left'
        """
        if self.kind != RUNNING:
            return self.kind
        if self.days_left is not None:
            return "1 day left" if self.days_left == 1 else f"{self.days_left:,} days left"
        return RUNNING if self.units_left is None else f"{self.units_left:,} units left"

    @property
    def exit_code(self) -> int:
        """0, 1 if a guardrail fails, 3 if the data cannot decide."""
        return _EXIT_CODES.get(self.kind, 0)


@dataclass(frozen=True)
class VariantVerdict:
    """The verdict on one variant, with the status it leads to."""

    variant: str
    status: Status
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "variant": self.variant,
            "status": self.status.label,
            "reasons": list(self.status.reasons),
            "verdict": self.verdict.status,
            "checks": [
                {
                    "metric": str(check.rule.of),
                    "rule": check.rule.name,
                    "status": check.status,
                    "value": check.value.to_dict(),
                    "p_holds": check.p_holds,
                    "p_fails": check.p_fails,
                    "corrected_p": check.corrected_p,
                }
                for check in self.verdict.checks
            ],
        }


def decide_variant(
    variant: str, results: Sequence[MetricResult], design: ABDesign, progress: Progress, variants: int
) -> VariantVerdict:
    """Return the verdict on one of several variants."""
    level = 1 - (1 - design.level) / variants  # the best of several variants is chosen
    checks = [_check(result, level) for result in results if result.role.role != "secondary"]
    least = min((min(r.control.n, r.treatment.n) for r in results), default=0)
    rules = Rules(tuple(check.rule for check in checks), level, design.correction, min_queries=design.min_n)
    verdict = decide(checks, rules, least)
    return VariantVerdict(variant, _status(verdict, design, progress), verdict)


def _check(result: MetricResult, level: float) -> Check:
    """Return the check of a goal or of a guardrail."""
    margin = result.role.margin
    is_goal = result.role.role == "goal"
    rule = Rule(
        ONLINE_METRIC,
        result.metric,
        "better_by" if is_goal else "not_worse_than",
        margin.value,
        priority=1 if is_goal or margin.value else 2,  # without a margin it need not be shown to hold
        is_relative=margin.is_relative,
    )
    change = result.relative if margin.is_relative else result.absolute
    comparison = change.to_comparison(result.metric, lower_is_better=result.role.lower_is_better)
    low, high = change.spread.interval(level)
    e = comparison.difference._replace(low=low, high=high, level=level)
    return check_comparison(rule, replace(comparison, difference=e))


def _status(verdict: Verdict, design: ABDesign, progress: Progress) -> Status:
    """Return the status that the checks of a variant lead to."""
    left = (progress.days_left, progress.units_left if progress.planned_n else None)
    if not verdict.has_enough_queries:
        noun = "unit" if verdict.n == 1 else "units"
        reason = f"{verdict.n:,} {noun} in the smaller variant, of at least {verdict.min_n:,}"
        return Status(TOO_FEW if progress.has_ended else RUNNING, [reason], *left)
    failed = [check for check in verdict.checks if check.status == "failed"]
    guardrails = [check.rule.name for check in failed if check.rule.condition == "not_worse_than"]
    if guardrails:
        return Status(GUARDRAILS_FAIL, guardrails)
    is_decidable = progress.has_ended or design.method != "fixed"
    if not is_decidable:
        return Status(RUNNING, ["a fixed test is decided at its planned end"], *left)
    worse = [check.rule.name for check in failed if (check.value.high or 0.0) < 0]
    if worse:
        return Status(GOAL_FAILS, worse)
    if verdict.status == "passed":
        return Status(READY, [check.rule.name for check in verdict.checks if check.status == "passed"])
    return _open_status(verdict, design, progress)


def _open_status(verdict: Verdict, design: ABDesign, progress: Progress) -> Status:
    open_checks = [check for check in verdict.checks if check.status != "passed"]
    open_rules = [check.rule.name for check in open_checks]
    if not progress.has_ended:
        units_left = progress.units_left if progress.planned_n else None
        return Status(RUNNING, open_rules, progress.days_left, units_left)
    has_open_goal = any(check.rule.condition == "better_by" for check in open_checks)
    may_go_on = design.is_watched and not progress.planned_n
    return Status(NO_EFFECT if has_open_goal and not may_go_on else UNDECIDED, open_rules)


_ORDER = (GUARDRAILS_FAIL, READY, RUNNING, TOO_FEW, UNDECIDED, GOAL_FAILS, NO_EFFECT)


def join_statuses(verdicts: Sequence[VariantVerdict]) -> Status:
    """Return the status of a test: that of its variants that comes first in the order of importance."""
    kinds = [verdict.status.kind for verdict in verdicts]
    first = next(kind for kind in _ORDER if kind in kinds)
    verdict = next(v for v in verdicts if v.status.kind == first)
    prefix = f"{verdict.variant}: " if len(verdicts) > 1 else ""
    return replace(verdict.status, reasons=[f"{prefix}{reason}" for reason in verdict.status.reasons])
