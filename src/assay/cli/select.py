"""assay select: choose an index by floors and an objective."""

from __future__ import annotations

import argparse

from assay.cli.parsers import add_format, make_parser
from assay.core.errors import InputError
from assay.indexes.choice.selection import Selection, select
from assay.indexes.choice.tradeoff import Plane, tradeoff
from assay.indexes.hits import POLICIES
from assay.indexes.sweeps.plan import MODES
from assay.project.study import open_study
from assay.views.selection import FORMATS, selection_view

_EXAMPLES = """examples:
  assay select bench-results --floor recall=0.9
  assay select bench-results --floor robustness-0.3=0.99 --floor p99_ms=5 --objective qps
  assay select bench-results --floor recall=0.95 --price 0.5 --objective cost
  assay select published.csv --floor recall=0.88 --objective robustness-0.1
  assay select bench-results --floor recall=0.9 --tradeoff

figures: recall, robustness-0.3 (any δ), qps, capacity; and, where less is better, p50_ms, p90_ms, p95_ms,
p99_ms, p99.9_ms, memory_mb, disk_mb, build_seconds, cost (of a million queries; needs --price).

The choice is made on one part of the queries, and confirmed on the other.

exit codes: 0 chosen; 1 no trial reaches all floors, or the winner not on the queries held out; 2 wrong use or
bad input; 3 whether it does cannot be decided from the queries held out
"""
_CODES = {"not confirmed": 1, "cannot be decided": 3}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "select", "Choose an index by floors and an objective; say why the others lost.", _EXAMPLES
    )
    made.add_argument("trials", metavar="TRIALS", help="the folder of a sweep, or a table of trials")
    made.add_argument(
        "--floor",
        action="append",
        default=[],
        metavar="FIGURE=V",
        help="what must be reached, such as recall=0.9; the most there may be of what is better small, such "
        "as p99_ms=5; may be repeated",
    )
    made.add_argument(
        "--objective", default="qps", metavar="FIGURE", help="what is to be best (default: qps)"
    )
    made.add_argument("--price", type=float, metavar="P", help="of an hour of the machine, for the cost")
    made.add_argument("--mode", choices=MODES, help="trials asked in this way (default: single)")
    made.add_argument(
        "-k", type=int, metavar="K", help="score hits among the first K (default: that of the last sweep)"
    )
    made.add_argument(
        "--ties", choices=POLICIES, help="what counts as a hit (default: that of the last sweep)"
    )
    made.add_argument(
        "--confirm", type=float, default=0.5, metavar="S", help="share of queries held out (default: 0.5)"
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of the two parts (default: 0)")
    made.add_argument(
        "--tradeoff",
        action="store_true",
        help="also recall, robustness and throughput, with each of them fixed in turn",
    )
    add_format(made, FORMATS)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Choose; the result is the exit code."""
    if arguments.price is not None and not 0 < arguments.price < float("inf"):
        raise InputError(f"--price is a number above 0, found {arguments.price:g}")
    study = open_study(arguments.trials, k=arguments.k, policy=arguments.ties, mode=arguments.mode)
    made = select(
        study,
        arguments.floor,
        arguments.objective,
        price=arguments.price,
        confirm=arguments.confirm,
        seed=arguments.seed,
    )
    print(selection_view(made, arguments.format, _planes(made) if arguments.tradeoff else ()))
    return _CODES.get(made.confirmation.verdict, 0) if made.confirmation else 1


def _planes(made: Selection) -> list[Plane]:
    """The planes at the floors that were given, and at the δ of the first robustness that was named."""
    named = [*(floor.figure for floor in made.floors), made.objective]
    delta = next((of.delta for of in named if of.delta is not None), 0.1)
    axes = ("recall", f"robustness-{delta:g}", "qps")
    floors = {floor.figure.name: floor.value for floor in made.floors if floor.figure.name in axes}
    return tradeoff(made.study.observed, delta, floors)
