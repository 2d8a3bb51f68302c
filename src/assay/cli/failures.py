"""assay failures: the queries that fail, and their likely causes."""

from __future__ import annotations

import argparse

from assay.cli import print_notes
from assay.cli.inputs import add_inputs, add_score_order, scoring_options
from assay.cli.output import show_result
from assay.cli.parsers import add_config, add_format, add_intervals, add_qrels, add_slices, make_parser
from assay.cli.progress import watch_run
from assay.cli.saving import add_saving, save_recordings, save_request
from assay.views.evaluation import FORMATS
from assay.views.failures import render_failures
from assay.views.notes import failure_notes
from assay.workflows.failures import DEFAULT_DEPTH, DEFAULT_QUERIES_SHOWN, FailuresRequest, find_failures

_EXAMPLES = """examples:
  assay failures beir-folder run.txt
  assay failures qrels.txt run.txt --queries queries.tsv --documents corpus.jsonl --by category
  assay failures qrels.txt run.txt -m nDCG@10 --below 0.3
  assay failures qrels.txt hnsw.run --exact flat.run
  assay failures qrels.txt run.txt --format csv > failures.csv

Each relevant document that is missing from the top gets one cause; the likely cause of a query is the one
that explains most of them. The texts of queries and documents let more causes be recognised.

exit codes: 0 success, even if queries fail; 2 wrong use or bad input; 3 nothing to score (no query in
common, or none with a value)
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser(
        "failures", "The queries that fail, grouped, with the likely cause and the fix.", _EXAMPLES
    )
    add_qrels(options)
    options.add_argument("run", metavar="RUN", help="the results of a search; - is standard input")
    options.add_argument(
        "-m",
        "--measure",
        default="R@10",
        metavar="MEASURE",
        help="the measure that decides what fails (default: R@10)",
    )
    options.add_argument(
        "--below",
        type=float,
        default=0.5,
        metavar="X",
        help="a query below this value fails; above it, if lower is better (default: 0.5)",
    )
    add_slices(options)
    options.add_argument(
        "--exact", metavar="RUN", help="the results of exact search, to find what an index loses"
    )
    options.add_argument(
        "--depth",
        type=int,
        default=DEFAULT_DEPTH,
        metavar="N",
        help=f"how many documents a reranker reads (default: {DEFAULT_DEPTH})",
    )
    add_inputs(options)
    add_score_order(options)
    options.add_argument(
        "--show",
        type=int,
        default=DEFAULT_QUERIES_SHOWN,
        metavar="N",
        help=f"how many queries to show (default: {DEFAULT_QUERIES_SHOWN})",
    )
    add_format(options, FORMATS)
    add_intervals(options)
    add_config(options)
    add_saving(options)
    return options


def command(arguments: argparse.Namespace) -> None:
    """Find the failing queries and print them."""
    saving = save_request(arguments)
    request = FailuresRequest(
        exact=arguments.exact,
        measure=arguments.measure,
        below=arguments.below,
        depth=arguments.depth,
        show=arguments.show,
        **scoring_options(arguments, [arguments.run], saving is not None),
    )
    result = find_failures(request, watch_run)
    show_result(
        result,
        arguments.format,
        lambda style: render_failures(result.failures, style, request.show, result.digests),
    )
    save_recordings(saving, result.recordings)
    notes = failure_notes(result.failures, arguments.format, request.show)
    print_notes(notes, is_after_table=arguments.format == "table")
