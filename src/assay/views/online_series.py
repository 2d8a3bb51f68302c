"""Online metrics and differences over time, read from saved results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.online_records import OnlineRecord

Body = Mapping[str, Any]
ALL = "all"  # the name of a series that is not divided by variant
_DAY, _VARIANT = "day", "variant"


@dataclass(frozen=True)
class TimePoint:
    """A value at a time, with its interval and n."""

    label: str  # a day, or the time of a record
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    link: str = ""
    break_reason: str = ""  # why it is not comparable with the point before


@dataclass(frozen=True)
class TimeSeries:
    """One quantity over time, by variant or as a whole."""

    kind: str  # growing, looks, days or records
    lines: Mapping[str, Sequence[TimePoint]]

    @property
    def is_chart(self) -> bool:
        """Whether there is more than one point to draw."""
        return any(len(points) > 1 for points in self.lines.values())


def metric_names(records: Sequence[OnlineRecord]) -> list[str]:
    """Return the metrics of all records, those of the newest first."""
    return list(dict.fromkeys(name for r in reversed(records) for name in r.body.get("metrics") or ()))


def read_metric_series(records: Sequence[OnlineRecord], metric: str, by_variant: bool = False) -> TimeSeries:
    """Return a metric by day if the newest record has days, else a point for each record; oldest first."""
    if any(_rows(record.body, _DAY) for record in records[-1:]):
        return TimeSeries("days", {ALL: _read_days(records, metric)})
    lines: dict[str, list[tuple[TimePoint, Body]]] = {}
    for record in records:
        for name, e in _variants(record.body, metric):
            lines.setdefault(name, []).append((_point(record.at.isoformat(), e), record.body))
    divided = {name: line for name, line in lines.items() if name != ALL and len(line) > 1}
    shown = divided if divided and by_variant else {ALL: lines.get(ALL, [])}
    return TimeSeries("records", {name: _mark_breaks(line, metric) for name, line in shown.items()})


def _rows(body: Body, column: str) -> list[Body]:
    return [row for row in body.get("by") or () if row.get("column") == column]


def _read_days(records: Sequence[OnlineRecord], metric: str) -> list[TimePoint]:
    """Return the days of all records; a day of several records is that of the newest."""
    days: dict[str, tuple[TimePoint, Body]] = {}
    for record in records:
        for row in _rows(record.body, _DAY):
            e, label = (row.get("metrics") or {}).get(metric), row.get("value")
            if e is not None and label is not None:
                days[str(label)] = (_point(str(label), e), record.body)
    return _mark_breaks([days[label] for label in sorted(days)], metric)


def _variants(body: Body, metric: str) -> Iterator[tuple[str, Body]]:
    """Yield the metric of the whole log and of each variant."""
    if metric in (body.get("metrics") or {}):
        yield ALL, body["metrics"][metric]
    for row in _rows(body, _VARIANT):
        if row.get("value") is not None and metric in (row.get("metrics") or {}):
            yield str(row["value"]), row["metrics"][metric]


def _mark_breaks(line: Sequence[tuple[TimePoint, Body]], metric: str) -> list[TimePoint]:
    points, before = [], line[0][1] if line else {}
    for point, body in line:
        points.append(replace(point, break_reason=find_break(before, body, metric)))
        before = body
    return points


def find_break(before: Body, after: Body, metric: str) -> str:
    """Return why a metric of two records is not comparable; empty: it is.

    >>> find_break({"unit": "client_id"}, {"unit": "session_id"}, "ctr")
    'the unit changed from client_id to session_id'
    """
    units = [body.get("unit") for body in (before, after)]
    if None not in units and units[0] != units[1]:
        return f"the unit changed from {units[0]} to {units[1]}"
    definitions = [(body.get("definitions") or {}).get(metric) for body in (before, after)]
    if None not in definitions and definitions[0] != definitions[1]:
        return "the definition changed"
    caps = [(body.get("caps") or {}).get(metric) for body in (before, after)]
    return "values were cut in one of them" if (caps[0] is None) != (caps[1] is None) else ""


def read_slices(record: OnlineRecord, metric: str) -> list[tuple[str, str, TimePoint]]:
    """Return a metric in each slice but the days: the column, the value, the metric; variants first."""
    rows = [row for row in record.body.get("by") or () if row.get("column") != _DAY]
    rows.sort(key=lambda row: row.get("column") != _VARIANT)
    return [
        (
            str(row.get("column")),
            "(none)" if row.get("value") is None else str(row["value"]),
            _point("", row["metrics"][metric]),
        )
        for row in rows
        if metric in (row.get("metrics") or {})
    ]


def read_test_series(records: Sequence[OnlineRecord], metric: str) -> TimeSeries | None:
    """Return the relative difference of a metric over time, of the newest of these looks at a test.

    As it grew, if the test has days; else at each look that was saved; else day by day; else None.
    """
    body = records[-1].body
    choices = (
        TimeSeries("growing", _read_parts(body.get("over_time") or (), metric)),
        TimeSeries("looks", _read_looks(records, metric)),
        TimeSeries("days", _read_parts(body.get("days") or (), metric)),
    )
    return next((series for series in choices if series.is_chart), None)


def read_arm_series(body: Body, metric: str) -> dict[str, list[TimePoint]]:
    """Return the value of a metric in each variant, of the units that came on each day; control first."""
    control = str(body.get("control") or "control")
    lines: dict[str, dict[str, TimePoint]] = {}
    for row in body.get("days") or ():
        if row.get("metric") == metric:
            label = str(row.get("value"))
            for name, key in ((control, "control"), (str(row.get("variant")), "treatment")):
                lines.setdefault(name, {})[label] = _point(label, row.get(key) or {})
    return {name: list(points.values()) for name, points in lines.items()}


def _read_parts(rows: Sequence[Body], metric: str) -> dict[str, list[TimePoint]]:
    lines: dict[str, list[TimePoint]] = {}
    for row in rows:
        if row.get("metric") == metric:
            lines.setdefault(str(row.get("variant")), []).append(_difference(str(row.get("value")), row))
    return lines


def _read_looks(records: Sequence[OnlineRecord], metric: str) -> dict[str, list[TimePoint]]:
    lines: dict[str, list[TimePoint]] = {}
    for record in records:
        for row in record.body.get("metrics") or ():
            if row.get("metric") == metric:
                point = _difference(record.at.isoformat(), row, f"/online/tests/{record.id}")
                lines.setdefault(str(row.get("variant")), []).append(point)
    return lines


def _difference(label: str, row: Body, link: str = "") -> TimePoint:
    point = _point(label, row.get("relative") or {}, link)
    n = (row.get("difference") or {}).get("n")
    return point if n is None else replace(point, n=n)


def _point(label: str, e: Body, link: str = "") -> TimePoint:
    return TimePoint(label, e.get("value"), e.get("low"), e.get("high"), e.get("n"), link)
