"""One measure over time: where results stop being comparable, where they move beyond noise, and what changed.

A trend is cut into stretches of comparable results. Within one, each point is held against the regime so
far: the mean of each query's scores over the points since the last change. The k-th look at a regime may
spend 1 / (k (k + 1)) of the error; all looks together spend no more than the whole of it, so that in a
flat series the chance of any false alarm stays below 1 - level, however long it is and however often one
looks, and a mark once given stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.core.texts import Floats
from assay.core.trends import Against, Point, Skipped, Status, Trend
from assay.evaluation.configuration import differing, flat
from assay.evaluation.readings import shown_p, signed
from assay.measures import Measure, parse
from assay.stats import paired
from assay.stats.intervals import normal_quantile
from assay.stats.spreads import Normal
from assay.store.comparable import counterpart, reasons
from assay.store.store import Store

AGAINST = ("regime", "best", "previous")
_KEPT = 0.95  # the level of the intervals that experiments keep


@dataclass
class _Seen:
    """A point with the scores of its queries, in the order of the stretch; None where they are not kept."""

    point: Point
    scores: Floats | None


@dataclass
class _Regime:
    """The points since the last change."""

    seen: list[_Seen] = field(default_factory=list)
    total: Floats | None = None  # of the scores of those that have them
    count: int = 0

    def add(self, one: _Seen) -> None:
        """Take a point in."""
        self.seen.append(one)
        if one.scores is not None:
            self.total = one.scores.copy() if self.total is None else self.total + one.scores
            self.count += 1

    def whole(self) -> _Seen:
        """The regime as if it were one point: the mean of its points."""
        points = [s.point for s in self.seen]
        mean = replace(
            points[0],
            value=_mean([p.value for p in points]),
            low=_mean([p.low for p in points]),
            high=_mean([p.high for p in points]),
        )
        return _Seen(mean, None if self.total is None else self.total / self.count)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def trend(
    store: Store,
    measure: Measure | str,
    *,
    column: str = "",
    value: str = "",
    name: str | None = None,
    where: str = "",
    limit: int | None = None,
    level: float = 0.95,
) -> Trend:
    """The series of one system (by its name, or a filter) by one measure, over all queries or one slice."""
    wanted = parse(measure)
    part = (column, value)
    found = store.list(where, names=[name] if name else (), limit=limit)[::-1]
    has = [e.metric(str(wanted), *part) is not None for e in found]
    kept = [e for e, there in zip(found, has, strict=True) if there]
    skipped = tuple(_skipped(e, str(wanted)) for e, there in zip(found, has, strict=True) if not there)
    points = _points(kept, str(wanted), part)
    paired_by_query = not column and wanted.kind in ("mean", "share")
    made: list[Point] = []
    last: list[_Seen] = []
    for start, end in _stretches(points):
        last = _read(store, kept[start:end], points[start:end], str(wanted) if paired_by_query else None)
        made += _marked(last, wanted.lower_is_better, level)
    best, previous = _ends(last, wanted.lower_is_better, level)
    return Trend(
        str(wanted), column, value, wanted.lower_is_better, level, tuple(made), skipped, best, previous
    )


def _skipped(e: Experiment, measure: str) -> Skipped:
    """Why an experiment is not in the series."""
    other = counterpart(measure, [m.measure for m in e.metrics if not m.column])
    text = f"{measure} was not measured" + (f", {other} was" if other else "")
    return Skipped(e.id, e.name, e.at, text)


def _points(kept: Sequence[Experiment], measure: str, part: tuple[str, str]) -> list[Point]:
    """The points, each with what parts it from the one before."""
    made: list[Point] = []
    before: Experiment | None = None
    for e in kept:
        metric = e.metric(measure, *part)
        assert metric is not None  # only those are kept that have it
        why = reasons(before, e, measure, column=part[0], value=part[1]) if before else []
        blocking = tuple(reason for reason in why if reason.blocks)
        made.append(
            Point(
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
                doubts=tuple(reason for reason in why if not reason.blocks),
                mark="break" if blocking else "",
                differs=changed(before, e) if before else {},
            )
        )
        before = e
    return made


def changed(before: Experiment, after: Experiment) -> dict[str, tuple[Any, Any]]:
    """The settings and the version of the code that are not the same in two experiments.

    >>> changed(Experiment("a", configuration={"ef": 40}), Experiment("a", configuration={"ef": 80}))
    {'ef': (40, 80)}
    """
    rows = differing({"before": setup(before), "after": setup(after)})
    return {key: (row["before"], row["after"]) for key, row in rows.items()}


def setup(e: Experiment) -> dict[str, Any]:
    """The settings of an experiment, with the version of its code."""
    return flat(e.configuration) | {"version of the code": e.code}


def _stretches(points: Sequence[Point]) -> list[tuple[int, int]]:
    """Where each stretch of comparable points begins and ends."""
    starts = [i for i, point in enumerate(points) if i == 0 or point.mark == "break"]
    return list(pairwise([*starts, len(points)]))


def _read(
    store: Store, kept: Sequence[Experiment], points: Sequence[Point], measure: str | None
) -> list[_Seen]:
    """The points of a stretch with their scores, each read once, the queries in the order of the first."""
    made: list[_Seen] = []
    order: list[str] | None = None
    for e, point in zip(kept, points, strict=True):
        there = measure and "scores" in e.digests and store.tables.has(e.digests["scores"])
        scores = store.scores(e, only=measure) if there else None
        if scores is None or measure not in scores.values:
            made.append(_Seen(point, None))
            continue
        order = list(scores.query_ids) if order is None else order
        made.append(_Seen(point, _in_order(scores, measure, order)))
    return made


def _in_order(scores: Scores, measure: str, order: list[str]) -> Floats:
    """The values of these queries, NaN for those that the scores do not have."""
    values = scores[measure]
    if list(scores.query_ids) == order:
        return values
    place = {query: i for i, query in enumerate(scores.query_ids)}
    rows = np.array([place.get(query, -1) for query in order])
    taken: Floats = np.where(rows >= 0, values[rows], np.nan)
    return taken


def _marked(stretch: list[_Seen], lower_is_better: bool, level: float) -> list[Point]:
    """The points of a stretch, those marked at which the measure moved."""
    regime, looks, made = _Regime(), 0, list[Point]()
    for one in stretch:
        if regime.seen:
            looks += 1  # 1/2 + 1/6 + 1/12 + … is 1: the error is spent over all looks there will ever be
            held = _against("regime", one, regime.whole(), looks * (looks + 1), level)
            moved = held is not None and held.corrected is not None and held.corrected <= 1 - level
            mark = _direction(held, lower_is_better) if moved else ""
            one.point = replace(one.point, regime=held, mark=mark)
            if mark:
                regime, looks = _Regime(), 0
        regime.add(one)
        made.append(one.point)
    return made


def _direction(held: Against | None, lower_is_better: bool) -> str:
    up = held is not None and held.difference > 0
    return "better" if up != lower_is_better else "worse"


def _ends(last: list[_Seen], lower_is_better: bool, level: float) -> tuple[Against | None, Against | None]:
    """The last point against the best and against the one before, of its stretch."""
    if len(last) < 2:
        return None, None
    now, earlier = last[-1], [one for one in last[:-1] if one.point.value is not None]
    pick = min if lower_is_better else max
    held = None
    if earlier:  # the best of many is so partly by luck: p is corrected for that
        best = pick(earlier, key=lambda one: one.point.value or 0.0)
        held = _against("best", now, best, len(earlier), level)
    return held, _against("previous", now, last[-2], 1, level)


def _against(what: str, now: _Seen, other: _Seen, questions: int, level: float) -> Against | None:
    """A point less another: query by query where both have scores, else by their intervals."""
    if now.scores is not None and other.scores is not None:
        return _by_query(what, now.scores - other.scores, other.point.id, questions, level)
    if now.point.value is None or other.point.value is None:
        return None
    difference, n = now.point.value - other.point.value, now.point.n
    first, second = _error(now.point), _error(other.point)
    if first is None or second is None:
        return Against(what, other.point.id, difference, None, None, None, None, n, "no interval", None, 0, 1)
    spread = Normal(difference, math.hypot(first, second), math.inf)
    return _made(what, other.point.id, spread, spread.two_sided(), "intervals", n, questions, level)


def _by_query(what: str, gap: Floats, other: str, questions: int, level: float) -> Against | None:
    """The mean of the differences of the queries, None where fewer than two have one."""
    gap = gap[~np.isnan(gap)]
    if len(gap) < 2:
        return None
    spread = Normal(float(gap.mean()), float(gap.std(ddof=1)) / math.sqrt(len(gap)), len(gap) - 1)
    p = float(paired.t(gap[:, None])[0])
    return _made(what, other, spread, p, "paired t", len(gap), questions, level)


def _error(point: Point) -> float | None:
    """The standard error that an interval stands for; an interval without width tells none."""
    if point.low is None or point.high is None or point.high <= point.low:
        return None
    return (point.high - point.low) / 2 / normal_quantile(0.5 + _KEPT / 2)


def _made(
    what: str,
    other: str,
    spread: Normal,
    p: float | None,
    how: str,
    n: int | None,
    questions: int,
    level: float,
) -> Against:
    low, high = spread.interval(level)
    corrected = None if p is None else min(1.0, p * questions)
    return Against(
        what, other, spread.centre, low, high, p, corrected, n, how, spread.error, spread.df, questions
    )


def watch(trend: Trend, against: str = "regime", margin: float = 0.0) -> Status:
    """Whether the newest point is a regression beyond noise, and beyond the margin if there is one.

    Against the regime it is told when it comes; against the best, for as long as it lasts.
    """
    if against not in AGAINST:
        raise InputError(f"against must be one of {', '.join(AGAINST)}, found {against!r}")
    if not 0 <= margin < math.inf:
        raise InputError(f"the margin must be 0 or more, found {margin}")
    if not trend.points:
        return Status("cannot tell", f"no experiment that was asked for has {trend.measure}")
    now = trend.points[-1]
    newer = [s for s in trend.skipped if s.at > now.at]
    if newer:
        return Status("cannot tell", f"the newest, {newer[-1].name} ({newer[-1].id}): {newer[-1].text}")
    held = now.regime if against == "regime" else getattr(trend, against)
    if held is None or held.error is None:
        return Status("cannot tell", _untold(now, trend, held))
    return _decided(trend, held, margin)


def _untold(now: Point, trend: Trend, held: Against | None) -> str:
    if now.reasons:
        return "the newest cannot be compared with those before: " + "; ".join(r.text for r in now.reasons)
    if len(trend.points) < 2:
        return "there is one experiment only, and nothing to hold it against"
    if held is not None:
        return "neither scores of the queries nor intervals are kept"
    return "the newest has no value, or shares no queries with those before"


def _decided(trend: Trend, held: Against, margin: float) -> Status:
    """The status of a difference that has a spread."""
    gain = -held.difference if trend.lower_is_better else held.difference
    one_sided = Normal(-gain, held.error or 0.0, held.df).below(margin)
    assert one_sided is not None  # what has an error has a p
    p = min(1.0, 2 * one_sided * held.questions)
    text = (
        f"{trend.measure} {signed(held.difference)} against the {held.what} "
        f"({held.how}, {shown_p(p)} after correction)"
    )
    beyond = f" by more than {margin:g}" if margin else ""
    if p <= 1 - trend.level and gain < -margin:
        return Status("regression", f"worse{beyond}: {text}")
    if margin and gain < -margin:
        return Status("cannot tell", f"it looks worse{beyond}, but the queries cannot tell: {text}")
    return Status("fine", f"not shown to be worse{beyond}: {text}")
