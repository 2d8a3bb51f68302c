"""assay rag predict: which of recall and robustness predicts the accuracy in a published table."""

from __future__ import annotations

import argparse

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format
from assay.core.errors import UndecidableError
from assay.views.rag import FORMATS, render_table_predictors
from assay.workflows.rag_predict import RagPredictRequest, predict_accuracy

EXAMPLES = """  assay rag predict published.csv
  assay rag predict published.csv --format json
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "table",
        metavar="TABLE",
        help="CSV, TSV, JSON or Parquet with the columns scenario, algorithm, k, delta, recall, robustness, "
        "accuracy; rows of exact search (K-NN, exact) are controls and are left out",
    )
    part.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="level of the intervals (default: 0.95)"
    )
    add_format(part, FORMATS)


def _predict(arguments: argparse.Namespace) -> int:
    result = predict_accuracy(RagPredictRequest(table=arguments.table, level=arguments.level))
    show_result(result, arguments.format, lambda style: render_table_predictors(result, style))
    return 0 if result.is_decidable else UndecidableError.exit_code


SUBCOMMANDS = {
    "predict": Subcommand(
        _predict,
        _add_options,
        "say which of recall and robustness predicts the accuracy of a published table",
    )
}
