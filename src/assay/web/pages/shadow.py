"""A saved shadow report: how the answers of a candidate differ from those that users saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.views.shadow import similarity_label
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.shadow_pages import StoredShadowReport, read_shadow_page


class ShadowParameters(Parameters):
    """The report."""

    report: str = ""  # part of the path


def _read(context: Context, parameters: ShadowParameters) -> StoredShadowReport:
    return read_shadow_page(parameters.report, context.store)


def _present(context: Context, value: StoredShadowReport, parameters: ShadowParameters) -> View:
    body: Mapping[str, Any] = value.record.body
    parts = {
        "record": value.record,
        "experiments": value.experiments,
        "rollout": f"/rollouts/{quote(value.record.name, safe='')}" if value.has_rollout else "",
        "counts": body.get("counts") or {},
        "dropped": (body.get("mirror") or {}).get("dropped"),
        "left_out": (body.get("mirror") or {}).get("left_out") or {},
        "noise_floor": body.get("noise_floor") or {},
        "differing": body.get("differing") or {},
        "k": body.get("k"),
        "agreement": _agreement(body.get("agreement") or {}, int(body.get("k") or 10)),
        "latency": body.get("latency") or {},
        "errors": body.get("errors") or [],
        "failed_alone": body.get("failed_alone") or {},
        "measures": body.get("measures"),
        "queries": body.get("queries") or [],
        "judge_next": body.get("judge_next") or [],
        "problems": body.get("problems") or [],
    }
    return View(
        f"Shadow report {value.record.name}", f"assay shadow report LOG --save {value.record.name}", parts
    )


def _agreement(agreement: Mapping[str, Mapping[str, Any]], k: int) -> list[dict[str, Any]]:
    """Return a row for each similarity: the candidate with the primary, and the primary with itself."""
    names = list(agreement.get("candidate") or {})
    return [
        {
            "name": similarity_label(name, k),
            **{key: (agreement.get(key) or {}).get(name) or {} for key in _ROLES},
        }
        for name in names
    ]


_ROLES = ("candidate", "repeat", "beyond_noise")
PAGES = (Page("/shadow/{report}", "", "shadow.html", _read, _present, ShadowParameters),)
ACTIONS: tuple[Action, ...] = ()
