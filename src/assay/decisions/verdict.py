"""Checks decided together: passed, failed or undecided, with the checks that decided.

A rule holds if the whole interval lies on the right side of its threshold, fails if it is shown to lie
on the wrong side, and is undecided otherwise: a threshold inside the noise decides nothing. The
interval that is shown and the test behind it must agree. All rules must hold for a verdict of passed,
so a pass needs no correction (an intersection-union test; Berger 1982); a failure is one alarm among
many, and is corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.decisions.checks import Check
from assay.decisions.rules import ONLINE_METRIC, Rules
from assay.stats.corrections import correct_p_values

EXIT_CODES = {"passed": 0, "failed": 1, "undecided": 3}


@dataclass(frozen=True)
class Verdict:
    """Passed, failed or undecided, with the checks and those of them that decided."""

    status: str
    checks: list[Check]
    n: int  # the number of queries
    level: float = 0.95
    min_n: int = 0  # with fewer queries nothing is decided
    decisive: list[Check] = field(default_factory=list)  # empty if all rules hold
    outweighed: list[Check] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Verdict({self.status!r}, {len(self.checks)} checks, {self.n:,} queries)"

    @property
    def exit_code(self) -> int:
        """The exit code of the command line: 0 passed, 1 failed, 3 undecided."""
        return EXIT_CODES[self.status]

    @property
    def has_enough_queries(self) -> bool:
        """Whether there are as many queries as the rules require."""
        return self.n >= self.min_n


def decide(checks: Sequence[Check], rules: Rules, n: int) -> Verdict:
    """Correct the failures, give each check its status, and settle on a verdict."""
    decided_checks = _set_status(checks, rules)
    if n < rules.min_queries:
        decided_checks = [_withhold_status(check) for check in decided_checks]
        return Verdict("undecided", decided_checks, n, rules.level, rules.min_queries)
    status, decisive, outweighed = _settle(decided_checks, rules.undecided_policy)
    return Verdict(status, decided_checks, n, rules.level, rules.min_queries, decisive, outweighed)


def _set_status(checks: Sequence[Check], rules: Rules) -> list[Check]:
    """Return the checks with their failures corrected and their status."""
    alpha = (1 - rules.level) / 2  # one side of the interval that is shown
    # a figure is not drawn at random: it raises no false alarm, and is no part of the correction
    tested = [c for c in checks if c.status != "skipped" and c.rule.subject != "figure"]
    ps, _ = correct_p_values([check.p_fails for check in tested], [], rules.correction)
    p_by_check = dict(zip(map(id, tested), ps, strict=True))
    family = len(tested) if rules.correction != "none" else 1
    decided_checks = []
    for check in checks:
        p = p_by_check.get(id(check), check.p_fails)
        status = check.status if check.status == "skipped" else _status(check, p, alpha)
        decided_checks.append(replace(check, corrected_p=p, status=status, family=family))
    return decided_checks


def _status(check: Check, corrected_p: float | None, alpha: float) -> str:
    if check.side == 1 and check.p_holds is not None and check.p_holds <= alpha:
        return "passed"
    if check.side == -1 and corrected_p is not None and corrected_p <= alpha:
        return "failed"
    return "undecided"


def _withhold_status(check: Check) -> Check:
    """Return a check that is not decided because there are fewer queries than the rules require."""
    if check.rule.subject not in ("measure", ONLINE_METRIC) or check.status == "skipped":
        return check
    return replace(check, status="undecided", has_enough_queries=False)


def _settle(checks: Sequence[Check], undecided_policy: str) -> tuple[str, list[Check], list[Check]]:
    """Return the status, the checks that decided, and the checks that were outweighed.

    Priorities are considered from 1 upwards. A failure fails the verdict, and an undecided check leaves
    it undecided (or what the policy says). If all rules of a priority hold and one of them shows an
    improvement (better_by), that outweighs whatever rules of later priorities say.
    """
    failing_statuses = ("failed", "undecided") if undecided_policy == "fail" else ("failed",)
    for priority in sorted({check.rule.priority for check in checks}):
        current = [check for check in checks if check.rule.priority == priority]
        undecided = [c for c in current if c.status == "undecided"]
        failing = [c for c in current if c.status in failing_statuses]
        if failing:
            return "failed", failing, []
        if undecided and undecided_policy == "hold":
            return "undecided", undecided, []
        gains = [c for c in current if c.rule.condition == "better_by" and c.status == "passed"]
        later = [c for c in checks if c.rule.priority > priority and c.status in ("failed", "undecided")]
        if gains and later and not undecided:
            return "passed", gains, later
    return "passed", [], []
