"""Matched searches: the value of a search parameter whose answers reach a target, or come nearest to it.

Recall is taken not to fall as the parameter grows, so that the value is found in a few searches; where it
falls beside the value that was found, that is said.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.core.vectors import Vectors
from assay.indexes.hits import Hits, Judge
from assay.indexes.sweeps.living import Living
from assay.indexes.sweeps.plan import Case, Goal, Goals, Range, name_of
from assay.indexes.sweeps.running import run
from assay.indexes.sweeps.summary import scored

_ENOUGH = 1e-9  # a mean of shares is not exact


class Probe(NamedTuple):
    """What one pass gave at some value."""

    hits: Hits
    qps: float

    def figure(self, goal: Goal) -> float:
        """The mean that a goal is about; NaN where no query has truth."""
        values = self.hits.recall if goal.delta is None else self.hits.reaching(goal.delta)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else np.nan

    def reaches(self, goals: Goals) -> bool:
        """Whether every goal is reached."""
        return all(self.figure(goal) >= goal.least - _ENOUGH for goal in goals)


class Probing:
    """Passes over all queries with one index, each setting once."""

    def __init__(self, index: Living, queries: Vectors, judge: Judge, warmup: int | None) -> None:
        self.index, self.queries, self.judge, self.warmup = index, queries, judge, warmup
        self._tried: dict[str, Probe] = {}

    def __call__(self, case: Case) -> Probe:
        """What a pass with these parameters gives; remembered."""
        name = name_of(case.identity())
        if name not in self._tried:
            self._tried[name] = self.look(case)
        return self._tried[name]

    def look(self, case: Case) -> Probe:
        """What a pass gives now."""
        found = run(self.index, case, self.queries, self.judge.k, self.warmup, 0)
        qps = (len(found.queries) - found.errors) / found.seconds
        return Probe(scored(found, self.judge), qps)


class Match(NamedTuple):
    """The value that was found."""

    value: int
    note: str
    tried: int  # values that were searched with


def first_reaching(wanted: Range, reaches: Callable[[int], bool]) -> int:
    """The least value that reaches; the most where none does.

    Values are doubled first and halved between then: what is dear is tried only where it must be.

    >>> first_reaching(Range(8, 512), lambda v: v >= 37), first_reaching(Range(8, 32), lambda v: v > 99)
    (37, 32)
    """
    below, at = wanted.least - 1, wanted.least
    while not reaches(at):
        if at == wanted.most:
            return at
        below, at = at, min(max(2 * at, at + 1), wanted.most)
    while at - below > 1:
        middle = (below + at) // 2
        below, at = (below, middle) if reaches(middle) else (middle, at)
    return at


def match(wanted: Range, goals: Goals, probe: Callable[[int], Probe]) -> Match:
    """The least value of a range that reaches the goals, and what is to be said about it.

    Where one goal is to be come near to, the value before it may be nearer: two indexes have the same recall
    the sooner.
    """
    tried: dict[int, Probe] = {}

    def at(value: int) -> Probe:
        if value not in tried:
            tried[value] = probe(value)
        return tried[value]

    value = first_reaching(wanted, lambda value: at(value).reaches(goals))
    aim, told = goals[0], _told(wanted, goals, value, at(value))
    if aim.near and value > wanted.least and at(value).reaches(goals):
        value = min(value, value - 1, key=lambda v: abs(at(v).figure(aim) - aim.least))
        told = f"nearest in {wanted} to {aim.measure(at(value).hits.k)} = {aim.least:g}"
    near = {v: at(v) for v in (value - 1, value, value + 1) if wanted.least <= v <= wanted.most}
    said = [told, *_falling(goals, near)]
    return Match(value, "; ".join(said), len(tried))


def _told(wanted: Range, goals: Goals, value: int, found: Probe) -> str:
    k = found.hits.k
    aimed = " and ".join(f"{goal.measure(k)} ≥ {goal.least:g}" for goal in goals)
    missed = [goal for goal in goals if not found.reaches((goal,))]
    if missed:
        by = " and ".join(f"{g.measure(k)} by {g.least - found.figure(g):.4f}" for g in missed)
        return f"{aimed} is not reached in {wanted}: the most misses {by}"
    if value == wanted.least:
        over = " and ".join(f"{goal.measure(k)} {found.figure(goal):.4f}" for goal in goals)
        return f"the least of {wanted} is above {aimed}: {over}"
    return f"least in {wanted} with {aimed}"


def _falling(goals: Goals, near: dict[int, Probe]) -> list[str]:
    """Where a figure falls although the value grows."""
    made = []
    for goal in goals:
        for low, high in pairwise(sorted(near)):
            first, second = near[low].figure(goal), near[high].figure(goal)
            if second < first - _ENOUGH:
                name = goal.measure(near[low].hits.k)
                made.append(f"{name} falls from {first:.4f} at {low} to {second:.4f} at {high}")
    return made
