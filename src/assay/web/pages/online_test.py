"""One A/B test: sample ratio, guardrails, metrics, time and slices."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.online_records import AB_TEST, BASELINE, CANDIDATE
from assay.online.ab.status import UNHEALTHY
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
from assay.views.online_series import read_arm_series, read_test_series
from assay.web.online_charts import share_axis, time_chart
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.online_pages import OnlineRecordRequest, StoredOnlineRecord, show_online_record
from assay.workflows.system_numbers import number_systems

_ROLES = ("goal", "secondary")
_COPIED = ("metric", "role", "variant", "p", "corrected_p", "method", "reason")
_GUARDRAIL_WORDS = {"passed": ("better", "holds"), "failed": ("worse", "breached")}


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
    body, name = value.record.body, value.record.name
    status = str(body.get("status") or "No data")
    rows = _rows(body.get("metrics") or (), _checks(body), status)
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    metric = parameters.metric if parameters.metric in metrics else _main_metric(rows)
    numbers = number_systems([e.name for e in value.experiments.values()], context.store)
    parts = {
        "test": value,
        "body": body,
        "numbers": numbers,
        "banner": _banner(body, status),
        "progress": body.get("progress") or {},
        "ratio": _ratio(body.get("srm") or {}),
        "untrusted": "not to be trusted: see the status above" if status == UNHEALTHY else "",
        "save": shlex.quote(name),
        "groups": _groups(rows),
        "axis": share_axis([row["relative"] for row in rows]),
        "metrics": metrics,
        "metric": metric,
        "over_time": _over_time(value, metric),
        "by_variant": _by_variant(value, metric, numbers),
        "variants": list(dict.fromkeys(row["variant"] for row in rows)),
        "novelty": [describe_novelty(c) for c in body.get("novelty", ()) if c.get("metric") == metric],
        "phases": _phases(body),
        **_slices(body, metric, status),
    }
    return View(f"A/B test {name}", f"assay online ab EVENTS --save {shlex.quote(name)}", parts)


def _banner(body: Mapping[str, Any], status: str) -> dict[str, Any]:
    """Return the status with its evidence; without the metrics, if they are not to be trusted."""
    metrics = "" if status == UNHEALTHY else describe_evidence(body)
    sentences = [text for text in (metrics, describe_reasons(body), advice_of(status)) if text]
    evidence, *readings = sentences or [""]
    return {"state": state_of(status), "title": status, "evidence": evidence, "readings": readings}


def _checks(body: Mapping[str, Any]) -> dict[tuple[Any, Any], str]:
    """Return the status of the check of each variant and metric."""
    return {
        (verdict.get("variant"), check.get("metric")): str(check.get("status"))
        for verdict in body.get("verdicts") or ()
        for check in verdict.get("checks") or ()
    }


def _rows(
    rows: Sequence[Mapping[str, Any]], checks: Mapping[tuple[Any, Any], str], status: str
) -> list[dict[str, Any]]:
    """Return the differences with how each is marked; nothing is shown by a test that is unhealthy."""
    marked = [_row(row, checks.get((row.get("variant"), row.get("metric")), "")) for row in rows]
    hidden = {"state": "open", "words": "not trusted"} if status == UNHEALTHY else {}
    return [{**row, **hidden} for row in marked]


def _slices(body: Mapping[str, Any], metric: str, status: str) -> dict[str, Any]:
    """Return a metric in each slice on one axis, and whether its effect differs between them."""
    parts = [part for part in body.get("slices") or () if part.get("metric") == metric]
    contrasts = [c for c in body.get("heterogeneity") or () if c.get("metric") == metric]
    rows = _rows(parts, {}, status)
    return {
        "slices": [{**row, "part": part} for row, part in zip(rows, parts, strict=True)],
        "slice_axis": share_axis([row["relative"] for row in rows]),
        "slice_contrasts": [describe_heterogeneity(contrast) for contrast in contrasts],
    }


def _row(row: Mapping[str, Any], check: str) -> dict[str, Any]:
    """Return one metric of one variant with how it is marked."""
    state = row.get("direction") or "open"
    words = state
    if row.get("role") == "guardrail" and check:
        state, words = _GUARDRAIL_WORDS.get(check, ("open", "open"))
    return {
        **{key: row.get(key) for key in _COPIED},
        "control": row.get("control") or {},
        "treatment": row.get("treatment") or {},
        "difference": row.get("difference") or {},
        "relative": row.get("relative") or {},
        "state": state,
        "words": words,
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


def _ratio(srm: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the box of the sample ratio says."""
    return {
        "sentence": describe_ratio(srm),
        "state": "worse" if srm.get("is_mismatch") or srm.get("mismatches") else "same",
        "rows": _ratio_rows(srm),
        "missing": describe_missing(srm),
        "srm": srm,
    }


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


def _phases(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the units of each variant and their share in each phase; none if the shares did not change."""
    phases = body.get("phases") or ()
    if len(phases) < 2:
        return []
    rows = []
    for phase in phases:
        total = sum(phase["observed"].values())
        units = {name: (n, n / total if total else None) for name, n in phase["observed"].items()}
        rows.append({"first": phase["first"], "last": phase["last"], "units": units})
    return rows


def _over_time(value: StoredOnlineRecord, metric: str) -> dict[str, Any] | None:
    """Return the chart of the difference over time."""
    series = read_test_series(value.earlier, metric)
    if series is None:
        return None
    return {"kind": series.kind, "chart": time_chart(series.lines, with_zero=True), "lines": series.lines}


def _by_variant(value: StoredOnlineRecord, metric: str, numbers: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the chart of the metric itself in each variant, of the units that came on each day.

    With both offline experiments, control and variant have the colours of these systems.
    """
    lines = read_arm_series(value.record.body, metric)
    if not any(len(points) > 1 for points in lines.values()):
        return None
    sides = [
        numbers[value.experiments[role].name] for role in (BASELINE, CANDIDATE) if role in value.experiments
    ]
    is_known = len(set(sides)) == len(lines) == 2
    colours = dict(zip(lines, sides, strict=True)) if is_known else None
    return {"chart": time_chart(lines, numbers=colours), "lines": lines}


PAGES = (Page("/online/tests/{test_id:path}", "", "online_test.html", read, present, OnlineTestParameters),)
ACTIONS: tuple[Action, ...] = ()
