"""Estimates from labels of people and of a model, in place of scores against one set of judgments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from assay.cli.inputs import score_order, table_files
from assay.cli.output import show_result
from assay.cli.progress import watch_run
from assay.core.errors import InputError
from assay.views.estimate import render_estimates
from assay.workflows.estimate import EstimateRequest, RunEstimates, assign_files, estimate

_UNUSED = {"save": "--save", "per_query": "--per-query", "unjudged": "--unjudged", "config": "--config"}


def show_label_estimates(
    arguments: argparse.Namespace, paths: Sequence[str], defaults: Sequence[str], is_comparison: bool = False
) -> None:
    """Estimate the measures of the runs, and print the result."""
    unused = [option for name, option in _UNUSED.items() if getattr(arguments, name, None)]
    if unused:
        raise InputError(f"{unused[0]} needs one set of judgments: leave out --human and --model")
    labels = assign_files(paths, arguments.human, arguments.model)
    files = replace(table_files(arguments, labels.runs), qrels=labels.model)
    result = estimate(
        EstimateRequest(
            files=files,
            human=labels.human,
            measures=arguments.measure or defaults,
            by=arguments.by,
            pairs=getattr(arguments, "pool", None),  # compare has no such options
            population=getattr(arguments, "population", "queries"),
            level=arguments.level,
            seed=arguments.seed,
            order=score_order(arguments),
        ),
        watch_run,
    )
    show_result(
        RunEstimates(result, is_comparison),
        arguments.format,
        lambda style: render_estimates(result.estimates, style),
    )
