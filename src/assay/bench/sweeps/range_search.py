"""Search of a range for the value of a search parameter that reaches a target or comes nearest to it.

Recall is assumed not to fall as the parameter grows, so that few searches find the value; if it falls next to
the value found, the note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from assay.bench.sweeps.cases import ParameterRange, RecallGoal, RecallGoals, TrialCase
from assay.bench.sweeps.identity import content_key
from assay.bench.sweeps.pass_figures import score_pass
from assay.bench.sweeps.passes import run_pass
from assay.bench.sweeps.restartable_index import RestartableIndex
from assay.core.vectors import Vectors
from assay.indexes.hits import HitRule, Hits

_TOLERANCE = 1e-9  # for rounding in a mean of shares


class SearchProbe(NamedTuple):
    """The result of one pass at some value."""

    hits: Hits
    qps: float

    def goal_value(self, goal: RecallGoal) -> float:
        """Return the mean that a goal refers to; NaN if no query has truth."""
        values = self.hits.recall if goal.delta is None else self.hits.reaches(goal.delta)
        defined_values = values[~np.isnan(values)]
        return float(defined_values.mean()) if len(defined_values) else np.nan

    def reaches(self, goals: RecallGoals) -> bool:
        """Return whether every goal is reached."""
        return all(self.goal_value(goal) >= goal.minimum - _TOLERANCE for goal in goals)


class SearchProber:
    """Runs passes over all queries with one index and remembers the result of each setting."""

    def __init__(
        self, index: RestartableIndex, queries: Vectors, hit_rule: HitRule, warmup: int | None
    ) -> None:
        self.index, self.queries, self.hit_rule, self.warmup = index, queries, hit_rule, warmup
        self._probes: dict[str, SearchProbe] = {}

    def __call__(self, case: TrialCase) -> SearchProbe:
        """Return the result of a pass with these parameters, run at most once."""
        name = content_key(case.identity())
        if name not in self._probes:
            self._probes[name] = self.run(case)
        return self._probes[name]

    def run(self, case: TrialCase) -> SearchProbe:
        """Run a pass and return its result."""
        timed_pass = run_pass(self.index, case, self.queries, self.hit_rule.k, self.warmup, 0)
        qps = (len(timed_pass.queries) - timed_pass.errors) / timed_pass.seconds
        return SearchProbe(score_pass(timed_pass, self.hit_rule), qps)


class RangeMatch(NamedTuple):
    """The value found in a range."""

    value: int
    note: str
    searches: int  # number of values that were tried

    def to_dict(self) -> dict[str, Any]:
        """Return the match as it is stored in `matched.json`."""
        return {"value": self.value, "note": self.note, "tried": self.searches}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Self:
        """Return the match of a stored entry."""
        return cls(entry["value"], entry["note"], entry["tried"])


def first_reaching(value_range: ParameterRange, reaches: Callable[[int], bool]) -> int:
    """Return the smallest value that reaches the goal, or the largest if none does.

    Values are doubled first and then bisected, so that expensive values are tried only if needed.

    >>> first_reaching(ParameterRange(8, 512), lambda value: value >= 37)
    37
    >>> first_reaching(ParameterRange(8, 32), lambda value: value > 99)
    32
    """
    too_low, value = value_range.low - 1, value_range.low
    while not reaches(value):
        if value == value_range.high:
            return value
        too_low, value = value, min(max(2 * value, value + 1), value_range.high)
    while value - too_low > 1:
        middle = (too_low + value) // 2
        too_low, value = (too_low, middle) if reaches(middle) else (middle, value)
    return value


def find_matching_value(
    value_range: ParameterRange, goals: RecallGoals, probe: Callable[[int], SearchProbe]
) -> RangeMatch:
    """Return the smallest value of a range that reaches the goals, with a note.

    If the first goal is approximate, the value before it may be nearer, which makes the recalls of two
    indexes more equal.
    """
    probes: dict[int, SearchProbe] = {}

    def probe_at(value: int) -> SearchProbe:
        if value not in probes:
            probes[value] = probe(value)
        return probes[value]

    def distance(value: int) -> float:
        return abs(probe_at(value).goal_value(first_goal) - first_goal.minimum)

    first_goal = goals[0]
    value = first_reaching(value_range, lambda value: probe_at(value).reaches(goals))
    note = _match_note(value_range, goals, value, probe_at(value))
    if first_goal.is_approximate and value > value_range.low and probe_at(value).reaches(goals):
        value = min(value, value - 1, key=distance)
        measure = first_goal.measure_name(probe_at(value).hits.k)
        note = f"nearest in {value_range} to {measure} = {first_goal.minimum:g}"
    adjacent = range(max(value - 1, value_range.low), min(value + 1, value_range.high) + 1)
    notes = [note, *_falling_notes(goals, {other: probe_at(other) for other in adjacent})]
    return RangeMatch(value, "; ".join(notes), len(probes))


def _match_note(value_range: ParameterRange, goals: RecallGoals, value: int, probe: SearchProbe) -> str:
    k = probe.hits.k
    goal_text = " and ".join(f"{goal.measure_name(k)} ≥ {goal.minimum:g}" for goal in goals)
    missed_goals = [goal for goal in goals if not probe.reaches((goal,))]
    if missed_goals:
        shortfalls = " and ".join(
            f"{goal.measure_name(k)} by {goal.minimum - probe.goal_value(goal):.4f}" for goal in missed_goals
        )
        return f"{goal_text} is not reached in {value_range}: the largest value misses {shortfalls}"
    if value == value_range.low:
        values = " and ".join(f"{goal.measure_name(k)} {probe.goal_value(goal):.4f}" for goal in goals)
        return f"the smallest value of {value_range} is above {goal_text}: {values}"
    return f"smallest in {value_range} with {goal_text}"


def _falling_notes(goals: RecallGoals, probes: dict[int, SearchProbe]) -> list[str]:
    """Return notes on measures that fall although the value grows."""
    notes = []
    for goal in goals:
        for low, high in pairwise(sorted(probes)):
            low_value, high_value = probes[low].goal_value(goal), probes[high].goal_value(goal)
            if high_value < low_value - _TOLERANCE:
                name = goal.measure_name(probes[low].hits.k)
                notes.append(f"{name} falls from {low_value:.4f} at {low} to {high_value:.4f} at {high}")
    return notes
