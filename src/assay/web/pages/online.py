"""What users did: A/B tests with their status, interleaving, online metrics over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.online_records import OnlineRecord
from assay.views.online_pages import describe_interleaving, describe_tests, goals_of, state_of
from assay.views.online_series import (
    ALL,
    TimePoint,
    metric_names,
    read_metric_series,
    read_slices,
)
from assay.views.predict import describe_prediction
from assay.web.online_charts import share_axis, time_chart
from assay.web.page import Action, Context, Page, Parameters, View
from assay.web.rendering import axis_of
from assay.workflows.online_pages import OnlineOverview, OnlineRequest, summarize_online

_SHOWN_SLICES = 50


class OnlineParameters(Parameters):
    """The online metric of the chart over time, and the name of the records that it is read from."""

    metric: str = ""
    name: str = ""  # empty: that of the newest record


def read(context: Context, parameters: OnlineParameters) -> OnlineOverview:
    """Return all online evidence of the store."""
    return summarize_online(OnlineRequest(store=context.store))


def present(context: Context, value: OnlineOverview, parameters: OnlineParameters) -> View:
    """Return the tests with their goals on one axis, and the metrics over time."""
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
        "log": _log(value.metrics, parameters),
        "prediction": value.prediction,
        "readings": describe_prediction(value.prediction.prediction) if value.prediction else [],
    }
    return View("Online", "assay online ab EVENTS --save NAME", parts)


def _log(records: Sequence[OnlineRecord], parameters: OnlineParameters) -> dict[str, Any] | None:
    """Return the metrics of the records of one name over time, and one of them by variant and slice."""
    if not records:
        return None
    names = list(dict.fromkeys(record.name for record in reversed(records)))
    name = parameters.name if parameters.name in names else names[0]
    own = [record for record in records if record.name == name]
    metrics = metric_names(own)
    metric = parameters.metric if parameters.metric in metrics else next(iter(metrics), "")
    series = read_metric_series(own, metric, by_variant=True)
    slices = read_slices(own[-1], metric)
    shown = [point for _, _, point in slices]
    return {
        "names": names,
        "name": name,
        "metric": metric,
        "record": own[-1],
        "rows": [_metric_row(name, own) for name in metrics],
        "definition": (own[-1].body.get("definitions") or {}).get(metric, ""),
        "series": series,
        "chart": time_chart(series.lines) if series.is_chart else None,
        "slices": slices[:_SHOWN_SLICES],
        "more_slices": max(0, len(slices) - _SHOWN_SLICES),
        "slice_axis": axis_of([end for p in shown for end in (p.value, p.low, p.high)]),
        "problems": own[-1].body.get("problems") or (),
    }


def _metric_row(name: str, records: Sequence[OnlineRecord]) -> dict[str, Any]:
    """Return a metric of the newest record, and its values until then."""
    e: Mapping[str, Any] = (records[-1].body.get("metrics") or {}).get(name) or {}
    reason = (records[-1].body.get("reasons") or {}).get(name)
    line: Sequence[TimePoint] = read_metric_series(records, name).lines.get(ALL, ())
    values = [point.value for point in line]
    return {"name": name, "e": e, "reason": reason, "all": values if len(values) > 1 else []}


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


PAGES = (Page("/online", "Online", "online.html", read, present, OnlineParameters, key="O", is_long=True),)
ACTIONS: tuple[Action, ...] = ()
