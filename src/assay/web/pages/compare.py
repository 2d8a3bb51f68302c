"""A baseline and its candidates: what the differences mean, by measure, slice and query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from assay.evaluation.compare import Comparisons
from assay.stats.comparison import Comparison
from assay.views.compare import describe_state
from assay.views.readings import cite_comparison, describe_reading
from assay.views.trends import describe_reason
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.compare_experiments import (
    CompareExperimentsRequest,
    ExperimentComparison,
    compare_experiments,
)
from assay.workflows.compare_queries import list_query_differences
from assay.workflows.experiment_texts import query_texts
from assay.workflows.system_numbers import number_systems


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
        "has_equal_names": len(set(numbers)) < len(names),
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
    listed = list_query_differences(
        comparisons, parameters.measure, parameters.against, parameters.show, parameters.offset
    )
    return {
        "measure": listed.measure,
        "measures": [str(measure) for measure in comparisons.measures],
        "name": listed.candidate,
        "counts": listed.counts,
        "axis": (-(listed.reach or 1.0), listed.reach or 1.0),
        "total": listed.total,
        "offset": listed.offset,
        "next": listed.next,
        "rows": [
            {**row._asdict(), "id": row.query_id, "text": texts.get(row.query_id, "")} for row in listed.rows
        ],
    }


PAGES = (
    Page("/compare", "Compare", "compare.html", read, present, CompareParameters, key="C", is_long=True),
)
ACTIONS: tuple[Action, ...] = ()
