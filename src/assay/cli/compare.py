"""assay compare: a baseline against candidates."""

from __future__ import annotations

import argparse

from assay.cli import print_notes
from assay.cli.inputs import add_inputs, add_score_order, scoring_options
from assay.cli.output import show_result
from assay.cli.parsers import (
    add_config,
    add_format,
    add_intervals,
    add_measures,
    add_qrels,
    add_two_labels,
    make_parser,
)
from assay.cli.progress import watch_run
from assay.cli.saving import add_saving, save_recordings, save_request
from assay.core.errors import InputError
from assay.views.compare import render_comparison
from assay.views.evaluation import FORMATS
from assay.views.notes import warning_notes
from assay.workflows.compare import (
    COMPARISON_MEASURES,
    CORRECTIONS,
    DEFAULT_MARGIN,
    TESTS,
    CompareRequest,
    compare,
)

_EXAMPLES = """examples:
  assay compare qrels.txt main.run branch.run
  assay compare qrels.txt main.run branch.run --queries queries.csv --by category --by frequency
  assay compare beir-folder bm25.run dense.run hybrid.run -m nDCG@10 -m R@100
  assay compare qrels.txt main.run branch.run --test randomisation --margin 0.02
  assay compare --human human.qrels --model model.qrels main.run branch.run -m nDCG@10
  assay compare qrels.txt main.run branch.run --config main.toml --config branch.toml --format md

A difference is `same` if it is shown to lie within ±margin, `better` or `worse` if that is shown after
correction, and `open` if neither is shown.

exit codes: 0 success; 2 wrong use or bad input; 3 nothing to compare (no query in common)
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser(
        "compare",
        "Compare runs: paired differences, tests, slices, and what the change means in words.",
        _EXAMPLES,
    )
    add_qrels(options)
    options.add_argument("baseline", metavar="BASELINE", help="the run to compare with")
    options.add_argument("candidates", metavar="CANDIDATE", nargs="*", help="the runs that may replace it")
    add_measures(options, COMPARISON_MEASURES)
    add_inputs(options)
    add_score_order(options)
    _add_tests(options)
    add_two_labels(options)
    add_config(options)
    add_saving(options)
    options.add_argument(
        "--movers", type=int, default=3, metavar="N", help="how many winners and losers to name (default: 3)"
    )
    add_format(options, FORMATS)
    add_intervals(options)
    return options


def _add_tests(options: argparse.ArgumentParser) -> None:
    """Add the options that say how runs are compared."""
    options.add_argument(
        "--test",
        choices=tuple(TESTS),
        default="t",
        help="of means (default: t); shares are tested by McNemar",
    )
    options.add_argument(
        "--correction", choices=CORRECTIONS, default="holm", help="for many questions (default: holm)"
    )
    options.add_argument(
        "--margin",
        type=float,
        default=DEFAULT_MARGIN,
        metavar="X",
        help=f"smallest difference that matters (default: {DEFAULT_MARGIN})",
    )
    options.add_argument(
        "--permutations", type=int, metavar="N", help="of randomisation and bootstrap (default: 100000)"
    )
    options.add_argument(
        "--only-common", action="store_true", help="leave out judged queries missing from any of the runs"
    )


def command(arguments: argparse.Namespace) -> None:
    """Compare the runs and print the result."""
    if arguments.human or arguments.model:
        from assay.cli.label_estimates import show_label_estimates  # loads Polars

        paths = [arguments.qrels, arguments.baseline, *arguments.candidates]
        show_label_estimates(arguments, paths, COMPARISON_MEASURES, is_comparison=True)
        return
    if not arguments.candidates:
        raise InputError("expected one CANDIDATE or more after BASELINE, found none")
    saving = save_request(arguments, run_count=1 + len(arguments.candidates))
    request = CompareRequest(
        measures=arguments.measure or COMPARISON_MEASURES,
        test=arguments.test,
        correction=arguments.correction,
        margin=arguments.margin,
        permutations=arguments.permutations,
        only_common=arguments.only_common,
        movers=arguments.movers,
        **scoring_options(arguments, [arguments.baseline, *arguments.candidates], saving is not None),
    )
    result = compare(request, watch_run)
    show_result(
        result,
        arguments.format,
        lambda style: render_comparison(
            result.comparisons, style, result.texts, request.movers, result.digests
        ),
    )
    save_recordings(saving, result.recordings)
    print_notes(warning_notes(result.comparisons.evaluations), is_after_table=arguments.format == "table")
