"""One measure over time: where results stop being comparable, and where they change beyond noise.

A trend is cut into stretches of comparable results. Within a stretch, each point is compared with the
level so far: the mean of each query's scores over the points since the last change. The k-th comparison
with a level may spend 1 / (k (k + 1)) of the error; all comparisons together spend no more than the
whole of it. So the chance of any false alarm in a flat series stays below 1 - level, however long the
series is and however often it is looked at, and a mark that was given once stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.evaluation.comparability import ComparabilityReason, comparability_reasons, find_counterpart
from assay.evaluation.configuration import differing_settings, flatten_settings
from assay.measures import Measure, parse
from assay.stats import paired_tests
from assay.stats.difference_intervals import NormalSpread
from assay.stats.distributions import normal_quantile
from assay.stats.paired_differences import subtract, subtract_means

REFERENCES = ("level", "best", "previous")
_INTERVAL_LEVEL = 0.95  # of the intervals that experiments store

ScoreReader = Callable[[Experiment, str], Scores | None]  # the scores by one measure, if they are stored


class TrendComparison(NamedTuple):
    """A point compared with a reference: the difference is point - reference."""

    reference: str  # one of REFERENCES
    other: str  # the id of that experiment; of a level, of its first
    difference: float
    low: float | None
    high: float | None
    p: float | None
    corrected_p: float | None
    n: int | None
    method: str  # `paired t` on the queries, or `intervals` of the two values
    error: float | None
    df: float
    questions: int  # the number of comparisons that p is corrected for


@dataclass(frozen=True)
class TrendPoint:
    """One experiment of a trend."""

    id: str
    name: str
    at: datetime
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    code: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[ComparabilityReason, ...] = ()  # why it cannot be compared with the point before
    doubts: tuple[ComparabilityReason, ...] = ()  # what is not known of the two, or worth knowing
    level_comparison: TrendComparison | None = None  # with the points since the last change
    mark: str = ""  # `break`, `better` or `worse`
    setting_changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # since the point before


class SkippedExperiment(NamedTuple):
    """An experiment that did not compute the measure of a trend."""

    id: str
    name: str
    at: datetime
    measure: str
    counterpart: str | None  # the same measure with other parameters, if that was computed


@dataclass(frozen=True)
class Trend:
    """One measure over time, the oldest point first."""

    measure: str
    column: str  # of the slice; empty: all queries
    slice_value: str
    lower_is_better: bool
    level: float
    points: tuple[TrendPoint, ...]
    skipped: tuple[SkippedExperiment, ...] = ()
    best: TrendComparison | None = None  # the last point against the best comparable one before
    previous: TrendComparison | None = None  # the last point against the comparable point before

    def state(self, comparison: TrendComparison) -> str:
        """`better` or `worse` if that is shown after correction, else `open`."""
        return _change_mark(comparison, self.lower_is_better, self.level) or "open"

    @property
    def breaks(self) -> list[TrendPoint]:
        """The points that cannot be compared with those before."""
        return [point for point in self.points if point.mark == "break"]

    @property
    def changes(self) -> list[TrendPoint]:
        """The points at which the measure changed beyond noise."""
        return [point for point in self.points if point.mark in ("better", "worse")]

    def point_before(self, point: TrendPoint) -> TrendPoint:
        """Return the point before one that is not the first."""
        return self.points[self.points.index(point) - 1]


@dataclass
class _ScoredPoint:
    """A point with the scores of its queries, in the order of the stretch; None if they are not stored."""

    point: TrendPoint
    scores: Floats | None


@dataclass
class _Level:
    """The points since the last change."""

    members: list[_ScoredPoint] = field(default_factory=list)
    total: Floats | None = None  # the sum of the scores of the points that have them
    count: int = 0

    def add(self, member: _ScoredPoint) -> None:
        """Add a point."""
        self.members.append(member)
        if member.scores is not None:
            self.total = member.scores.copy() if self.total is None else self.total + member.scores
            self.count += 1

    def mean_point(self) -> _ScoredPoint:
        """Return the mean of the points as one point."""
        points = [member.point for member in self.members]
        mean = replace(
            points[0],
            value=_mean([p.value for p in points]),
            low=_mean([p.low for p in points]),
            high=_mean([p.high for p in points]),
        )
        return _ScoredPoint(mean, None if self.total is None else self.total / self.count)


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined and len(defined) == len(values) else None


def make_trend(
    experiments: Sequence[Experiment],
    read_scores: ScoreReader,
    measure: Measure | str,
    *,
    column: str = "",
    value: str = "",
    level: float = 0.95,
) -> Trend:
    """Return the trend of experiments (the oldest first) by one measure, over all queries or one slice."""
    parsed_measure = parse(measure)
    name, part = str(parsed_measure), (column, value)
    measured = [e for e in experiments if e.metric(name, *part) is not None]
    skipped = tuple(_skip(e, name) for e in experiments if e.metric(name, *part) is None)
    points = _make_points(measured, name, part)
    is_paired = not column and parsed_measure.kind in ("mean", "share")
    all_points: list[TrendPoint] = []
    stretch: list[_ScoredPoint] = []
    for start, end in _stretches(points):
        stretch = _add_scores(
            measured[start:end], points[start:end], read_scores if is_paired else None, name
        )
        all_points += _mark_changes(stretch, parsed_measure.lower_is_better, level)
    best, previous = _compare_last(stretch, parsed_measure.lower_is_better, level)
    return Trend(
        name, column, value, parsed_measure.lower_is_better, level, tuple(all_points), skipped, best, previous
    )


def _skip(e: Experiment, measure: str) -> SkippedExperiment:
    counterpart = find_counterpart(measure, [m.measure for m in e.metrics if not m.column])
    return SkippedExperiment(e.id, e.name, e.at, measure, counterpart)


def _make_points(experiments: Sequence[Experiment], measure: str, part: tuple[str, str]) -> list[TrendPoint]:
    """Return the points, each with the reasons why it cannot be compared with the one before."""
    points: list[TrendPoint] = []
    before: Experiment | None = None
    for e in experiments:
        metric = e.metric(measure, *part)
        assert metric is not None  # experiments without it were skipped
        reasons = comparability_reasons(before, e, measure, column=part[0], value=part[1]) if before else []
        blocking = tuple(reason for reason in reasons if reason.blocks)
        points.append(
            TrendPoint(
                id=e.id,
                name=e.name,
                at=e.at,
                value=metric.value,
                low=metric.low,
                high=metric.high,
                n=metric.n,
                code=e.code,
                configuration=e.configuration,
                reasons=blocking,
                doubts=tuple(reason for reason in reasons if not reason.blocks),
                mark="break" if blocking else "",
                setting_changes=setting_changes(before, e) if before else {},
            )
        )
        before = e
    return points


def setting_changes(before: Experiment, after: Experiment) -> dict[str, tuple[Any, Any]]:
    """Return the settings and the version of the code that differ between two experiments.

    >>> setting_changes(Experiment("a", configuration={"ef": 40}), Experiment("a", configuration={"ef": 80}))
    {'ef': (40, 80)}
    """
    rows = differing_settings({"before": experiment_settings(before), "after": experiment_settings(after)})
    return {key: (row["before"], row["after"]) for key, row in rows.items()}


def experiment_settings(e: Experiment) -> dict[str, Any]:
    """Return the settings of an experiment, with the version of its code."""
    return flatten_settings(e.configuration) | {"version of the code": e.code}


def _stretches(points: Sequence[TrendPoint]) -> list[tuple[int, int]]:
    """Return where each stretch of comparable points begins and ends."""
    starts = [i for i, point in enumerate(points) if i == 0 or point.mark == "break"]
    return list(pairwise([*starts, len(points)]))


def _add_scores(
    experiments: Sequence[Experiment],
    points: Sequence[TrendPoint],
    read_scores: ScoreReader | None,
    measure: str,
) -> list[_ScoredPoint]:
    """Return the points of a stretch with their scores, the queries in the order of the first."""
    scored_points: list[_ScoredPoint] = []
    order: list[str] | None = None
    for e, point in zip(experiments, points, strict=True):
        scores = read_scores(e, measure) if read_scores else None
        if scores is None or measure not in scores.values:
            scored_points.append(_ScoredPoint(point, None))
            continue
        order = list(scores.query_ids) if order is None else order
        scored_points.append(_ScoredPoint(point, _reorder(scores, measure, order)))
    return scored_points


def _reorder(scores: Scores, measure: str, order: list[str]) -> Floats:
    """Return the values of these queries, NaN for those that the scores do not have."""
    values = scores[measure]
    if list(scores.query_ids) == order:
        return values
    place = {query: i for i, query in enumerate(scores.query_ids)}
    rows = np.array([place.get(query, -1) for query in order])
    reordered: Floats = np.where(rows >= 0, values[rows], np.nan)
    return reordered


def _mark_changes(stretch: list[_ScoredPoint], lower_is_better: bool, level: float) -> list[TrendPoint]:
    """Return the points of a stretch, with a mark where the measure changed."""
    current, looks, points = _Level(), 0, list[TrendPoint]()
    for member in stretch:
        if current.members:
            looks += 1  # 1/2 + 1/6 + 1/12 + … is 1: the error is spent over all looks there will ever be
            comparison = _compare("level", member, current.mean_point(), looks * (looks + 1), level)
            mark = _change_mark(comparison, lower_is_better, level)
            member.point = replace(member.point, level_comparison=comparison, mark=mark)
            if mark:
                current, looks = _Level(), 0
        current.add(member)
        points.append(member.point)
    return points


def _change_mark(comparison: TrendComparison | None, lower_is_better: bool, level: float) -> str:
    if comparison is None or comparison.corrected_p is None or comparison.corrected_p > 1 - level:
        return ""
    return "better" if (comparison.difference > 0) != lower_is_better else "worse"


def _compare_last(
    stretch: list[_ScoredPoint], lower_is_better: bool, level: float
) -> tuple[TrendComparison | None, TrendComparison | None]:
    """Compare the last point with the best and with the previous point of its stretch."""
    if len(stretch) < 2:
        return None, None
    last, earlier = stretch[-1], [member for member in stretch[:-1] if member.point.value is not None]
    pick = min if lower_is_better else max
    comparison = None
    if earlier:  # the best of many is so partly by chance: p is corrected for that
        best = pick(earlier, key=lambda member: member.point.value or 0.0)
        comparison = _compare("best", last, best, len(earlier), level)
    return comparison, _compare("previous", last, stretch[-2], 1, level)


def _compare(
    reference: str, now: _ScoredPoint, other: _ScoredPoint, questions: int, level: float
) -> TrendComparison | None:
    """Compare two points: query by query if both have scores, else by their intervals."""
    if now.scores is not None and other.scores is not None:
        return _compare_queries(
            reference, subtract(now.scores, other.scores), other.point.id, questions, level
        )
    if now.point.value is None or other.point.value is None:
        return None
    difference = subtract_means(now.point.value, other.point.value)
    n = now.point.n
    errors = _standard_error(now.point), _standard_error(other.point)
    if errors[0] is None or errors[1] is None:
        unknown = (None, None, None, None)
        return TrendComparison(reference, other.point.id, difference, *unknown, n, "no interval", None, 0, 1)
    spread = NormalSpread(difference, math.hypot(errors[0], errors[1]), math.inf)
    p = spread.two_sided()
    return _build_comparison(reference, other.point.id, spread, p, "intervals", n, questions, level)


def _compare_queries(
    reference: str, differences: Floats, other: str, questions: int, level: float
) -> TrendComparison | None:
    """Compare by the mean of the queries' differences; None if fewer than two are defined."""
    differences = differences[~np.isnan(differences)]
    n = len(differences)
    if n < 2:
        return None
    spread = NormalSpread(float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(n), n - 1)
    p = float(paired_tests.t(differences[:, None])[0])
    return _build_comparison(reference, other, spread, p, "paired t", n, questions, level)


def _standard_error(point: TrendPoint) -> float | None:
    """Return the standard error that an interval implies; None if it has no width."""
    if point.low is None or point.high is None or point.high <= point.low:
        return None
    return (point.high - point.low) / 2 / normal_quantile(0.5 + _INTERVAL_LEVEL / 2)


def _build_comparison(
    reference: str,
    other: str,
    spread: NormalSpread,
    p: float | None,
    method: str,
    n: int | None,
    questions: int,
    level: float,
) -> TrendComparison:
    low, high = spread.interval(level)
    corrected_p = None if p is None else min(1.0, p * questions)
    return TrendComparison(
        reference,
        other,
        spread.centre,
        low,
        high,
        p,
        corrected_p,
        n,
        method,
        spread.error,
        spread.df,
        questions,
    )


@dataclass(frozen=True)
class WatchStatus:
    """Whether the newest point of a trend is a regression."""

    state: str  # `fine`, `regression` or `cannot tell`
    measure: str
    problem: str = ""  # why it cannot be told: no experiment, single experiment, no interval or no value
    skipped: SkippedExperiment | None = None  # the newest experiment, if it did not compute the measure
    reasons: tuple[ComparabilityReason, ...] = ()  # why the newest cannot be compared
    comparison: TrendComparison | None = None
    p: float | None = None  # of a loss beyond the margin, corrected
    margin: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 fine, 1 regression, 3 cannot tell."""
        return {"fine": 0, "regression": 1}.get(self.state, 3)


def watch_trend(trend: Trend, against: str = "level", margin: float = 0.0) -> WatchStatus:
    """Return whether the newest point is a regression beyond noise, and beyond the margin if there is one.

    Against the level, a regression is reported when it happens; against the best, for as long as it lasts.
    """
    if against not in REFERENCES:
        raise InputError(f"against must be one of {', '.join(REFERENCES)}, found {against!r}")
    if not 0 <= margin < math.inf:
        raise InputError(f"the margin must be 0 or more, found {margin}")
    if not trend.points:
        return WatchStatus("cannot tell", trend.measure, "no experiment")
    now = trend.points[-1]
    newer = [s for s in trend.skipped if s.at > now.at]
    if newer:
        return WatchStatus("cannot tell", trend.measure, skipped=newer[-1])
    comparison = {"level": now.level_comparison, "best": trend.best, "previous": trend.previous}[against]
    if comparison is None or comparison.error is None:
        return _cannot_tell(now, trend, comparison)
    return _watch_comparison(trend, comparison, margin)


def _cannot_tell(now: TrendPoint, trend: Trend, comparison: TrendComparison | None) -> WatchStatus:
    if now.reasons:
        return WatchStatus("cannot tell", trend.measure, reasons=now.reasons)
    if len(trend.points) < 2:
        return WatchStatus("cannot tell", trend.measure, "single experiment")
    problem = "no value" if comparison is None else "no interval"
    return WatchStatus("cannot tell", trend.measure, problem)


def _watch_comparison(trend: Trend, comparison: TrendComparison, margin: float) -> WatchStatus:
    """Return the status of a comparison that has a standard error."""
    gain = -comparison.difference if trend.lower_is_better else comparison.difference
    one_sided_p = NormalSpread(-gain, comparison.error or 0.0, comparison.df).p_at_most(margin)
    assert one_sided_p is not None  # a comparison with an error has a p
    p = min(1.0, 2 * one_sided_p * comparison.questions)
    is_loss = gain < -margin
    state = "fine"
    if is_loss and p <= 1 - trend.level:
        state = "regression"
    elif is_loss and margin:
        state = "cannot tell"
    return WatchStatus(state, trend.measure, comparison=comparison, p=p, margin=margin)
