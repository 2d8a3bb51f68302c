"""One interleaving: which ranker users prefer."""

from __future__ import annotations

import shlex
from typing import Any

from assay.core.online_records import INTERLEAVING
from assay.views.online_pages import describe_interleaving
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.online_pages import OnlineRecordRequest, StoredOnlineRecord, show_online_record
from assay.workflows.system_numbers import number_systems


class InterleavingParameters(Parameters):
    """The interleaving."""

    interleaving_id: str = ""  # part of the path


def read(context: Context, parameters: InterleavingParameters) -> StoredOnlineRecord:
    """Return the interleaving."""
    name = parameters.interleaving_id
    return show_online_record(OnlineRecordRequest(kind=INTERLEAVING, name=name, store=context.store))


def present(context: Context, value: StoredOnlineRecord, parameters: InterleavingParameters) -> View:
    """Return the banner, and each candidate with its users for and against."""
    body = value.record.body
    comparisons: list[dict[str, Any]] = list(body.get("comparisons") or [body])
    experiments = [e.name for e in value.experiments.values()]
    parts = {
        "value": value,
        "body": body,
        "numbers": number_systems(experiments, context.store),
        "banner": describe_interleaving(body),
        "comparisons": comparisons,
        "tests": body.get("tests") or {},
        "save": shlex.quote(value.record.name),
        "beside_ab": body.get("beside_ab"),
    }
    name = value.record.name
    return View(f"Interleaving {name}", f"assay online interleave EVENTS --save {shlex.quote(name)}", parts)


PAGES = (
    Page(
        "/online/interleavings/{interleaving_id:path}",
        "",
        "online_interleaving.html",
        read,
        present,
        InterleavingParameters,
    ),
)
ACTIONS: tuple[Action, ...] = ()
