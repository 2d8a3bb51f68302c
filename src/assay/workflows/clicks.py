"""Fit click models to logs and turn clicks into judgments: what `assay judge clicks` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from assay.core.errors import InputError, UndecidableError
from assay.core.events import Problem
from assay.core.result_pages import Pages
from assay.datasets import read
from assay.datasets.output_files import refuse_inputs_as_outputs
from assay.judging.clicks.cells import count_cells
from assay.judging.clicks.evaluation import (
    AVERAGES,
    ModelComparison,
    Prediction,
    compare_models,
    predict_clicks,
)
from assay.judging.clicks.grading import DEFAULT_RULE, GradeRule
from assay.judging.clicks.harvesting import HarvestedExamination, harvest_examination
from assay.judging.clicks.human_labels import HumanAgreement, compare_with_labels
from assay.judging.clicks.model import FitSettings, FittedModel
from assay.judging.clicks.models import COMPARABLE, MODELS, fit_model
from assay.judging.clicks.pair_table import PairTable, tabulate_pairs
from assay.workflows.click_files import PageLog, read_page_log, write_pair_table, write_problems

__all__ = ["DEFAULT_RULE", "MODEL_NAMES", "ClicksRequest", "ClicksResult", "FitSettings", "judge_clicks"]

ALL = "all"
MODEL_NAMES = (*MODELS, ALL)
_SCALED = ("pbm", "ubm")
_HELD_OUT_SHARE = 0.2  # of the pages, to choose a model without a file for it
_LEAST_PAGES = 10


@dataclass(frozen=True, kw_only=True)
class ClicksRequest:
    """A log of result pages with clicks, and what to make of it."""

    pages: Sequence[str]
    model: str = "pbm"
    settings: FitSettings = field(default_factory=FitSettings)
    held_out: str | None = None
    output: str | None = None
    problems_output: str | None = None
    grade_rule: str = DEFAULT_RULE
    minimum_impressions: int = 1
    qrels: str | None = None
    relevant_from: float = 1.0
    queries: str | None = None  # ids of query texts, for logs of events
    click_actions: Sequence[str] = ("click",)
    ranks: int | None = None  # how many documents of a page to use
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("--minimum-impressions", self.minimum_impressions), ("--ranks", self.ranks)):
            if value is not None and value < 1:
                raise InputError(f"{name} expects 1 or more, found {value}")
        if self.settings.is_first_examined and self.model not in (*_SCALED, ALL):
            raise InputError(f"--first-rank-examined scales {' and '.join(_SCALED)}, not {self.model}")


@dataclass(frozen=True)
class ClicksResult:
    """A fitted click model, how well it predicts, and the relevance of pairs."""

    model: FittedModel
    log: PageLog
    prediction: Prediction
    predicted_pages: str  # training, held out, or a random share
    harvested: HarvestedExamination
    table: PairTable | None
    human: HumanAgreement | None
    comparison: ModelComparison | None
    output: str | None

    @property
    def problems(self) -> Sequence[Problem]:
        """The irregularities of the log."""
        return self.log.problems

    @property
    def intervals(self) -> Mapping[str, list[dict[str, Any]]]:
        """The intervals of the parameters, as plain data."""
        return {name: [e.to_dict() for e in row] for name, row in self.model.intervals().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as plain data, as `assay judge clicks --format json` prints it."""
        pages = self.log.pages
        return {
            "model": self.model.name,
            "pages": len(pages),
            "clicks": int(pages.clicks.sum()),
            "ranks": pages.ranks,
            "parameters": self.model.parameters,
            "intervals": self.intervals,
            "predicted_pages": {"which": self.predicted_pages, "n": self.prediction.pages},
            **self.prediction.to_dict(),
            "averages": AVERAGES,
            "fit": {**_prior(self.model.settings), **self.model.notes()},
            "harvested": self.harvested.to_dict(),
            "pairs": self.table and {**self.table.to_dict(), "output": self.output},
            "human": self.human and self.human.to_dict(),
            "models": self.comparison and self.comparison.to_dict(),
            "log": dict(self.log.counts),
            "problems": [problem.to_dict() for problem in self.problems],
        }


def _prior(settings: FitSettings) -> dict[str, float]:
    return {"prior_mean": settings.prior_mean, "prior_weight": settings.prior_weight}


def judge_clicks(request: ClicksRequest) -> ClicksResult:
    """Fit a click model, measure how well it predicts, and write the relevance of pairs."""
    rule = GradeRule.parse(request.grade_rule)
    refuse_inputs_as_outputs(
        (request.output, request.problems_output),
        (*request.pages, request.held_out, request.queries, request.qrels),
    )
    log = _read(request.pages, request)
    if request.problems_output:
        write_problems(log.problems, request.problems_output)
    _check_clicks(log.pages, request)
    _check_dwell(request.model, log.pages)
    held_out = _read([request.held_out], request).pages if request.held_out else None
    name, comparison = request.model, None
    if name == ALL:
        comparison = _compare(log.pages, held_out, request)
        name = next(row for row, _ in comparison.predictions if row != "rctr")
    model = fit_model(name, log.pages, request.settings)
    is_on_share = comparison is not None and held_out is None
    prediction = (
        dict(comparison.predictions)[name]
        if comparison is not None
        else predict_clicks(model, log.pages if held_out is None else held_out)
    )
    which = (
        "a random fifth of the pages" if is_on_share else "held out" if held_out is not None else "training"
    )
    table, human = _tabulate(model, rule, request)
    return ClicksResult(
        model,
        log,
        prediction,
        which,
        harvest_examination(count_cells(log.pages), request.settings.level),
        table,
        human,
        comparison,
        request.output,
    )


def _read(paths: Sequence[str], request: ClicksRequest) -> PageLog:
    log = read_page_log(paths, request.click_actions, request.queries)
    if request.ranks is not None:
        return log._replace(pages=log.pages.cut(request.ranks))
    return log


def _check_clicks(pages: Pages, request: ClicksRequest) -> None:
    if not pages.clicks.any():
        names = " or ".join(request.click_actions)
        raise UndecidableError(
            f"{', '.join(request.pages)}: expected pages with clicks, found {len(pages):,} without any; "
            f"events are clicks if they are named {names}: --click-action names others"
        )


def _check_dwell(model: str, pages: Pages) -> None:
    if model == "dwell" and pages.dwell is None:
        raise UndecidableError(
            '--model dwell needs the seconds after each click: events with times, or pages with "dwell": '
            "[null, 45.2, …]"
        )


def _compare(pages: Pages, held_out: Pages | None, request: ClicksRequest) -> ModelComparison:
    """Compare all models on held-out pages, or on a random share of the pages that are then not fitted."""
    if held_out is None:
        if len(pages) < _LEAST_PAGES:
            raise UndecidableError(f"choosing a model needs {_LEAST_PAGES} pages or more, found {len(pages)}")
        rng = np.random.default_rng(request.seed)
        is_held_out = rng.permutation(len(pages)) < _HELD_OUT_SHARE * len(pages)
        held_out, pages = pages.take(is_held_out), pages.take(~is_held_out)
    fitted = ((name, fit_model(name, pages, request.settings)) for name in COMPARABLE)
    return compare_models([(name, predict_clicks(model, held_out)) for name, model in fitted])


def _tabulate(
    model: FittedModel, rule: GradeRule, request: ClicksRequest
) -> tuple[PairTable | None, HumanAgreement | None]:
    """Return the table of pairs, written to the output, and how it agrees with human labels."""
    if not (model.has_relevance or request.output or request.qrels):
        return None, None
    table = tabulate_pairs(model, rule, request.minimum_impressions)
    if request.output:
        _check_not_empty(table)
        write_pair_table(table.frame, request.output)
    if not request.qrels:
        return table, None
    qrels = read(request.qrels, "qrels")
    human = compare_with_labels(
        table.frame, model.pairs, qrels, request.relevant_from, request.settings.level
    )
    if not human.pairs:
        ids = table.frame.select(pl.col("query_id").first(), pl.col("doc_id").first()).row(0)
        raise UndecidableError(
            f"no pair of the log has a label in {request.qrels}; the log has pairs such as {ids}: if its "
            "queries are texts, give the query table with --queries"
        )
    return table, human


def _check_not_empty(table: PairTable) -> None:
    if table.frame.is_empty():
        raise UndecidableError(
            f"no pair has {table.minimum_impressions} impressions or more: lower --minimum-impressions"
        )
