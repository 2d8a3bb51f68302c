"""Health at a glance: trends, gates, failing slices, open annotation work, the newest experiments."""

from __future__ import annotations

from typing import Any

from assay.evaluation.trends import Trend
from assay.views.experiments import describe_point
from assay.views.numbers import format_signed
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.home import Home, HomeRequest, main_measures, summarize_store
from assay.workflows.system_numbers import number_systems


def read(context: Context, parameters: Parameters) -> Home:
    """Return the state of the store."""
    return summarize_store(HomeRequest(store=context.store))


def present(context: Context, value: Home, parameters: Parameters) -> View:
    """Return one sentence about the health, and the parts below it."""
    trends = [_trend(name, trend) for name, trend in value.trends]
    names = [e.name for e in value.experiments] + [name for name, _ in value.trends]
    names += [part.name for part in value.failing_slices] + [e.name for e in value.gates]
    worse = [trend for trend in trends if trend["state"] == "worse"]
    failed = [e for e in value.gates if (e.result or {}).get("verdict") == "failed"]
    parts = {
        "home": value,
        "measures": main_measures(value.experiments),
        "trends": trends,
        "numbers": number_systems(names, context.store),
        "banner": _banner(worse, [e.name for e in failed], bool(value.experiments)),
    }
    return View("Home", "assay experiments list", parts)


def _trend(name: str, trend: Trend) -> dict[str, Any]:
    """Return a trend as a sparkline with the last change."""
    changes = trend.changes
    last = changes[-1] if changes else None
    difference = last.level_comparison.difference if last and last.level_comparison else None
    points = trend.points
    return {
        "name": name,
        "measure": trend.measure,
        "values": [point.value for point in points],
        "value": points[-1].value if points else None,
        "n": points[-1].n if points else None,
        "state": last.mark if last else "open",
        "mark": points.index(last) if last else None,
        "at": last.at if last else None,
        "compared": {"baseline": trend.point_before(last).id, "candidate": last.id} if last else {},
        "breaks": len(trend.breaks),
        "words": describe_point(last, trend) if last else "no change beyond noise",
        "difference": "" if difference is None else format_signed(difference),
    }


def _banner(worse: list[dict[str, Any]], failed: list[str], has_experiments: bool) -> dict[str, str] | None:
    if not has_experiments:
        return None
    if worse:
        names = ", ".join(trend["name"] for trend in worse)
        return {"state": "worse", "title": f"{names} got worse", "evidence": worse[0]["words"]}
    if failed:
        return {"state": "failed", "title": f"The gate of {', '.join(failed)} failed", "evidence": ""}
    return {"state": "same", "title": "Nothing is shown to have got worse", "evidence": ""}


PAGES = (Page("/", "Home", "home.html", read, present, Parameters, key="H"),)
ACTIONS: tuple[Action, ...] = ()
