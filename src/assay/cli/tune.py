"""assay tune: find the cheapest configuration that meets the floors."""

from __future__ import annotations

import argparse
import sys

from assay.bench.tuning.space import OBJECTIVES
from assay.bench.tuning.tuner import Tuner, TuningAttempt
from assay.cli import print_notes
from assay.cli.bench import add_data_options, add_pass_options, measure_options
from assay.cli.output import show_result
from assay.cli.parsers import add_format, make_parser
from assay.cli.progress import note_when_interrupted
from assay.cli.select import add_delta
from assay.cli.truth_progress import TruthProgressLine
from assay.views.truth import describe_easy_queries
from assay.views.tuning import FORMATS, describe_attempt, render_tuning
from assay.workflows.tune import DEFAULT_FOLDER, MODES, TuneRequest, tune

_EXAMPLES = """examples:
  assay tune --base base.fbin --queries queries.fbin --metric l2 --floor recall=0.9 --objective qps \\
    --index 'faiss.hnsw M=8..64 efConstruction=40..400 / efSearch=8..512' \\
    --index 'faiss.ivfflat nlist=64..4096 / nprobe=1..256'
  assay tune --base glove.hdf5 --index 'hnswlib M=8,16,32 / ef=10..800' --floor robustness-0.3=0.99 \\
    --floor memory_mb=500 --objective p99_ms --budget 50 --seconds 3600
  assay tune tune.toml

Build parameters may be ranges (8..64) or lists (8,16,32). A range after the slash is not sampled: for each
index, its least value is used that reaches the floors of recall and robustness.
Attempts are stored: the same command continues after an interruption, and with a higher --budget.

exit codes: 0 found; 1 nothing meets the floors, or every index was above a limit when it was built; 2 wrong
use or bad input; 3 nothing could be measured; 130 interrupted, attempts are stored
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser("tune", "Find the cheapest configuration that meets the floors.", _EXAMPLES)
    add_data_options(parser, "[data], [run], [[index]], [tune]", DEFAULT_FOLDER)
    parser.add_argument(
        "--index",
        action="append",
        default=[],
        metavar="INDEX",
        help="ENGINE NAME=LEAST..MOST NAME=V,V… / NAME=LEAST..MOST; may be repeated",
    )
    parser.add_argument(
        "--floor",
        action="append",
        metavar="FIGURE=V",
        help="the least value that is accepted, such as recall=0.9, or the most of a figure of which less is "
        "better, such as memory_mb=500; may be repeated",
    )
    parser.add_argument("--objective", choices=OBJECTIVES, help="figure to optimize (default: qps)")
    parser.add_argument("--budget", type=int, metavar="N", help="number of configurations (default: 30)")
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="start no configuration after S seconds (default: no limit)",
    )
    parser.add_argument(
        "--price", type=float, metavar="P", help="price of an hour of the machine, for the cost"
    )
    parser.add_argument("--mode", choices=MODES, help="how queries are sent (default: single)")
    add_delta(parser, "the δ of the figure robustness, which is shown for each configuration")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the sampling (default: 0)")
    add_pass_options(parser)
    add_format(parser, FORMATS)
    return parser


def command(arguments: argparse.Namespace) -> int:
    """Search for the best configuration; the result is the exit code."""
    names = ("objective", "budget", "seconds", "price", "mode", "seed", "delta")
    options = {name: getattr(arguments, name) for name in names}
    request = TuneRequest(floors=arguments.floor, **options, **measure_options(arguments))
    progress = TruthProgressLine()
    try:
        with note_when_interrupted(arguments.out, "attempts"):
            result = tune(request, progress=progress if sys.stderr.isatty() else None, watch=_print_attempt)
    finally:
        progress.clear()
    show_result(result, arguments.format, lambda style: render_tuning(result.selection, result.tuning, style))
    print_notes(describe_easy_queries(result.findings, result.selection.k))
    if result.has_answers:
        commands = f"assay select {arguments.out}, assay bench show {arguments.out}"
        print(f"\nall answers are stored: {commands}", file=sys.stderr)
    return result.exit_code


def _print_attempt(tuner: Tuner, number: int, attempt: TuningAttempt) -> None:
    is_best = tuner.best is attempt
    print(describe_attempt(number, tuner.space, attempt, is_best), file=sys.stderr, flush=True)
