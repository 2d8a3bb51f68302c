"""assay bench report: what trials show beyond their mean recall, as one page with figures."""

from __future__ import annotations

import argparse

from assay.bench.sweeps.cases import REQUEST_MODES
from assay.cli.output import show_result
from assay.cli.parsers import add_format
from assay.cli.select import add_data, add_scoring
from assay.views.bench_report import FORMATS, render_bench_report
from assay.workflows.bench_report import ReportTrialsRequest, report_trials


def add_report_options(part: argparse.ArgumentParser) -> None:
    """Add the options of the report."""
    part.add_argument(
        "trials", metavar="TRIALS", help="the folder of a sweep, or a table of published trials"
    )
    add_scoring(part)
    add_data(part)
    part.add_argument(
        "--mode", choices=REQUEST_MODES, help="the request mode (default: single, if there is any)"
    )
    part.add_argument(
        "--recall",
        type=float,
        default=0.9,
        metavar="R",
        help="mean recall near which one configuration of each engine is compared (default: 0.9)",
    )
    part.add_argument(
        "--delta", type=float, default=0.1, metavar="D", help="a query fails below this recall (default: 0.1)"
    )
    part.add_argument(
        "--at-most",
        type=float,
        default=0.3,
        metavar="R",
        help="show how severe the failures of queries with at most this recall are (default: 0.3)",
    )
    add_format(part, FORMATS)


def report(arguments: argparse.Namespace) -> int:
    """Print the report."""
    names = ("trials", "k", "ties", "mode", "recall", "delta", "at_most", "data", "format")
    result = report_trials(ReportTrialsRequest(**{name: getattr(arguments, name) for name in names}))
    show_result(
        result,
        arguments.format,
        lambda style: render_bench_report(
            result.study, result.findings, result.commands, style, result.recall
        ),
    )
    return 0
