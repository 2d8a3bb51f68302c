"""The index that is best at one figure among those that reach the floors of others, and why the rest lost.

It is chosen on one part of the queries, by the figures as they are there, and confirmed on the other: what
wins among many has been lucky as well, and only queries that had no part in the choice tell how much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import InputError
from assay.indexes.choice import words
from assay.indexes.choice.floors import (
    LATENCIES,
    LESS,
    MORE,
    Figure,
    Floor,
    Known,
    Rows,
    dominates,
    figure,
    known,
    read_floor,
    refuse_twice,
)
from assay.indexes.foreign.curves import place
from assay.indexes.study.observed import Observed, Study
from assay.indexes.trials import Trial

_STANDS = {"holds": "confirmed", "open": "cannot be decided", "misses": "not confirmed"}
_DELTA = 0.1  # where no other is named: the queries that nearly nothing is found for


class Parts(NamedTuple):
    """The queries that are chosen on, and those that are held out."""

    choosing: Rows
    held: Rows
    share: float
    seed: int


@dataclass(frozen=True)
class Candidate:
    """A trial in the choice."""

    name: str
    trial: Trial
    figures: Mapping[Figure, Known | None]  # on the part that is chosen on
    out: str = ""  # why it cannot be chosen, whatever the floors are
    misses: tuple[Floor, ...] = ()
    dominated_by: str | None = None  # the best that is as good in every figure and better in some
    better_in: tuple[Figure, ...] = ()  # the figures in which that is better
    on_front: bool = False
    fitted: bool = False  # its parameters were found on all queries: none are held out from it

    @property
    def meets(self) -> bool:
        """Whether it can be chosen, and reaches every floor."""
        return not self.out and not self.misses

    def value(self, of: Figure) -> float:
        """A figure that is known."""
        found = self.figures[of]
        assert found is not None
        return found.value


class Check(NamedTuple):
    """A floor held against the winner."""

    floor: Floor
    known: Known | None
    status: str  # holds; open: the value reaches it, the worse end of the interval does not; misses


@dataclass(frozen=True)
class Confirmation:
    """What the queries that had no part in the choice say of the winner."""

    verdict: str  # one of words.SAID
    checks: tuple[Check, ...]
    objective: Known | None


@dataclass(frozen=True)
class Selection:
    """The choice, and what it rests on."""

    study: Study
    k: int
    floors: tuple[Floor, ...]
    objective: Figure
    axes: tuple[Figure, ...]  # the figures by which one trial dominates another
    unknown: tuple[Figure, ...]  # left out of the axes: not every trial has them
    parts: Parts | None
    candidates: tuple[Candidate, ...]  # the winner first, then by how near they came
    confirmation: Confirmation | None
    price: float | None = None

    @property
    def winner(self) -> Candidate | None:
        """The best of those that reach all floors; None where none does."""
        return next((one for one in self.candidates if one.meets), None)

    @property
    def front(self) -> list[Candidate]:
        """The Pareto set: those that no other dominates, whether they reach the floors or not."""
        return [one for one in self.candidates if one.on_front]

    def to_dict(self) -> dict[str, Any]:
        """The choice as plain data, with the keys that `assay select --format json` prints."""
        return words.to_dict(self)


def select(
    study: Study,
    floors: Sequence[str] = (),
    objective: str = "qps",
    *,
    price: float | None = None,
    confirm: float = 0.5,
    seed: int = 0,
) -> Selection:
    """Choose by floors such as "recall=0.9" and one objective; `confirm` is the share that is held out."""
    rules, aim = tuple(map(read_floor, floors)), figure(objective)
    refuse_twice(rules)
    k = study.data.k if study.data else study.k
    parts = _parts(study, confirm, seed)
    rows = parts.choosing if parts else None
    named = tuple(dict.fromkeys([aim, *(floor.figure for floor in rules)]))
    wanted = named if len(named) > 1 else _usual(aim)
    shown = wanted if price is None else tuple(dict.fromkeys([*wanted, figure("cost")]))
    trials = [
        Candidate(
            name,
            one.trial,
            {of: known(one, of, rows, price) for of in shown},
            _unfit(one.trial, k),
            fitted=one.fitted,
        )
        for name, one in zip(_names(study.observed), study.observed, strict=True)
    ]
    axes = _axes(trials, wanted, named, study, price)
    judged = _ordered([_judged(one, axes, rules) for one in trials], axes)
    unknown = tuple(of for of in wanted if of not in axes)
    made = Selection(study, k, rules, aim, axes, unknown, parts, tuple(judged), None, price)
    return replace(made, confirmation=_confirmation(made))


def _usual(aim: Figure) -> tuple[Figure, ...]:
    """What trials are compared by where only the objective is named."""
    delta = _DELTA if aim.delta is None else aim.delta
    return tuple(dict.fromkeys([aim, figure("recall"), figure(f"robustness-{delta:g}"), figure("qps")]))


def _parts(study: Study, share: float, seed: int) -> Parts | None:
    """The queries in two parts at random; None where no answers are kept, or nothing is to be held out."""
    if not 0 <= share < 1:
        raise InputError(f"the share of queries that is held out is 0 or more and below 1, found {share:g}")
    if seed < 0:
        raise InputError(f"the seed is a whole number of 0 or more, found {seed}")
    n = next((len(one.hits.counts) for one in study.observed if one.hits is not None), 0)
    if not n or not share:
        return None
    held = round(n * share)
    if not 0 < held < n:
        raise InputError(f"{n:,} queries have no share of {share:g} to hold out: hold out another, or 0")
    order = np.random.default_rng(seed).permutation(n)
    return Parts(np.sort(order[held:]), np.sort(order[:held]), share, seed)


def _names(observed: Sequence[Observed]) -> list[str]:
    """The trials in one line each; what has the same name is told apart."""
    made = [one.trial.label for one in observed]
    for more in (lambda t: t.way, _threads, lambda t: t.key[:8]):
        several = Counter(made)
        pairs = zip(made, observed, strict=True)
        made = [f"{name} ({more(one.trial)})" if several[name] > 1 else name for name, one in pairs]
    return made


def _threads(trial: Trial) -> str:
    return words.many(trial.threads, "thread") if trial.threads else "threads not known"


def _unfit(trial: Trial, k: int) -> str:
    """Why a trial cannot be chosen."""
    if trial.status == "failed":
        return f"failed: {' '.join(trial.reason.split())}"
    if trial.indexed is False:
        return "not indexed: it answers by brute force, and its recall says nothing about an index"
    return f"scored at K = {trial.k}, and the others at {k}" if trial.k != k else ""


def _axes(
    trials: Sequence[Candidate],
    wanted: tuple[Figure, ...],
    named: tuple[Figure, ...],
    study: Study,
    price: float | None,
) -> tuple[Figure, ...]:
    """The figures that were named, which any trial must have, and those of the usual ones that all have."""
    fit = [one for one in trials if not one.out]
    there = tuple(
        of for of in wanted if (any if of in named else all)(one.figures[of] for one in fit) and fit
    )
    lacking = [of for of in named if of not in there]
    if fit and lacking:
        some = [one for one, made in zip(study.observed, trials, strict=True) if not made.out]
        others = ", ".join(_figures_there(some, wanted, price)) or "none"
        raise InputError(
            f"{_not_known(fit[0], lacking)} of any trial; known are {others}: name another floor or objective"
        )
    return there


def _figures_there(some: Sequence[Observed], wanted: tuple[Figure, ...], price: float | None) -> list[str]:
    """The names of all figures that any trial has; of robustness at the δ that is wanted, usual or stated."""
    stated = filter(None, (place(name) for one in some for name in one.trial.reported))
    deltas = {_DELTA, *(of.delta for of in wanted if of.delta), *(at.delta for at in stated)}
    names = [*MORE[:1], *(f"robustness-{delta:g}" for delta in sorted(deltas)), *MORE[1:], *LESS]
    priced = [figure(name) for name in names if name != "cost" or price is not None]
    return [of.name for of in priced if any(known(one, of, None, price) for one in some)]


def _judged(one: Candidate, axes: tuple[Figure, ...], floors: tuple[Floor, ...]) -> Candidate:
    if one.out:
        return one
    lacking = [of for of in axes if one.figures[of] is None]
    if lacking:
        return replace(one, out=_not_known(one, lacking))
    return replace(one, misses=tuple(f for f in floors if not f.holds(one.value(f.figure))))


def _not_known(one: Candidate, lacking: Sequence[Figure]) -> str:
    said = f"{' and '.join(of.name for of in lacking)}: not known"
    timed = any(of.name in LATENCIES for of in lacking)
    if timed and one.trial.saturated:
        return f"{said} (saturated: its latencies mean nothing)"
    return said + " (too few searches to tell)" * (timed and one.trial.samples > 0)


def _ordered(trials: Sequence[Candidate], axes: tuple[Figure, ...]) -> list[Candidate]:
    """The trials by the objective, then the next figures, then the name; with who dominates them."""
    fit = sorted((one for one in trials if not one.out), key=lambda one: _rank(one, axes))
    placed = [_dominated(one, fit, axes) for one in fit]
    placed.sort(key=lambda one: (not one.meets, not one.on_front))  # stable
    return placed + sorted((one for one in trials if one.out), key=lambda one: one.name)


def _rank(one: Candidate, axes: tuple[Figure, ...]) -> tuple[list[float], str]:
    return [-one.value(of) if of.more else one.value(of) for of in axes], one.name


def _dominated(one: Candidate, fit: Sequence[Candidate], axes: tuple[Figure, ...]) -> Candidate:
    own = [one.value(of) for of in axes]
    for other in fit:
        better = dominates(axes, [other.value(of) for of in axes], own)
        if better:
            return replace(one, dominated_by=other.name, better_in=better)
    return replace(one, on_front=True)


def _confirmation(made: Selection) -> Confirmation | None:
    if made.winner is None:
        return None
    one = next(one for one in made.study.observed if one.trial is made.winner.trial)
    rows = made.parts.held if made.parts else None
    checks = tuple(_check(floor, known(one, floor.figure, rows, made.price)) for floor in made.floors)
    return Confirmation(
        _verdict(checks, made.parts is not None and one.hits is not None and not one.fitted),
        checks,
        known(one, made.objective, rows, made.price),
    )


def _check(floor: Floor, found: Known | None) -> Check:
    if found is None:
        return Check(floor, None, "open")
    if not floor.holds(found.value):
        return Check(floor, found, "misses")
    worst = found.worst(floor.figure)
    if worst is None:  # a single figure holds or not; one of queries or passes is not sure by itself
        several = floor.figure.of_queries or found.over == "passes"
        return Check(floor, found, "open" if several else "holds")
    return Check(floor, found, "holds" if floor.holds(worst) else "open")


def _verdict(checks: Sequence[Check], held_out: bool) -> str:
    if not held_out:
        return "not held out"
    found = {check.status for check in checks if check.floor.figure.of_queries}
    return next((_STANDS[s] for s in ("misses", "open", "holds") if s in found), "nothing to confirm")
