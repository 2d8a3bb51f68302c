"""Failures: how many queries fail and why, from a bar to its queries, and from these to annotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import Field

from assay.evaluation.failures import Failure, Failures
from assay.evaluation.stage_losses import FOUND, StageLosses
from assay.views.causes import CAUSE_TEXTS, describe_evidence, describe_fix
from assay.views.failures import undetectable_causes
from assay.views.losses import describe_query_losses
from assay.views.stored_failures import describe_missing, describe_score, describe_share
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.workflows.annotate_failures import AnnotateFailuresRequest, annotate_failures
from assay.workflows.stored_failures import (
    DEFAULT_MEASURE,
    NoExperiment,
    StoredFailures,
    StoredFailuresRequest,
    find_stored_failures,
)
from assay.workflows.system_numbers import number_systems

_ROWS = 25


class FailuresParameters(Parameters):
    """The experiment, what fails, and which of the failing queries to show."""

    experiment: str = ""
    measure: str = DEFAULT_MEASURE
    below: float = 0.5
    cause: str = ""
    stage: str = ""
    column: str = ""
    value: str = ""
    offset: int = Field(0, ge=0)


class AnnotateForm(Parameters):
    """The queries that are shown."""

    experiment: str
    query: tuple[str, ...]
    per_pair: int = 1


def read(context: Context, parameters: FailuresParameters) -> StoredFailures | NoExperiment:
    """Return the failing queries of the experiment."""
    fields = parameters.model_dump(exclude={"offset"})
    return find_stored_failures(StoredFailuresRequest(**fields, store=context.store))


def present(context: Context, value: StoredFailures | NoExperiment, parameters: FailuresParameters) -> View:
    """Return the share that fails, the bars, and one page of the queries."""
    if isinstance(value, NoExperiment):
        return View("Failures", "assay failures --help", {"is_empty": True})
    experiment = value.experiment
    parts: dict[str, Any] = {
        "is_empty": False,
        "experiment": experiment,
        "experiments": value.experiments,
        "number": number_systems([experiment.name], context.store)[experiment.name],
        "missing": describe_missing(value.missing, value.unread, experiment.name),
        "failures": None,
        "losses": None if value.losses is None else _losses(value.losses),
    }
    command = f"assay experiments show {experiment.id}"
    if value.failures is None:
        return View("Failures", command, parts)
    failures = value.failures
    shown = value.shown[parameters.offset : parameters.offset + _ROWS]
    parts |= {
        "failures": failures,
        "measures": value.measures,
        "title": describe_share(failures),
        "score": describe_score(failures),
        "causes": _causes(failures),
        "slices": failures.by_slice,
        "axis": _axis(failures),
        "rows": [_row(failure, failures, value) for failure in shown],
        "total": len(value.shown),
        "failing": len(failures.failing),
        "filters": _filters(parameters),
        "base": _base(experiment.id, parameters),
        "next": parameters.offset + _ROWS if parameters.offset + _ROWS < len(value.shown) else None,
        "page": _ROWS,
        "unchecked": undetectable_causes(failures),
    }
    options = f"-m {failures.measure} --below {failures.below:g}"
    return View("Failures", f"assay failures QRELS RUN {options}", parts)


def _base(experiment: str, parameters: FailuresParameters) -> dict[str, Any]:
    """Return what every address of the page repeats."""
    return {"experiment": experiment, "measure": parameters.measure, "below": f"{parameters.below:g}"}


def _filters(parameters: FailuresParameters) -> dict[str, str]:
    """Return the filters that are set, in words and as they stand in the address."""
    filters = {"cause": parameters.cause, "stage": parameters.stage}
    if parameters.column:
        filters["slice"] = f"{parameters.column}: {parameters.value}"
    return {name: value for name, value in filters.items() if value}


def _causes(failures: Failures) -> list[dict[str, Any]]:
    """Return the likely causes, the most frequent first, as bars of the failing queries."""
    return [
        {
            "name": cause,
            "count": len(failing),
            "share": len(failing) / len(failures.failing),
            "means": CAUSE_TEXTS[cause].means,
            "fix": describe_fix(cause, failures.scope),
        }
        for cause, failing in failures.by_cause.items()
    ]


def _losses(losses: StageLosses) -> dict[str, Any]:
    """Return the waterfall: what each stage loses of what the stages before it left, and what is found."""
    parts = losses.parts()
    total = sum(part.documents for part in parts) or 1
    rows, left = [], 100.0
    for part in parts:
        width = 100 * part.documents / total
        left -= width
        is_found = part.name == FOUND
        rows.append(
            {
                "name": part.name,
                "documents": part.documents,
                "share": part.share,
                "queries": len(part.queries),
                "x": 0.0 if is_found else round(max(0.0, left), 2),
                "width": round(width, 2),
                "is_found": is_found,
            }
        )
    return {"rows": rows, "documents": total, "queries": len(losses.query_ids), "ceilings": losses.ceilings()}


def _axis(failures: Failures) -> tuple[float, float]:
    """Return the axis of the slices' shares, from zero to the highest end."""
    ends = [part.share.high for part in failures.by_slice if part.share.high is not None]
    return 0.0, max([*ends, failures.share.high or 0.0, 0.01])


def _row(failure: Failure, failures: Failures, value: StoredFailures) -> dict[str, Any]:
    losses = value.losses
    has_losses = losses is not None and failure.query_id in losses.query_ids
    address = {"experiment": value.experiment.id, "measure": failures.measure}
    return {
        "id": failure.query_id,
        "text": failure.text or "",
        "value": failure.value,
        "cause": failure.cause,
        "evidence": [(one.cause, describe_evidence(one, failures.scope)) for one in failure.evidence],
        "lost": describe_query_losses(losses, failure.query_id) if losses is not None and has_losses else "",
        "address": f"/queries/{quote(failure.query_id, safe='')}?{urlencode(address)}",
        "slices": failure.slices,
    }


def _annotate(context: Context, form: AnnotateForm) -> Result:
    created = annotate_failures(
        AnnotateFailuresRequest(
            experiment=form.experiment, query_ids=form.query, per_pair=form.per_pair, store=context.store
        )
    )
    name, pairs = created.project.name, sum(created.project.counts.values())
    return Result(
        f"/annotate/{quote(name, safe='')}", f"{pairs} pairs are in the project {name}", {"project": name}
    )


PAGES = (
    Page("/failures", "Failures", "failures.html", read, present, FailuresParameters, key="F", is_long=True),
)
ACTIONS: Sequence[Action] = (Action("/failures/annotate", AnnotateForm, _annotate, Role.JUDGE),)
