"""assay compare: a baseline against candidates."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from assay.cli import show
from assay.cli.inputs import Inputs, add_inputs, configurations, watched
from assay.cli.parsers import add_config, add_format, add_intervals, add_measures, add_qrels, make_parser
from assay.cli.saving import add_saving, digested, save
from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.evaluation.compare import COMPARED, MARGIN, Comparisons, compare
from assay.stats.families import CORRECTIONS
from assay.stats.paired import TESTS
from assay.views import FORMATS
from assay.views.compare import comparison

_EXAMPLES = """examples:
  assay compare qrels.txt main.run branch.run
  assay compare qrels.txt main.run branch.run --queries queries.csv --by category --by frequency
  assay compare beir-folder bm25.run dense.run hybrid.run -m nDCG@10 -m R@100
  assay compare qrels.txt main.run branch.run --test randomisation --margin 0.02
  assay compare qrels.txt main.run branch.run --config main.toml --config branch.toml --format md

A difference is `same` where it is shown to lie within ±margin, `better` or `worse` where it is shown
after correction, and `open` where the queries cannot tell.

exit codes: 0 done; 2 wrong use or bad input; 3 nothing can be said (no query in common)
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "compare",
        "Compare runs: paired differences, tests, slices, what the change means in words.",
        _EXAMPLES,
    )
    add_qrels(made)
    made.add_argument("baseline", metavar="BASELINE", help="the run to compare with")
    made.add_argument("candidates", metavar="CANDIDATE", nargs="+", help="the runs that may replace it")
    add_measures(made, COMPARED)
    add_inputs(made)
    made.add_argument(
        "--test",
        choices=tuple(TESTS),
        default="t",
        help="of means (default: t); shares are tested by McNemar",
    )
    made.add_argument(
        "--correction", choices=CORRECTIONS, default="holm", help="for many questions (default: holm)"
    )
    made.add_argument(
        "--margin", type=float, default=MARGIN, metavar="X", help=f"what matters (default: {MARGIN})"
    )
    made.add_argument(
        "--permutations", type=int, metavar="N", help="of randomisation and bootstrap (default: 100000)"
    )
    made.add_argument(
        "--only-common", action="store_true", help="leave out judged queries missing from any of the runs"
    )
    add_config(made)
    add_saving(made)
    made.add_argument(
        "--movers", type=int, default=3, metavar="N", help="how many winners and losers to name (default: 3)"
    )
    add_format(made, FORMATS)
    add_intervals(made)
    return made


def command(arguments: argparse.Namespace) -> None:
    """Compare the runs and print the result."""
    arguments.runs = [arguments.baseline, *arguments.candidates]
    if arguments.movers < 0:
        raise InputError(f"--movers must be 0 or more, found {arguments.movers}")
    inputs = Inputs.of(arguments)
    settings = configurations(arguments.config, [run.name for run in inputs.runs])
    runs = digested(arguments, inputs.runs)
    made = _compared(inputs, runs, settings, arguments)
    show(comparison(made, arguments.format, inputs.texts(), arguments.movers))
    result = {"readings": [reading.text for reading in made.readings]}
    save(arguments, inputs, made.evaluations, runs, "compare", settings, result)


def _compared(
    inputs: Inputs,
    runs: list[Blocks],
    settings: Mapping[str, Mapping[str, Any]],
    arguments: argparse.Namespace,
) -> Comparisons:
    baseline, *candidates = watched(runs)
    return compare(
        inputs.qrels,
        baseline,
        candidates,
        arguments.measure or COMPARED,
        inputs.queries,
        arguments.by,
        documents=inputs.documents,
        only_common=arguments.only_common,
        configurations=settings,
        test=arguments.test,
        correction=arguments.correction,
        margin=arguments.margin,
        level=arguments.level,
        seed=arguments.seed,
        permutations=arguments.permutations,
    )
