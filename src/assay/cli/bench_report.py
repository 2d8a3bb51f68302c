"""assay bench report: what trials show beyond their mean recall, as one page with figures."""

from __future__ import annotations

import argparse

from assay.bench.studies.recall_correlation import RECALL_RANGE
from assay.bench.sweeps.cases import REQUEST_MODES
from assay.cli.output import show_result
from assay.cli.parsers import add_format
from assay.cli.select import add_data, add_ties
from assay.views.bench_charts import ReportData
from assay.views.bench_report import FORMATS, render_bench_report
from assay.workflows.bench_report import ReportTrialsRequest, report_trials


def add_report_options(part: argparse.ArgumentParser) -> None:
    """Add the options of the report."""
    part.add_argument(
        "trials",
        metavar="TRIALS",
        nargs="+",
        help="the folder of a sweep, or a table of published trials; those after the first are compared with "
        "it side by side",
    )
    part.add_argument(
        "-k",
        type=int,
        metavar="K",
        action="append",
        help="score hits among the first K; repeated, curves of every K are side by side (default: that of "
        "the last sweep)",
    )
    add_ties(part)
    add_data(part)
    _add_comparison_options(part)
    _add_threshold_options(part)
    add_format(part, FORMATS)


def _add_comparison_options(part: argparse.ArgumentParser) -> None:
    """Add the options of which trials are compared."""
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
        "--tolerance",
        type=float,
        metavar="T",
        help="mean recalls that differ by at most T count as the same (default: 0.01 between two "
        "configurations, and 0.02 around R for families)",
    )
    part.add_argument(
        "--recall-range",
        type=float,
        nargs=2,
        default=RECALL_RANGE,
        metavar=("LOW", "HIGH"),
        help="compute r² over the configurations with such a mean recall (default: 0.7 0.95)",
    )


def _add_threshold_options(part: argparse.ArgumentParser) -> None:
    """Add the options of what counts as a failure, and of the floors."""
    part.add_argument(
        "--delta", type=float, default=0.1, metavar="D", help="a query fails below this recall (default: 0.1)"
    )
    part.add_argument(
        "--floor",
        action="append",
        default=[],
        metavar="FIGURE=V",
        help="a floor of the trade-off, of recall, robustness or qps; may be repeated, also for one figure "
        "(default: two floors of each)",
    )
    part.add_argument(
        "--at-most",
        type=float,
        default=0.3,
        metavar="R",
        help="show how severe the failures of queries with at most this recall are (default: 0.3)",
    )


def report(arguments: argparse.Namespace) -> int:
    """Print the report."""
    names = ("ties", "mode", "recall", "tolerance", "delta", "at_most", "data", "format")
    options = {name: getattr(arguments, name) for name in names}
    first, *others = arguments.trials
    k, *other_ks = arguments.k or [None]
    request = ReportTrialsRequest(
        trials=first,
        others=others,
        k=k,
        other_ks=other_ks,
        recall_range=tuple(arguments.recall_range),
        floors=arguments.floor,
        **options,
    )
    result = report_trials(request)
    data = ReportData(result.study, result.findings, result.planes)
    show_result(result, arguments.format, lambda style: render_bench_report(data, result.commands, style))
    return 0
