"""What a policy does with a simulated year of changes: good ones, harmful ones, and A/A tests.

    python benchmarks/rollouts.py [--changes 200] [--seed 1]

Every day the watcher looks at all units since the A/B test began and acts by the real policy, machine and
statistics; only the users are drawn. The rates of the baseline move: they rise over the weeks and change with
the day of the week, while the coverage is ramped. Each rate is printed with its exact interval. The last rows
show why the arms are split equally inside the coverage: the same A/A tests with a growing share of the
candidate, pooled, seem to have an effect.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from assay.online.ab.analysis import analyse_sums
from assay.online.ab.cells import Cell, TestSums
from assay.rollout.evidence import OnlineEvidence, design_test
from assay.rollout.machine import LIVE, Position, Rollout, Step, Transition, move
from assay.rollout.policy import MetricRule, RolloutPolicy
from assay.rollout.status import assess
from assay.stats.intervals import estimate_share
from assay.stats.moments import Moments

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNITS_PER_DAY = 40_000  # new users, all of the traffic
RATES = {"ctr": 0.30, "zero_result": 0.05, "slo": 0.95}
LOWER = {"zero_result": True}
LONGEST = 60  # days
Arms = Mapping[str, Mapping[str, Moments]]  # the sums of each arm by metric
POLICY = RolloutPolicy(
    steps=(
        Step("gate"),
        Step("ab", 0.10, 7.0, 1000, max_days=28.0),
        Step("ramp", 0.25, 1.0),
        Step("ramp", 0.50, 1.0),
        Step("full", 1.0),
    ),
    rules=(MetricRule("ctr", "goal"), MetricRule("zero_result", "guardrail"), MetricRule("slo", "guardrail")),
)


GUARDED = replace(POLICY, rules=POLICY.rules[1:])  # without a goal, so that an A/A test goes up the ramp


class Change(NamedTuple):
    """A kind of change: by how much it multiplies each rate, and the policy by which it is released."""

    name: str
    factors: Mapping[str, float]
    policy: RolloutPolicy = POLICY


CHANGES = (
    Change("good: ctr +5 %", {"ctr": 1.05}),
    Change("A/A: no effect", {}),
    Change("A/A: no effect, guardrails without a goal", {}, GUARDED),
    Change("harmful: zero results +20 %", {"zero_result": 1.20}),
    Change("harmful and tempting: ctr +5 %, zero results +20 %", {"ctr": 1.05, "zero_result": 1.20}),
    Change("harmful: ctr -5 %", {"ctr": 0.95}),
)


@dataclass(frozen=True)
class Outcome:
    """How a rollout ended, and after how many days."""

    state: str
    days: int
    reason: str


def baseline_rates(day: int, seed: int) -> dict[str, float]:
    """Return the rates of a day: they rise by a tenth in a month, and change with the day of the week."""
    factor = 1 + 0.1 * min(day, 30) / 30 + 0.04 * math.sin(2 * math.pi * (day + seed) / 7)
    return {name: min(0.99, rate * factor if name != "slo" else rate) for name, rate in RATES.items()}


def draw_day(random: np.random.Generator, day: int, coverage: float, change: Change, seed: int) -> Arms:
    """Return the new users of a day in both arms; each user is given an arm by an even coin."""
    total = random.binomial(UNITS_PER_DAY, coverage)
    treated = int(random.binomial(total, 0.5))
    rates = baseline_rates(day, seed)
    arms = {}
    for arm, n in (("control", total - treated), ("treatment", treated)):
        factors = change.factors if arm == "treatment" else {}
        sums = {m: int(random.binomial(n, min(1.0, r * factors.get(m, 1.0)))) for m, r in rates.items()}
        arms[arm] = {m: Moments(n=n, sum=float(s), sum_squares=float(s)) for m, s in sums.items()}
    return arms


def run_rollout(change: Change, seed: int) -> Outcome:
    """Release one change, with one look a day."""
    random, days = np.random.default_rng(seed), list[Arms]()
    total: Arms = {}
    first = Transition(1, START, "a", "start", None, Position("running", 1), "")
    policy = change.policy
    rollout = Rollout("r", "e", "", policy.steps, policy.to_dict(), transitions=(first,))
    for day in range(LONGEST):
        days.append(draw_day(random, day, rollout.step.coverage, change, seed))
        total = add_day(total, days[-1])
        now = START + timedelta(days=day + 1)
        decision = assess(rollout, now, analyse(total, days, policy)).decision
        assert decision is not None
        if decision.action == "wait":
            continue
        rollout = follow(rollout, decision.action, now, "; ".join(decision.reasons))
        if rollout.position.state not in LIVE or rollout.position.state == "held":
            return Outcome(rollout.position.state, day + 1, rollout.transitions[-1].reason)
    return Outcome("running", LONGEST, "")


def add_day(total: Arms, day: Arms) -> Arms:
    """Return the sums of all days until now."""
    if not total:
        return day
    return {arm: {m: total[arm][m] + moments for m, moments in own.items()} for arm, own in day.items()}


def analyse(total: Arms, days: Sequence[Arms], policy: RolloutPolicy) -> OnlineEvidence:
    """Return the evidence of all users until now, as a watcher reads it."""
    cells = [Cell(arm, (), moments["ctr"].n, moments) for arm, moments in total.items()]
    sums = TestSums(cells)
    new_units = [{arm: moments["ctr"].n for arm, moments in day.items()} for day in days]
    by_day = {f"{number:03}": sum(day.values()) for number, day in enumerate(new_units)}
    test = analyse_sums(sums, design_test(policy, sums.metrics, LOWER))
    return OnlineEvidence(test, {**by_day, "today": 0}, new_units)


def follow(rollout: Rollout, action: str, now: datetime, reason: str) -> Rollout:
    """Return the rollout after a move."""
    after = move(rollout.position, action, rollout.steps)
    assert after is not None
    number = len(rollout.transitions) + 1
    added = Transition(number, now, "watch", action, rollout.position, after, reason)
    return replace(rollout, transitions=(*rollout.transitions, added))


def pooled_ramp_alarms(count: int, is_equal: bool) -> int:
    """Return how many A/A tests look different at the end of a ramp by the plain test of pooled shares."""
    alarms = 0
    for seed in range(count):
        random = np.random.default_rng(10_000 + seed)
        n, clicks = np.zeros(2), np.zeros(2)
        for day in range(28):
            share = (0.01, 0.05, 0.25, 0.5)[day // 7]
            users = UNITS_PER_DAY * (2 * share if is_equal else 1.0)
            treated = random.binomial(int(users), 0.5 if is_equal else share)
            for arm, units in enumerate((int(users) - treated, treated)):
                n[arm] += units
                clicks[arm] += random.binomial(units, baseline_rates(day, seed)["ctr"])
        pooled = clicks.sum() / n.sum()
        z = (clicks[1] / n[1] - clicks[0] / n[0]) / math.sqrt(pooled * (1 - pooled) * (1 / n).sum())
        alarms += abs(z) > 1.96
    return int(alarms)


def describe_share(hits: int, n: int) -> str:
    """Return a share with its exact interval."""
    share = estimate_share(hits, n, 0.95)
    ends = [0.0 if share.low is None else share.low, 1.0 if share.high is None else share.high]
    return f"{100 * hits / n:5.1f} % ({100 * ends[0]:.1f} … {100 * ends[1]:.1f})"


def main() -> None:
    """Print what became of the changes."""
    parser = argparse.ArgumentParser(description="Simulate a year of changes.")
    parser.add_argument("--changes", type=int, default=200, help="changes of each kind")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    n = options.changes
    print(f"{n} changes of each kind, {UNITS_PER_DAY:,} users a day, one look a day, alpha {POLICY.alpha:g}")
    for change in CHANGES:
        outcomes = [run_rollout(change, options.seed * 100_000 + i) for i in range(n)]
        states = Counter(outcome.state for outcome in outcomes)
        print(f"\n{change.name}")
        for state in ("released", "reverted", "held", "running"):
            days = [outcome.days for outcome in outcomes if outcome.state == state]
            median = f", median {np.median(days):.0f} days" if days else ""
            print(f"  {state:9} {describe_share(states[state], n)}{median}")
        srm = sum("failed: the arms received" in outcome.reason for outcome in outcomes)
        print(f"  held by the sample ratio {describe_share(srm, n)}")
    print("\nA/A tests, ramped while the baseline moves, that seem to have an effect by the pooled test")
    for words, is_equal in (("share of the candidate ramped", False), ("coverage ramped, equal arms", True)):
        print(f"  {words:32} {describe_share(pooled_ramp_alarms(n, is_equal), n)}")


if __name__ == "__main__":
    main()
