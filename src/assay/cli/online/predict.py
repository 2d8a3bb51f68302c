"""assay online predict: whether offline differences predict online ones."""

from __future__ import annotations

import argparse

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_intervals, add_store
from assay.views.predict import FORMATS, render_prediction
from assay.workflows.predict import PredictRequest, predict_online

EXAMPLES = """  assay online predict
  assay online predict --metric click_through -m nDCG@10 -m R@10
  assay online predict past-tests.csv
  assay online predict --format csv > past-tests.csv
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "table",
        metavar="TABLE",
        nargs="?",
        help="past tests as CSV, TSV, JSONL or Parquet: test, measure, offline, offline_low, offline_high, "
        "online, online_low, online_high (default: the A/B tests in the store that have offline experiments)",
    )
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        default=[],
        metavar="MEASURE",
        help="an offline measure; may be repeated (default: all)",
    )
    part.add_argument(
        "--metric", metavar="NAME", help="the online metric of the A/B tests (default: the goal of each)"
    )
    add_store(part)
    add_intervals(part)
    add_format(part, FORMATS)


def _predict(arguments: argparse.Namespace) -> int:
    report = predict_online(
        PredictRequest(
            table=arguments.table,
            measures=arguments.measure,
            metric=arguments.metric,
            level=arguments.level,
            seed=arguments.seed,
            store=arguments.store,
        )
    )
    show_result(report, arguments.format, lambda style: render_prediction(report, style))
    return 0 if report.prediction.is_decidable else 3


SUBCOMMANDS = {
    "predict": Subcommand(
        _predict,
        _add_options,
        "say whether offline differences predicted online ones, and which measure does",
    )
}
