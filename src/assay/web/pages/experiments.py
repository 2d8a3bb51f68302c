"""The table of experiments: filtered, sorted, and compared by ticking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.core.records import Experiment, Metric
from assay.evaluation.experiment_fields import ExperimentField
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.experiments import ExperimentList, ListExperimentsRequest, list_experiments
from assay.workflows.system_numbers import number_systems

_ROWS = 50


class ExperimentsParameters(Parameters):
    """Which experiments to show, and in which order."""

    where: str = ""
    sort: str = ""
    reverse: bool = False
    limit: int = _ROWS


def read(context: Context, parameters: ExperimentsParameters) -> ExperimentList:
    """Return the experiments that the filter admits."""
    request = ListExperimentsRequest(
        where=parameters.where,
        sort=parameters.sort,
        reverse=parameters.reverse,
        limit=parameters.limit,
        store=context.store,
    )
    return list_experiments(request)


def present(context: Context, value: ExperimentList, parameters: ExperimentsParameters) -> View:
    """Return the rows of the table and the columns by which it can be sorted."""
    command = "assay experiments list" + (f' --where "{parameters.where}"' if parameters.where else "")
    numbers = number_systems([e.name for e in value.experiments], context.store)
    rows = [_row(experiment, value.fields, numbers[experiment.name]) for experiment in value.experiments]
    return View("Experiments", command, {"rows": rows, "fields": value.fields, "has_more": value.has_more})


def _row(experiment: Experiment, fields: Sequence[ExperimentField], number: int) -> dict[str, Any]:
    metrics = {metric.measure: metric for metric in experiment.metrics if not metric.column}
    cells = [_cell(field, field.value(experiment), metrics) for field in fields]
    return {"experiment": experiment, "cells": cells, "number": number}


def _cell(field: ExperimentField, value: Any, metrics: dict[str, Metric]) -> dict[str, Any]:
    metric = metrics.get(field.key) if field.space == "metrics" else None
    return {"value": value, "is_measure": field.space == "metrics", "metric": metric}


PAGES = (
    Page("/experiments", "Experiments", "experiments.html", read, present, ExperimentsParameters, key="E"),
)
ACTIONS: tuple[Action, ...] = ()
