"""What an index is chosen by: figures of a trial, and the floors they must reach."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.indexes.hosting.percentiles import PERCENTILES
from assay.indexes.study.observed import Observed
from assay.indexes.trials import Trial

Rows = NDArray[np.int64]
LATENCIES = tuple(f"p{p:g}_ms" for p in PERCENTILES)
MORE = ("recall", "qps", "capacity")
LESS = (*LATENCIES, "memory_mb", "disk_mb", "build_seconds", "cost")
_ROBUSTNESS = re.compile(r"robustness-(\d*\.?\d+)")
_RULE = re.compile(r"\s*([^<>=\s]+)\s*(=|>=|<=|≥|≤)\s*([^<>=\s]+)\s*")
LEVEL = 0.95  # of all intervals, as in the trials


class Figure(NamedTuple):
    """A figure of trials, by the name it has on the command line."""

    name: str
    more: bool = True  # whether more of it is better
    delta: float | None = None  # of robustness

    @property
    def of_queries(self) -> bool:
        """Whether it is a figure of the queries, so that each part of them has its own."""
        return self.name == "recall" or self.delta is not None

    def better(self, one: float, other: float) -> bool:
        """Whether the first of two values is better."""
        return one > other if self.more else one < other


class Floor(NamedTuple):
    """The least that a figure must reach, or the most it may be where less is better."""

    figure: Figure
    value: float

    @property
    def words(self) -> str:
        """The floor in words.

        >>> read_floor("p99_ms=5").words
        'p99_ms at most 5'
        """
        return f"{self.figure.name} {'at least' if self.figure.more else 'at most'} {self.value:g}"

    def holds(self, value: float) -> bool:
        """Whether a value reaches it, but for the last digit of a sum.

        >>> Floor(Figure("recall"), 0.3).holds(0.1 * 3 - 1e-16), Floor(Figure("recall"), 0.3).holds(0.29)
        (True, False)
        """
        slack = 1e-12 * max(1.0, self.value)
        return value >= self.value - slack if self.figure.more else value <= self.value + slack


class Known(NamedTuple):
    """What is known of a figure of one trial."""

    value: float
    low: float | None = None  # the interval (95 %) over queries, or the least and the most of the passes
    high: float | None = None
    n: int | None = None
    over: str = "stated"  # what n counts: queries, passes, searches; "once", or "stated" by others

    def worst(self, figure: Figure) -> float | None:
        """The end that is worse."""
        return self.low if figure.more else self.high


def figure(name: str) -> Figure:
    """A figure by its name.

    >>> figure("Robustness-0.30"), figure("p99_ms").more
    (Figure(name='robustness-0.3', more=True, delta=0.3), False)
    """
    lower = name.strip().lower()
    found = _ROBUSTNESS.fullmatch(lower)
    if found:
        return _robustness(float(found[1]))
    if lower in MORE or lower in LESS:
        return Figure(lower, lower in MORE)
    names = [*MORE, "robustness-0.3", *LESS]
    near = get_close_matches(lower, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    raise InputError(f"there is no figure {name!r}; {hint}")


def _robustness(delta: float) -> Figure:
    if not 0 < delta <= 1:
        raise InputError(f"the δ of robustness is above 0 and at most 1, found {delta:g}")
    return Figure(f"robustness-{delta:g}", True, delta)


def dominates(axes: Sequence[Figure], one: Sequence[float], other: Sequence[float]) -> tuple[Figure, ...]:
    """The figures in which one is better than another that it dominates; none where it does not.

    >>> qps, recall = figure("qps"), figure("recall")
    >>> [of.name for of in dominates((qps, recall), (9, 0.8), (8, 0.8))], dominates((qps,), (8,), (8,))
    (['qps'], ())
    """
    pairs = list(zip(axes, one, other, strict=True))
    if any(of.better(theirs, own) for of, own, theirs in pairs):
        return ()
    return tuple(of for of, own, theirs in pairs if of.better(own, theirs))


def read_floor(text: str) -> Floor:
    """A floor as it is written: recall=0.9; a ceiling where less is better: p99_ms=5.

    >>> read_floor("robustness-0.3>=0.99").words
    'robustness-0.3 at least 0.99'
    """
    found = _RULE.fullmatch(text)
    if not found:
        raise InputError(f"a floor is a figure and a number, such as recall=0.9; found {text!r}")
    of, sign = figure(found[1]), {"≥": ">=", "≤": "<="}.get(found[2], found[2])
    right = ">=" if of.more else "<="
    if sign not in ("=", right):
        better = "more" if of.more else "less"
        raise InputError(f"{text}: {better} {of.name} is better, so the floor is {of.name}{right}{found[3]}")
    return Floor(of, _number(found[3], of, text))


def _number(cell: str, of: Figure, text: str) -> float:
    most = 1.0 if of.of_queries else math.inf
    try:
        made = float(cell)
    except ValueError:
        made = math.nan
    if not 0 <= made <= most or math.isinf(made):
        expected = "a number from 0 to 1" if of.of_queries else "a number of 0 or more"
        raise InputError(f"{text}: expected {expected}, found {cell!r}")
    return made


def refuse_twice(floors: Iterable[Floor]) -> None:
    """Refuse two floors of one figure."""
    seen: dict[Figure, Floor] = {}
    for floor in floors:
        if floor.figure in seen:
            raise InputError(f"two floors of one figure: {seen[floor.figure].words}, {floor.words}")
        seen[floor.figure] = floor


def known(one: Observed, of: Figure, rows: Rows | None = None, price: float | None = None) -> Known | None:
    """A figure of a trial; of some of its queries where it is of queries and these are kept.

    The price is that of an hour of the machine. None where the figure is not known.
    """
    if of.of_queries:
        return _of_queries(one, of, rows)
    if of.name == "cost":
        return _cost(one.trial, price)
    return _measured(one.trial, of.name)


def _of_queries(one: Observed, of: Figure, rows: Rows | None) -> Known | None:
    part = one if rows is None else one.among(rows)
    found = part.recall if of.delta is None else part.robustness(of.delta, LEVEL)
    if found.value is None:
        return None
    return Known(found.value, found.low, found.high, found.n or None, "queries" if found.n else "stated")


def _cost(trial: Trial, price: float | None) -> Known | None:
    """What a million queries cost at the throughput of the trial."""
    if price is None:
        raise InputError("cost is told from the price of an hour of the machine: give it (--price 0.5)")
    rate = _measured(trial, "capacity" if trial.mode == "capacity" else "qps")
    if rate is None or not rate.value:
        return None

    def cost(qps: float | None) -> float | None:
        return price / (qps * 3600) * 1e6 if qps else None

    return Known(float(cost(rate.value) or 0), cost(rate.high), cost(rate.low), rate.n, rate.over)


def _measured(trial: Trial, name: str) -> Known | None:
    """A figure of time or size: as measured, else as its own harness states it."""
    spread = {"qps": trial.qps, "capacity": trial.capacity}.get(name)
    if spread is not None and spread.repetitions == 1:  # what passes differ by is not known
        return Known(spread.median, n=1, over="passes")
    if spread is not None:
        return Known(spread.median, spread.low, spread.high, spread.repetitions, "passes")
    stored, unit = _STORED.get(name, (name, 1))
    if name in LATENCIES and trial.latency.get(name) is not None and not trial.saturated:
        return Known(float(trial.latency[name] or 0), n=trial.samples, over="searches")
    if stored in _COSTS and getattr(trial, stored) is not None:
        return Known(getattr(trial, stored) / unit, n=1, over="once")
    stated = trial.reported.get(stored)
    return None if stated is None else Known(stated / unit)


_STORED = {"memory_mb": ("memory_bytes", 2**20), "disk_mb": ("disk_bytes", 2**20)}
_COSTS = ("build_seconds", "memory_bytes", "disk_bytes")
