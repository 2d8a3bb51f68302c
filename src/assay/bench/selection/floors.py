"""Figures of trials and the floors they must reach."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import Trial
from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.stats.percentiles import PERCENTILES

Rows = NDArray[np.int64]
LATENCIES = tuple(f"p{p:g}_ms" for p in PERCENTILES)
HIGHER_IS_BETTER = ("recall", "qps", "capacity")
LOWER_IS_BETTER = (*LATENCIES, "memory_mb", "disk_mb", "build_seconds", "cost")
_ROBUSTNESS_PATTERN = re.compile(r"robustness-(\d*\.?\d+)")
_WITHOUT_DELTA = re.compile(r"^robustness(?![-\w])", re.IGNORECASE)
_FLOOR_PATTERN = re.compile(r"\s*([^<>=\s]+)\s*(=|>=|<=|≥|≤)\s*([^<>=\s]+)\s*")
LEVEL = 0.95  # confidence level of all intervals, as in trials


class Figure(NamedTuple):
    """A figure of trials by its name on the command line."""

    name: str
    higher_is_better: bool = True  # whether a higher value is better
    delta: float | None = None  # the δ of robustness

    @property
    def is_per_query(self) -> bool:
        """Whether the figure is computed from queries, so that each part of them has its own value."""
        return self.name == "recall" or self.delta is not None

    def is_better(self, value: float, other: float) -> bool:
        """Return whether the first of two values is better."""
        return value > other if self.higher_is_better else value < other


class Floor(NamedTuple):
    """The minimum of a figure, or the maximum if lower is better."""

    figure: Figure
    value: float

    @property
    def description(self) -> str:
        """The floor as text.

        >>> parse_floor("p99_ms=5").description
        'p99_ms at most 5'
        """
        bound = "at least" if self.figure.higher_is_better else "at most"
        return f"{self.figure.name} {bound} {self.value:g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the floor as plain data."""
        condition = "at_least" if self.figure.higher_is_better else "at_most"
        return {"figure": self.figure.name, "condition": condition, "threshold": self.value}

    def is_met_by(self, value: float) -> bool:
        """Return whether a value meets the floor, up to rounding.

        >>> floor = Floor(Figure("recall"), 0.3)
        >>> floor.is_met_by(0.1 * 3 - 1e-16), floor.is_met_by(0.29)
        (True, False)
        """
        slack = 1e-12 * max(1.0, self.value)
        return value >= self.value - slack if self.figure.higher_is_better else value <= self.value + slack


class FigureEstimate(NamedTuple):
    """The value of a figure of one trial, with its interval if known."""

    value: float
    low: float | None = None  # of the interval (95 %) over queries, or the minimum of the passes
    high: float | None = None
    n: int | None = None
    over: str = "stated"  # what n counts: queries, passes, searches; "once", or "stated" if reported

    def worse_end(self, figure: Figure) -> float | None:
        """Return the worse end of the interval."""
        return self.low if figure.higher_is_better else self.high


def name_delta(text: str, delta: float | None) -> str:
    """Return a figure or a floor in which robustness without a δ has this one.

    >>> name_delta("robustness=0.99", 0.3), name_delta("robustness-0.5=0.9", 0.3), name_delta("qps", 0.3)
    ('robustness-0.3=0.99', 'robustness-0.5=0.9', 'qps')
    """
    return text if delta is None else _WITHOUT_DELTA.sub(f"robustness-{delta:g}", text.strip())


def parse_figure(name: str) -> Figure:
    """Return a figure by its name.

    >>> parse_figure("Robustness-0.30"), parse_figure("p99_ms").higher_is_better
    (Figure(name='robustness-0.3', higher_is_better=True, delta=0.3), False)
    """
    lower = name.strip().lower()
    match = _ROBUSTNESS_PATTERN.fullmatch(lower)
    if match:
        return _robustness_figure(float(match[1]))
    if lower in HIGHER_IS_BETTER or lower in LOWER_IS_BETTER:
        return Figure(lower, lower in HIGHER_IS_BETTER)
    names = [*HIGHER_IS_BETTER, "robustness-0.3", *LOWER_IS_BETTER]
    hint = did_you_mean(lower, names) or f"known figures are {', '.join(names)}"
    raise InputError(f"unknown figure {name!r}; {hint}")


def _robustness_figure(delta: float) -> Figure:
    if not 0 < delta <= 1:
        raise InputError(f"the δ of robustness must be above 0 and at most 1, found {delta:g}")
    return Figure(f"robustness-{delta:g}", True, delta)


def dominating_figures(
    axes: Sequence[Figure], values: Sequence[float], others: Sequence[float]
) -> tuple[Figure, ...]:
    """Return the figures in which one row of values is better; none unless it dominates the other row.

    >>> qps, recall = parse_figure("qps"), parse_figure("recall")
    >>> [figure.name for figure in dominating_figures((qps, recall), (9, 0.8), (8, 0.8))]
    ['qps']
    >>> dominating_figures((qps,), (8,), (8,))
    ()
    """
    pairs = list(zip(axes, values, others, strict=True))
    if any(figure.is_better(other, value) for figure, value, other in pairs):
        return ()
    return tuple(figure for figure, value, other in pairs if figure.is_better(value, other))


def parse_floor(text: str) -> Floor:
    """Parse a floor such as recall=0.9, which is a maximum if lower is better: p99_ms=5.

    >>> parse_floor("robustness-0.3>=0.99").description
    'robustness-0.3 at least 0.99'
    """
    match = _FLOOR_PATTERN.fullmatch(text)
    if not match:
        raise InputError(f"a floor is a figure and a number, such as recall=0.9; found {text!r}")
    figure, sign = parse_figure(match[1]), {"≥": ">=", "≤": "<="}.get(match[2], match[2])
    expected_sign = ">=" if figure.higher_is_better else "<="
    if sign not in ("=", expected_sign):
        better = "more" if figure.higher_is_better else "less"
        expected = f"{figure.name}{expected_sign}{match[3]}"
        raise InputError(f"{text}: {better} {figure.name} is better, so write the floor as {expected}")
    return Floor(figure, _parse_number(match[3], figure, text))


def _parse_number(cell: str, figure: Figure, text: str) -> float:
    maximum = 1.0 if figure.is_per_query else math.inf
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not 0 <= number <= maximum or math.isinf(number):
        expected = "a number from 0 to 1" if figure.is_per_query else "a number of 0 or more"
        raise InputError(f"{text}: expected {expected}, found {cell!r}")
    return number


def refuse_duplicate_floors(floors: Iterable[Floor]) -> None:
    """Refuse two floors of the same figure."""
    floors_by_figure: dict[Figure, Floor] = {}
    for floor in floors:
        if floor.figure in floors_by_figure:
            both = f"{floors_by_figure[floor.figure].description}, {floor.description}"
            raise InputError(f"expected one floor per figure, found {both}")
        floors_by_figure[floor.figure] = floor


def estimate_figure(
    scored_trial: ScoredTrial, figure: Figure, rows: Rows | None = None, price: float | None = None
) -> FigureEstimate | None:
    """Return a figure of a trial, restricted to some queries if it is computed from known queries.

    The price is for one hour of the machine. Returns None if the figure is not known.
    """
    if figure.is_per_query:
        return _query_estimate(scored_trial, figure, rows)
    if figure.name == "cost":
        return _cost_estimate(scored_trial.trial, price)
    return _measured_estimate(scored_trial.trial, figure.name)


def _query_estimate(scored_trial: ScoredTrial, figure: Figure, rows: Rows | None) -> FigureEstimate | None:
    part = scored_trial if rows is None else scored_trial.restrict_to(rows)
    estimate = part.recall if figure.delta is None else part.robustness(figure.delta, LEVEL)
    if estimate.value is None:
        return None
    over = "queries" if estimate.n else "stated"
    return FigureEstimate(estimate.value, estimate.low, estimate.high, estimate.n or None, over)


def _cost_estimate(trial: Trial, price: float | None) -> FigureEstimate | None:
    """Return the cost of a million queries at the throughput of the trial."""
    if price is None:
        raise InputError("cost needs the price of an hour of the machine: set it (--price 0.5)")
    rate = _measured_estimate(trial, "capacity" if trial.mode == "capacity" else "qps")
    if rate is None or not rate.value:
        return None

    def cost(qps: float | None) -> float | None:
        return price / (qps * 3600) * 1e6 if qps else None

    return FigureEstimate(float(cost(rate.value) or 0), cost(rate.high), cost(rate.low), rate.n, rate.over)


def _measured_estimate(trial: Trial, name: str) -> FigureEstimate | None:
    """Return a figure of time or size, as measured or else as reported by its harness."""
    spread = {"qps": trial.qps, "capacity": trial.capacity}.get(name)
    if spread is not None and spread.repetitions == 1:  # the spread over passes is not known
        return FigureEstimate(spread.median, n=1, over="passes")
    if spread is not None:
        return FigureEstimate(spread.median, spread.low, spread.high, spread.repetitions, "passes")
    field, unit = _TRIAL_FIELDS.get(name, (name, 1))
    if name in LATENCIES and trial.latency.get(name) is not None and not trial.saturated:
        return FigureEstimate(float(trial.latency[name] or 0), n=trial.samples, over="searches")
    if field in _SIZE_FIELDS and getattr(trial, field) is not None:
        return FigureEstimate(getattr(trial, field) / unit, n=1, over="once")
    reported_value = trial.reported.get(field)
    return None if reported_value is None else FigureEstimate(reported_value / unit)


_TRIAL_FIELDS = {"memory_mb": ("memory_bytes", 2**20), "disk_mb": ("disk_bytes", 2**20)}
_SIZE_FIELDS = ("build_seconds", "memory_bytes", "disk_bytes")
