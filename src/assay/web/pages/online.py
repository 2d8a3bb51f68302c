"""What users did: A/B tests with their status, interleaving, online metrics over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.online_records import OnlineRecord
from assay.views.online_pages import describe_interleaving, describe_tests, goals_of, state_of
from assay.views.predict import describe_prediction
from assay.web.online_charts import TimePoint, time_chart
from assay.web.page import Action, Context, Page, Parameters, View
from assay.web.pages.online_test import share_axis
from assay.workflows.online_pages import OnlineOverview, OnlineRequest, summarize_online


class OnlineParameters(Parameters):
    """The online metric of the chart over time."""

    metric: str = ""


def read(context: Context, parameters: OnlineParameters) -> OnlineOverview:
    """Return all online evidence of the store."""
    return summarize_online(OnlineRequest(store=context.store))


def present(context: Context, value: OnlineOverview, parameters: OnlineParameters) -> View:
    """Return the tests with their goals on one axis, and the chart of one metric."""
    series = metric_series(value.metrics)
    metric = parameters.metric if parameters.metric in series else next(iter(series), "")
    points = series.get(metric, [])
    tests = [_test(record) for record in value.tests]
    parts = {
        "is_empty": value.is_empty,
        "banner": describe_tests([(test["record"].name, test["status"]) for test in tests]),
        "tests": tests,
        "axis": share_axis([test["goal"]["relative"] or {} for test in tests if test["goal"]]),
        "interleavings": [
            {"record": record, "banner": describe_interleaving(record.body), "body": record.body}
            for record in value.interleavings
        ],
        "metrics": [_metric_row(name, values) for name, values in series.items()],
        "metric": metric,
        "chart": time_chart(points) if len(points) > 1 else None,
        "points": points,
        "problems": value.metrics[-1].body.get("problems", ()) if value.metrics else (),
        "prediction": value.prediction,
        "readings": describe_prediction(value.prediction.prediction) if value.prediction else [],
    }
    return View("Online", "assay online ab EVENTS --save NAME", parts)


def _test(record: OnlineRecord) -> dict[str, Any]:
    body = record.body
    goals = goals_of(body)
    srm: Mapping[str, Any] = body.get("srm") or {}
    return {
        "record": record,
        "status": str(body.get("status") or "No data"),
        "state": state_of(str(body.get("status") or "No data")),
        "goal": goals[0] if goals else None,
        "goal_state": (goals[0].get("direction") or "open") if goals else "open",
        "progress": body.get("progress") or {},
        "srm_p": srm.get("p"),
        "srm_state": "worse" if srm.get("is_mismatch") or srm.get("mismatches") else "same",
        "n": sum((srm.get("observed") or {}).values()),
    }


def metric_series(records: Sequence[OnlineRecord]) -> dict[str, list[TimePoint]]:
    """Return the values of each metric over time: the days of the newest record, else one for each record."""
    days = _day_points(records[-1].body) if records else {}
    if days:
        return days
    series: dict[str, list[TimePoint]] = {}
    for record in records:
        for name, e in (record.body.get("metrics") or {}).items():
            series.setdefault(name, []).append(_point(record.at.isoformat(), e))
    return series


def _day_points(body: Mapping[str, Any]) -> dict[str, list[TimePoint]]:
    """Return the values of each metric by day, if the record was computed by day."""
    series: dict[str, list[TimePoint]] = {}
    rows = [row for row in body.get("by", ()) if row.get("column") == "day"]
    for row in sorted(rows, key=lambda row: str(row.get("value"))):
        for name, e in (row.get("metrics") or {}).items():
            series.setdefault(name, []).append(_point(str(row.get("value")), e))
    return series


def _point(label: str, e: Mapping[str, Any]) -> TimePoint:
    return TimePoint(label, e.get("value"), e.get("low"), e.get("high"), e.get("n"))


def _metric_row(name: str, points: Sequence[TimePoint]) -> dict[str, Any]:
    return {"name": name, "last": points[-1], "all": [point.value for point in points], "count": len(points)}


PAGES = (Page("/online", "Online", "online.html", read, present, OnlineParameters, key="O"),)
ACTIONS: tuple[Action, ...] = ()
