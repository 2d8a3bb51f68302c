"""One A/B test: sample ratio, guardrails, metrics, time and slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.online_records import AB_TEST, OnlineRecord
from assay.views.online_pages import (
    advice_of,
    describe_evidence,
    describe_heterogeneity,
    describe_missing,
    describe_novelty,
    describe_ratio,
    describe_reasons,
    state_of,
)
from assay.web.online_charts import TimePoint, time_chart
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.online_pages import OnlineRecordRequest, StoredOnlineRecord, show_online_record
from assay.workflows.system_numbers import number_systems

_ROLES = ("goal", "secondary")
_COPIED = ("metric", "role", "variant", "p", "corrected_p", "method", "reason")
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class OnlineTestParameters(Parameters):
    """The A/B test, and the metric of its chart over time."""

    test_id: str = ""  # part of the path
    metric: str = ""
    by: str = ""  # the column of the slices


def read(context: Context, parameters: OnlineTestParameters) -> StoredOnlineRecord:
    """Return the test."""
    request = OnlineRecordRequest(kind=AB_TEST, name=parameters.test_id, store=context.store)
    return show_online_record(request)


def present(context: Context, value: StoredOnlineRecord, parameters: OnlineTestParameters) -> View:
    """Return the box of the sample ratio, the rows of all metrics on one axis, and the charts."""
    body = value.record.body
    status = str(body.get("status") or "No data")
    srm: Mapping[str, Any] = body.get("srm") or {}
    rows = [_row(row) for row in body.get("metrics", ())]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    metric = parameters.metric if parameters.metric in metrics else _main_metric(rows)
    slices = [part for part in body.get("slices", ()) if part.get("metric") == metric]
    names = [e.name for e in value.experiments.values()]
    parts = {
        "test": value,
        "body": body,
        "numbers": number_systems(names, context.store),
        "banner": {
            "state": state_of(status),
            "title": status,
            "evidence": describe_evidence(body),
            "readings": [text for text in (describe_reasons(body), advice_of(status)) if text],
        },
        "progress": body.get("progress") or {},
        "ratio": {
            "sentence": describe_ratio(srm),
            "state": "worse" if srm.get("is_mismatch") or srm.get("mismatches") else "same",
            "rows": _ratio_rows(srm),
            "missing": describe_missing(srm),
            "srm": srm,
        },
        "groups": _groups(rows),
        "axis": share_axis([row["relative"] for row in rows]),
        "metrics": metrics,
        "metric": metric,
        "over_time": _over_time(value, metric),
        "novelty": [describe_novelty(c) for c in body.get("novelty", ()) if c.get("metric") == metric],
        "slices": [{**_row(part), "part": part} for part in slices],
        "slice_axis": share_axis([part.get("relative") or {} for part in slices]),
        "slice_contrasts": [
            describe_heterogeneity(c) for c in body.get("heterogeneity", ()) if c.get("metric") == metric
        ],
    }
    return View(f"A/B test {value.record.name}", f"assay online ab EVENTS --save {value.record.name}", parts)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one metric of one variant with how it is marked."""
    state = row.get("direction") or "open"
    return {
        **{
            key: row.get(key) for key in ("metric", "role", "variant", "p", "corrected_p", "method", "reason")
        },
        "control": row.get("control") or {},
        "treatment": row.get("treatment") or {},
        "difference": row.get("difference") or {},
        "relative": row.get("relative") or {},
        "state": state,
        "margin": _relative_margin(row),
        "lower_is_better": bool(row.get("lower_is_better")),
    }


def _relative_margin(row: Mapping[str, Any]) -> float | None:
    """Return the margin of a metric as a share of the control, if it has one."""
    margin, control = row.get("margin") or {}, (row.get("control") or {}).get("value")
    value = margin.get("value")
    if not value:
        return None
    if margin.get("is_relative"):
        return float(value)
    return abs(value / control) if control else None


def _main_metric(rows: Sequence[Mapping[str, Any]]) -> str:
    goals = [row["metric"] for row in rows if row["role"] == "goal"] or [row["metric"] for row in rows]
    return str(goals[0]) if goals else ""


def _groups(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return guardrails first, then goals and the other metrics."""
    return [
        {"role": role, "rows": own}
        for role in ("guardrail", *_ROLES)
        if (own := [row for row in rows if row["role"] == role])
    ]


def share_axis(estimates: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return a common axis of relative differences, with zero in the middle.

    >>> share_axis([{"value": 0.02, "low": -0.01, "high": 0.05}])
    (-0.05, 0.05)
    """
    ends = sorted(abs(x) for e in estimates for x in (e.get("low"), e.get("high"), e.get("value")) if x)
    finite = [end for end in ends if math.isfinite(end)]
    if not finite:
        return -0.01, 0.01
    reach = min(finite[-1], 4 * finite[len(finite) // 2])  # one wide interval does not flatten the others
    end = next((step for step in _STEPS if step >= reach), reach)
    return -end, end


def _ratio_rows(srm: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the units of each variant beside the planned ones, with their shares."""
    observed, expected = srm.get("observed") or {}, srm.get("expected") or {}
    total = sum(observed.values())
    return [
        {
            "name": name,
            "observed": observed.get(name, 0),
            "expected": expected.get(name),
            "share": observed.get(name, 0) / total if total else None,
            "planned": expected[name] / sum(expected.values()) if expected.get(name) is not None else None,
            "gap": observed.get(name, 0) - expected.get(name, 0),
        }
        for name in dict.fromkeys([*expected, *observed])
    ]


def _over_time(value: StoredOnlineRecord, metric: str) -> dict[str, Any] | None:
    """Return the chart of a metric over time: as it grew, else over saved looks, else day by day."""
    body = value.record.body
    for kind, points in (
        ("growing", _day_points(body.get("over_time", ()), metric)),
        ("looks", _look_points(value.earlier, metric)),
        ("days", _day_points(body.get("days", ()), metric)),
    ):
        if len(points) > 1:
            return {"kind": kind, "chart": time_chart(points, with_zero=True), "points": points}
    return None


def _day_points(rows: Sequence[Mapping[str, Any]], metric: str) -> list[TimePoint]:
    own = [row for row in rows if row.get("metric") == metric]
    variants = list(dict.fromkeys(row.get("variant") for row in own))
    return [_point(str(row.get("value")), row) for row in own if row.get("variant") == variants[0]]


def _look_points(records: Sequence[OnlineRecord], metric: str) -> list[TimePoint]:
    points = []
    for record in records:
        rows = [row for row in record.body.get("metrics", ()) if row.get("metric") == metric]
        if rows:
            points.append(_point(record.at.isoformat(), rows[0], f"/online/tests/{record.id}"))
    return points


def _point(label: str, row: Mapping[str, Any], link: str = "") -> TimePoint:
    e = row.get("relative") or {}
    n = (row.get("difference") or {}).get("n") or e.get("n")
    return TimePoint(label, e.get("value"), e.get("low"), e.get("high"), n, link)


PAGES = (Page("/online/tests/{test_id:path}", "", "online_test.html", read, present, OnlineTestParameters),)
ACTIONS: tuple[Action, ...] = ()
