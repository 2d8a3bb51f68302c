"""assay measures: the measures, what each is for, and which to choose."""

from __future__ import annotations

import argparse

from assay.cli import print_notes
from assay.cli.inputs import add_file_options
from assay.cli.output import show_result
from assay.cli.parsers import add_format, make_parser
from assay.core.errors import InputError
from assay.views.evaluation import FORMATS
from assay.views.measures import render_choice, render_definitions, render_measures
from assay.workflows.inputs import TableFiles
from assay.workflows.measures import (
    ListMeasuresRequest,
    RecommendMeasuresRequest,
    list_measures,
    recommend_measures,
)

_EXAMPLES = """examples:
  assay measures
  assay measures nDCG Robustness
  assay measures --for "search that feeds a reranker"
  assay measures --for "FAQ lookup" -k 5 --qrels qrels.txt
  assay measures --format json

A description is matched word by word, by rules and without a model; the words that decided are shown, or
the known words if none matches. Judgments, if given, are inspected: whether they are graded, how many each
query has, and how many of its documents are relevant.

exit codes: 0 success; 2 wrong use or bad input
"""
_HINT = """
one measure in full: assay measures nDCG
a recommendation: assay measures --for "search that feeds a reranker\""""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser(
        "measures", "List the measures, show what each is for, and recommend which to use.", _EXAMPLES
    )
    options.add_argument("names", metavar="MEASURE", nargs="*", help="a measure to show in full")
    options.add_argument(
        "--for",
        dest="use",
        metavar="TEXT",
        help="what the search is for, in plain words: recommend measures for it",
    )
    options.add_argument("--qrels", metavar="FILE", help="judgments to fit the recommendation to")
    options.add_argument(
        "-k", type=int, metavar="N", help="how many results are seen, or read by the next stage"
    )
    add_file_options(options)
    add_format(options, FORMATS)
    return options


def command(arguments: argparse.Namespace) -> None:
    """List, show or recommend measures."""
    is_choosing = arguments.use is not None or arguments.qrels is not None
    _check_options(arguments, is_choosing)
    if is_choosing:
        files = TableFiles(qrels=arguments.qrels, columns=arguments.columns, formats=arguments.formats)
        request = RecommendMeasuresRequest(use=arguments.use or "", k=arguments.k, files=files)
        choice = recommend_measures(request)
        show_result(choice, arguments.format, lambda style: render_choice(choice, style))
        return
    result = list_measures(ListMeasuresRequest(names=arguments.names))
    render = render_definitions if arguments.names else render_measures
    show_result(result, arguments.format, lambda style: render(result.definitions, style))
    if arguments.format == "table" and not arguments.names:
        print_notes([_HINT])


def _check_options(arguments: argparse.Namespace, is_choosing: bool) -> None:
    if arguments.names and is_choosing:
        raise InputError("give measures to show, or --for and --qrels to choose some, not both")
    if arguments.k is not None and not is_choosing:
        raise InputError("-k goes with --for or --qrels; a measure's own cutoff is written as in nDCG@10")
