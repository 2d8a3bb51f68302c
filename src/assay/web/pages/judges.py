"""The labels of a model, or of any judge, against those of people, and what people should judge next."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

from pydantic import Field

from assay.judging.estimate.estimates import LabelEstimate
from assay.stats import Estimate
from assay.views.estimate import describe_estimate
from assay.views.stored_labels import describe_model_labels, judge_kappa, main_kappa, title_model_labels
from assay.web.page import Action, Context, Page, Parameters, Result, View
from assay.workflows.judgment_inputs import PROJECT
from assay.workflows.label_sources import JUDGE_MARK, LabelSource
from assay.workflows.stored_estimates import (
    DEFAULT_MEASURES,
    DEFAULT_NEXT,
    Confusion,
    JudgeComparison,
    JudgeNextRequest,
    StoredEstimateRequest,
    compare_judges,
    create_next_project,
)
from assay.workflows.system_numbers import number_systems

_MOST_NEXT = 15  # rows of what to judge next
_HEAT_STEPS = 10
_AXIS_MARGIN = 0.02  # points at the ends are not cut
_UNIT_AXIS = (-_AXIS_MARGIN, 1 + _AXIS_MARGIN)


class JudgesParameters(Parameters):
    """The labels of people and of the model, and what to estimate from them."""

    human: str = ""
    model: str = ""
    measure: list[str] = Field(default_factory=list)
    experiment: list[str] = Field(default_factory=list)
    by: str = ""
    next: int = Field(default=DEFAULT_NEXT, ge=0, le=10_000)


class NextForm(Parameters):
    """The project to make of what to judge next."""

    human: str
    model: str
    measure: list[str] = Field(default_factory=list)
    experiment: list[str] = Field(default_factory=list)
    by: str = ""
    next: int = Field(default=DEFAULT_NEXT, ge=1, le=10_000)
    name: str
    per_pair: int = Field(default=1, ge=1, le=20)


def read(context: Context, parameters: JudgesParameters) -> JudgeComparison:
    """Return both sets of labels side by side, and the estimates that they allow."""
    return compare_judges(StoredEstimateRequest(**_fields(parameters), store=context.store))


def _fields(parameters: JudgesParameters | NextForm) -> dict[str, Any]:
    return {
        "human": parameters.human,
        "model": parameters.model,
        "measures": [measure for measure in parameters.measure if measure.strip()],
        "experiments": parameters.experiment,
        "by": [parameters.by] if parameters.by else (),
        "next_count": parameters.next,
    }


def present(context: Context, value: JudgeComparison, parameters: JudgesParameters) -> View:
    """Return the confusion of both, the estimates as interval bars, and what to judge next."""
    parts: dict[str, Any] = {
        "comparison": value,
        "options": list_options(value.sources),
        "measures": parameters.measure or list(DEFAULT_MEASURES),
        "report": value.agreement,
        "columns": value.columns,
    }
    if value.agreement is None or value.confusion is None:
        return View("Judges", _command(value, parameters), parts)
    names = [e.name for e in value.experiments]
    parts |= {
        "title": title_model_labels(value.agreement),
        "evidence": describe_model_labels(value.agreement),
        "state": judge_kappa(main_kappa(value.agreement)),
        "matrix": _matrix(value.confusion),
        "kappas": _kappas(value),
        "groups": [_group(row) for row in value.rows],
        "axis": _axis(value.rows),
        "warnings": list(dict.fromkeys(text for e in value.estimates for text in e.warnings)),
        "numbers": number_systems(names, context.store),
        "next_rows": _next_rows(value),
        "next_queries": 0
        if value.next_labels is None
        else len({p.query_id for p in value.next_labels.chosen}),
        "next_total": 0 if value.next_labels is None else len(value.next_labels.chosen),
        "next_unit": "" if value.next_labels is None else value.next_labels.unit,
        "slices": value.agreement.slices,
        "texts": value.texts,
        "unit": _UNIT_AXIS,
    }
    return View("Judges", _command(value, parameters), parts)


def _command(value: JudgeComparison, parameters: JudgesParameters) -> str:
    """Return the command that gives the same; the labels of one judge or of a project are a file there."""
    human, model = (
        labels.reference if labels and labels.source.version and not labels.judge else word
        for labels, word in ((value.human, "QRELS"), (value.model, "QRELS_MODEL"))
    )
    words = ["assay judge estimate", model, "RUN --human", human]
    words += [f"-m {measure}" for measure in parameters.measure or DEFAULT_MEASURES if measure.strip()]
    return " ".join([*words, *[f"--by {parameters.by}"] * bool(parameters.by)])


def list_options(sources: Any) -> list[dict[str, Any]]:
    """Return the sets of labels to choose from, by source."""
    return [
        {"name": source.name, "sets": _sets(source)}
        for source in sources
        if source.has_qrels or source.judges
    ]


def _sets(source: LabelSource) -> list[tuple[str, str]]:
    """Return each set of labels of a source with its words."""
    is_project = source.reference.startswith(PROJECT)
    whole = f"{source.name}: {'the vote of its raters' if is_project else 'its labels'}"
    judges = [
        (f"{source.reference}{JUDGE_MARK}{judge}", f"{source.name}: {judge} ({count:,} labels)")
        for judge, count in source.judges.items()
    ]
    return [(source.reference, whole), *judges]


def _matrix(confusion: Confusion) -> list[dict[str, Any]]:
    """Return a row for each grade of people, with the share of each grade of the model."""
    rows = []
    for grade, counts in zip(confusion.scale, confusion.counts.tolist(), strict=True):
        total = sum(counts)
        shares = [count / total if total else 0.0 for count in counts]
        cells = [
            {"count": count, "share": share, "heat": min(_HEAT_STEPS - 1, int(_HEAT_STEPS * share))}
            for count, share in zip(counts, shares, strict=True)
        ]
        rows.append({"grade": grade, "cells": cells, "total": total})
    return rows


def _kappas(value: JudgeComparison) -> list[tuple[str, Estimate]]:
    assert value.agreement is not None
    pairs, bias = value.agreement.pairs, value.agreement.rater_summaries[0].bias
    names = {"none": "κ", "linear": "κ linear", "quadratic": "κ quadratic"}
    return [
        ("same grade", pairs.agreement.estimate(0)),
        *((name, pairs.kappa[key].estimate(0)) for key, name in names.items()),
        ("AC1", pairs.gwet["none"].estimate(0)),
        ("bias (model − people)", bias),
    ]


def _group(row: LabelEstimate) -> dict[str, Any]:
    """Return one measure of one experiment by both kinds of labels, by people, and by the model."""
    powered = row.estimate
    parts = (
        ("both", powered.combined, "up"),
        ("people alone", powered.human_only, ""),
        ("model alone", powered.model_only, "open"),
    )
    return {
        "run": row.target.run,
        "measure": row.target.measure,
        "rows": parts,
        "effective_n": None if powered.effective_n is None else round(powered.effective_n),
        "scale": powered.scale,
        "unit": row.sampling.unit,
        "words": describe_estimate(row),
    }


def _axis(rows: list[LabelEstimate]) -> tuple[float, float]:
    """Return one axis for all estimates; from 0 to 1 where measures lie between them."""
    ends = [
        end
        for row in rows
        for part in (row.estimate.combined, row.estimate.human_only, row.estimate.model_only)
        for end in part[:3]
        if end is not None
    ]
    return min([0.0, *ends]) - _AXIS_MARGIN, max([1.0, *ends]) + _AXIS_MARGIN


def _next_rows(value: JudgeComparison) -> list[tuple[str, int, float]]:
    """Return the queries to judge next, each with the number of its pairs."""
    if value.next_labels is None:
        return []
    chosen = value.next_labels.chosen
    counts = Counter((pair.query_id, pair.inclusion_probability) for pair in chosen)
    return [(query, n, chance) for (query, chance), n in counts.items()][:_MOST_NEXT]


def _create(context: Context, form: NextForm) -> Result:
    project = create_next_project(
        JudgeNextRequest(**_fields(form), name=form.name, per_pair=form.per_pair, store=context.store)
    )
    return Result(f"/annotate/{quote(project.name, safe='')}", "project created", {"project": project.name})


PAGES = (Page("/judges", "Judges", "judges.html", read, present, JudgesParameters, key="J", is_long=True),)
ACTIONS = (Action("/judges/next", NextForm, _create),)
