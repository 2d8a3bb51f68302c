"""Checks decided together, whatever they were made from."""

from typing import Any

import pytest

from assay.decisions.checks import Check
from assay.decisions.rules import Rule, Rules
from assay.decisions.verdict import decide
from assay.stats import Estimate

HOLDS, FAILS, OPEN = (0.52, 1e-9, 1.0), (0.48, 1.0, 1e-9), (0.5, 0.5, 0.5)


def check(outcome: tuple[float, float, float], **rule: Any) -> Check:
    """A check of a floor of 0.5 (or of a minimum improvement of it) with this outcome."""
    value, p_holds, p_fails = outcome
    estimate = Estimate(value, value - 0.01, value + 0.01, 0.95, 1000)
    return Check(
        Rule("measure", "CTR", **{"condition": "at_least", "threshold": 0.5, **rule}),
        "all",
        estimate,
        p_holds,
        p_fails,
    )


@pytest.mark.parametrize(
    ("outcomes", "status", "exit_code"),
    [
        ([HOLDS, HOLDS], "passed", 0),
        ([HOLDS, FAILS], "failed", 1),
        ([HOLDS, OPEN], "undecided", 3),
        ([OPEN, FAILS], "failed", 1),
    ],
)
def test_all_rules_must_hold(outcomes: list[tuple[float, float, float]], status: str, exit_code: int) -> None:
    verdict = decide([check(outcome) for outcome in outcomes], Rules(()), 1000)
    assert (verdict.status, verdict.exit_code) == (status, exit_code)
    decisive = [c.status for c in verdict.decisive]
    assert set(decisive) == ({status} if status != "passed" else set())


def test_too_few_queries_decide_nothing() -> None:
    verdict = decide([check(FAILS)], Rules((), min_queries=2000), 1000)
    assert (verdict.status, verdict.has_enough_queries, verdict.decisive) == ("undecided", False, [])
    assert [c.status for c in verdict.checks] == ["undecided"]


@pytest.mark.parametrize(
    ("policy", "status"), [("hold", "undecided"), ("pass", "passed"), ("fail", "failed")]
)
def test_the_policy_decides_what_is_undecided(policy: str, status: str) -> None:
    assert decide([check(HOLDS), check(OPEN)], Rules((), undecided_policy=policy), 1000).status == status


def test_failures_are_corrected_and_passes_are_not() -> None:
    checks = [check((0.48, 1.0, 0.01)) for _ in range(3)]
    assert [c.status for c in decide(checks[:1], Rules(()), 1000).checks] == ["failed"]
    assert [c.status for c in decide(checks, Rules(()), 1000).checks] == ["undecided"] * 3
    passes = [check((0.52, 0.01, 1.0)) for _ in range(3)]
    assert decide(passes, Rules(()), 1000).status == "passed"


def test_an_improvement_outweighs_rules_of_later_priority() -> None:
    gain, loss = check(HOLDS, condition="better_by"), check(FAILS, priority=2)
    verdict = decide([gain, loss], Rules(()), 1000)
    assert (verdict.status, [c.rule.priority for c in verdict.outweighed]) == ("passed", [2])
    assert [c.rule.condition for c in verdict.decisive] == ["better_by"]
    assert decide([check(HOLDS), loss], Rules(()), 1000).status == "failed"
