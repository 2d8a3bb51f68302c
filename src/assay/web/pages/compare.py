"""A baseline and its candidates: what the differences mean, by measure, slice and query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from assay.core.arrays import Floats
from assay.evaluation.compare import Comparisons
from assay.stats.comparison import Comparison
from assay.stats.paired_differences import TOLERANCE, subtract
from assay.views.compare import describe_state
from assay.views.readings import cite_comparison, describe_reading
from assay.views.trends import describe_reason
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.compare_experiments import (
    CompareExperimentsRequest,
    ExperimentComparison,
    compare_experiments,
)
from assay.workflows.experiment_texts import query_texts
from assay.workflows.system_numbers import number_systems

_QUERY_ROWS = 50


class CompareParameters(Parameters):
    """The experiments to compare, and what of the comparison to show."""

    baseline: str = ""
    candidate: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    anyway: bool = False
    measure: str = ""  # of the table of queries
    against: str = ""  # the candidate of the table of queries
    show: Literal["all", "better", "worse", "equal"] = "all"
    offset: int = 0


class NoComparison:
    """What is shown before experiments are chosen."""

    def to_dict(self) -> dict[str, Any]:
        """Return nothing to compare."""
        return {"candidates": []}


def read(context: Context, parameters: CompareParameters) -> ExperimentComparison | NoComparison:
    """Return the comparison of stored scores."""
    if not parameters.baseline or not parameters.candidate:
        return NoComparison()
    return compare_experiments(
        CompareExperimentsRequest(
            baseline=parameters.baseline,
            candidates=parameters.candidate,
            by=[column for column in parameters.by if column],
            anyway=parameters.anyway,
            store=context.store,
        )
    )


def present(
    context: Context, value: ExperimentComparison | NoComparison, parameters: CompareParameters
) -> View:
    """Return the banners, the table of measures and slices, and the table of queries."""
    if isinstance(value, NoComparison):
        return View("Compare", "assay experiments compare BASELINE CANDIDATE", {"is_empty": True})
    comparisons = value.comparisons
    names = [comparisons.baseline, *comparisons.candidates]
    numbers = number_systems([e.name for e in value.experiments], context.store)
    words = ["assay experiments compare", *(e.id for e in value.experiments)]
    words += [f"--by {column}" for column in parameters.by if column]
    table = query_texts(value.experiments[0], context.store)
    slices = [] if table is None else [name for name in table.columns if name not in ("query_id", "text")]
    parts = {
        "is_empty": False,
        "experiments": list(zip(names, value.experiments, strict=True)),
        "numbers": {name: numbers[e.name] for name, e in zip(names, value.experiments, strict=True)},
        "banners": [_banner(comparisons, name) for name in comparisons.candidates],
        "rows": _rows(comparisons),
        "axis": _axis(comparisons.rows),
        "margin": comparisons.options.margin,
        "columns": slices,
        "remarks": list(dict.fromkeys(map(describe_reason, (*value.blocking, *value.remarks)))),
        "settings": comparisons.configuration,
        "queries": _queries(comparisons, parameters, {} if table is None else _texts(table)),
    }
    return View(f"{names[0]} against {', '.join(names[1:])}", " ".join(words), parts)


def _texts(table: Any) -> dict[str, str]:
    texts = table.columns.get("text", table.ids)
    return dict(zip(table.ids, texts, strict=True))


def _banner(comparisons: Comparisons, name: str) -> dict[str, Any]:
    """Return what a candidate's differences mean, with the shares of better, equal and worse queries."""
    rows = [row for row in comparisons.of_candidate(name) if not row.column]
    margin = comparisons.options.margin
    readings = [describe_reading(r) for r in comparisons.readings if r.candidate == name]
    first = rows[0]
    counts = None if first.wins is None else (first.wins, first.ties or 0, first.losses or 0)
    return {
        "name": name,
        "state": first.state(margin),
        "title": _capitalize(readings[0].partition(":")[0]),
        "evidence": cite_comparison(first),
        "readings": readings[1:],
        "counts": counts,
        "measure": first.measure,
        "n": first.difference.n,
    }


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _rows(comparisons: Comparisons) -> list[dict[str, Any]]:
    """Return one row for each measure and slice, with a cell for each candidate."""
    rows: dict[tuple[str, str, str], list[Comparison]] = {}
    for row in comparisons.rows:
        rows.setdefault((row.measure, row.column, row.value), []).append(row)
    margin = comparisons.options.margin
    return [
        {
            "measure": measure,
            "slice": cells[0].slice if column else "",
            "n": cells[0].difference.n,
            "baseline": cells[0].baseline,
            "cells": [
                {
                    "name": row.candidate_name,
                    "value": row.candidate,
                    "difference": row.difference,
                    "p": row.corrected_p,
                    "state": row.state(margin),
                    "words": describe_state(row, margin),
                }
                for row in cells
            ],
        }
        for (measure, column, _), cells in rows.items()
    ]


def _axis(rows: Sequence[Comparison]) -> tuple[float, float]:
    """Return the common axis: zero in the middle, wide enough for the intervals over all queries."""
    ends = [abs(end) for row in rows if not row.column for end in row.difference[1:3] if end is not None]
    reach = math.ceil(1.5 * max([0.01, *ends]) * 50) / 50
    return -reach, reach


def _queries(
    comparisons: Comparisons, parameters: CompareParameters, texts: dict[str, str]
) -> dict[str, Any]:
    """Return the queries by the size of their difference, one page of them."""
    measures = [str(measure) for measure in comparisons.measures]
    measure = parameters.measure if parameters.measure in measures else measures[0]
    name = parameters.against if parameters.against in comparisons.candidates else comparisons.candidates[0]
    before, after = comparisons.scores[comparisons.baseline], comparisons.scores[name]
    lower = comparisons.find(measure, name).lower_is_better
    change = subtract(after[measure], before[measure])
    gain = -change if lower else change
    order = _order(gain, parameters.show)
    shown = order[parameters.offset : parameters.offset + _QUERY_ROWS].tolist()
    reach = float(np.nanmax(np.abs(change))) if np.isfinite(change).any() else 0.0
    return {
        "measure": measure,
        "measures": measures,
        "name": name,
        "counts": {show: len(_order(gain, show)) for show in ("all", "better", "worse", "equal")},
        "axis": (-(reach or 1.0), reach or 1.0),
        "total": len(order),
        "offset": parameters.offset,
        "next": parameters.offset + _QUERY_ROWS if parameters.offset + _QUERY_ROWS < len(order) else None,
        "rows": [
            {
                "id": before.query_ids[row],
                "text": texts.get(before.query_ids[row], ""),
                "before": _number(before[measure], row),
                "after": _number(after[measure], row),
                "change": _number(change, row),
                "state": _state(float(gain[row])),
            }
            for row in shown
        ],
    }


def _order(gain: Floats, show: str) -> Any:
    """Return the rows that are shown, the largest difference first."""
    known = np.nan_to_num(gain)
    conditions = {
        "better": known > TOLERANCE,
        "worse": known < -TOLERANCE,
        "equal": np.abs(known) <= TOLERANCE,
    }
    mask = conditions.get(show, np.ones(len(known), bool))
    order = np.argsort(-np.abs(known), kind="stable")
    return order[mask[order]]


def _state(gain: float) -> str:
    return "better" if gain > TOLERANCE else "worse" if gain < -TOLERANCE else "same"


def _number(values: Floats, row: int) -> float | None:
    value = float(values[row])
    return None if math.isnan(value) else value


PAGES = (Page("/compare", "Compare", "compare.html", read, present, CompareParameters, key="C"),)
ACTIONS: tuple[Action, ...] = ()
