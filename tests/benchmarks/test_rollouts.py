"""The simulation of rollouts draws what it says, and ends each rollout by the policy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "rollouts.py"


@pytest.mark.parametrize(
    ("factors", "state", "reason"),
    [
        ({"ctr": 1.3}, "released", "not breached"),
        ({"zero_result": 2.0}, "reverted", "breached: zero_result not worse"),
        ({"ctr": 1.3, "zero_result": 2.0}, "reverted", "breached: zero_result not worse"),
        ({"ctr": 0.7}, "held", "failed: ctr better"),
    ],
)
def test_a_large_effect_ends_as_the_policy_says(
    benchmark: Any, factors: dict[str, float], state: str, reason: str
) -> None:
    outcome = benchmark.run_rollout(benchmark.Change("large", factors), 3)
    assert outcome.state == state
    assert reason in outcome.reason


def test_without_a_goal_a_change_without_effect_goes_up_the_whole_ramp(benchmark: Any) -> None:
    change = next(change for change in benchmark.CHANGES if change.policy is benchmark.GUARDED)
    assert benchmark.run_rollout(change, 3).state == "released"


def test_only_the_treatment_is_changed_and_the_arms_are_equal(benchmark: Any) -> None:
    change = benchmark.Change("double", {"zero_result": 2.0})
    arms = benchmark.draw_day(np.random.default_rng(1), 0, 1.0, change, 1)
    control, treatment = (arms[name] for name in ("control", "treatment"))
    assert control["ctr"].n == pytest.approx(20_000, rel=0.05)
    assert treatment["ctr"].n == pytest.approx(20_000, rel=0.05)
    assert treatment["zero_result"].sum / control["zero_result"].sum == pytest.approx(2, rel=0.2)
    assert treatment["ctr"].sum / control["ctr"].sum == pytest.approx(1, rel=0.1)


def test_a_ramped_share_of_the_candidate_fakes_an_effect_and_equal_arms_do_not(benchmark: Any) -> None:
    assert benchmark.pooled_ramp_alarms(10, is_equal=False) == 10
    assert benchmark.pooled_ramp_alarms(10, is_equal=True) <= 3
