"""assay select: choose an index by floors and an objective."""

from __future__ import annotations

import argparse
import sys

from assay.bench.sweeps.cases import REQUEST_MODES
from assay.cli.output import show_result
from assay.cli.parsers import add_format, make_parser
from assay.indexes.hits import POLICIES
from assay.views.selection import FORMATS, render_selection
from assay.workflows.select import SelectRequest, select

_EXAMPLES = """examples:
  assay select bench-results --floor recall=0.9
  assay select bench-results --floor robustness-0.3=0.99 --floor p99_ms=5 --objective qps
  assay select bench-results --floor recall=0.95 --price 0.5 --objective cost
  assay select published.csv --floor recall=0.88 --objective robustness-0.1
  assay select bench-results --floor recall=0.9 --tradeoff
  assay select bench-results --floor robustness=0.99 --delta-from study.json

figures: recall, robustness-0.3 (any δ), qps, capacity; and figures of which less is better: p50_ms, p90_ms,
p95_ms, p99_ms, p99.9_ms, memory_mb, disk_mb, build_seconds, cost (of a million queries; needs --price).

The index is chosen on one part of the queries, and the choice is confirmed on the other part. If the vector
files are gone, the hits that the sweep stored are used.

exit codes: 0 chosen; 1 no trial can be chosen or reaches all floors, or the winner misses one on the held-out
queries; 2 wrong use or bad input; 3 the held-out queries cannot decide whether the winner reaches the floors
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "select", "Choose an index by floors and an objective; say why the others lost.", _EXAMPLES
    )
    parser.add_argument("trials", metavar="TRIALS", help="the folder of a sweep, or a table of trials")
    parser.add_argument(
        "--floor",
        action="append",
        default=[],
        metavar="FIGURE=V",
        help="the least value that is accepted, such as recall=0.9, or the most of a figure of which less is "
        "better, such as p99_ms=5; may be repeated",
    )
    parser.add_argument(
        "--objective", default="qps", metavar="FIGURE", help="figure to optimize (default: qps)"
    )
    add_delta(parser, "the δ of the figure robustness, which is shown for each trial")
    parser.add_argument(
        "--delta-from",
        metavar="STUDY",
        help="the δ of the figure robustness is the one that answers need (`assay rag run -o STUDY`)",
    )
    parser.add_argument(
        "--price", type=float, metavar="P", help="price of an hour of the machine, for the cost"
    )
    parser.add_argument("--mode", choices=REQUEST_MODES, help="trials of this request mode (default: single)")
    add_scoring(parser)
    parser.add_argument(
        "--confirm",
        type=float,
        default=0.5,
        metavar="S",
        help="share of the queries that is held out (default: 0.5)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the split of the queries (default: 0)"
    )
    parser.add_argument(
        "--tradeoff",
        action="store_true",
        help="also show recall, robustness and throughput with each of them fixed in turn",
    )
    add_data(parser)
    add_format(parser, FORMATS)
    return parser


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Add the options of how hits are scored."""
    parser.add_argument(
        "-k", type=int, metavar="K", help="score hits among the first K (default: that of the last sweep)"
    )
    add_ties(parser)


def add_delta(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add the option of the δ of robustness."""
    parser.add_argument("--delta", type=float, metavar="D", help=help_text)


def add_ties(parser: argparse.ArgumentParser) -> None:
    """Add the option of what counts as a hit."""
    parser.add_argument(
        "--ties", choices=POLICIES, help="what counts as a hit (default: that of the last sweep)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the option of which data the trials must be of."""
    parser.add_argument(
        "--data",
        metavar="NAME",
        help="compare trials of the dataset that others name so, or of all data: all (default: the data of "
        "the sweep, or those that a table states first)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Choose an index; the result is the exit code."""
    names = ("trials", "objective", "price", "mode", "k", "ties", "confirm", "seed", "tradeoff", "data")
    options = {name: getattr(arguments, name) for name in (*names, "delta", "delta_from")}
    result = select(SelectRequest(floors=arguments.floor, **options))
    if result.is_without_vectors:
        print(
            f"note: the vectors of {arguments.trials} are gone: scored by the hits that the sweep stored",
            file=sys.stderr,
        )
    show_result(
        result,
        arguments.format,
        lambda style: render_selection(result.selection, style, result.planes),
    )
    return result.exit_code
