"""assay measures: what can be measured, what for, and what to choose."""

from __future__ import annotations

import argparse
import sys

from assay.cli.inputs import Inputs, add_reading
from assay.cli.parsers import add_format, make_parser
from assay.core.errors import InputError
from assay.core.tables import Qrels
from assay.measures.choosing import look, recommend
from assay.measures.purposes import all_definitions, definition_of
from assay.measures.uses import recognised
from assay.views import FORMATS
from assay.views.measures import Chosen, chosen, in_full, listing

_EXAMPLES = """examples:
  assay measures
  assay measures nDCG Robustness
  assay measures --for "search that feeds a reranker"
  assay measures --for "FAQ lookup" -k 5 --qrels qrels.txt
  assay measures --format json

What is described is read by its words, by rules and without a model; the words that decided are said, and
where none is known, which there are. Judgments, if given, are looked at: whether they are graded, how many
a query has, and how many of its documents are relevant.

exit codes: 0 done; 2 wrong use or bad input
"""
_HINT = """
one in full: assay measures nDCG
what to choose: assay measures --for "search that feeds a reranker\""""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "measures", "What can be measured, what each measure is for, and what to choose.", _EXAMPLES
    )
    made.add_argument("names", metavar="MEASURE", nargs="*", help="a measure to show in full")
    made.add_argument(
        "--for", dest="use", metavar="TEXT", help="what the search is for, in plain words: recommend for it"
    )
    made.add_argument("--qrels", metavar="FILE", help="judgments to fit the recommendation to")
    made.add_argument(
        "-k", type=int, metavar="N", help="how many results are seen, or read by what comes next"
    )
    add_reading(made)
    add_format(made, FORMATS)
    return made


def command(arguments: argparse.Namespace) -> None:
    """List, show or recommend."""
    choosing = arguments.use is not None or arguments.qrels is not None
    _check(arguments, choosing)
    if choosing:
        print(chosen(_chosen(arguments), arguments.format))
    elif arguments.names:
        found = dict.fromkeys(definition_of(name).name for name in arguments.names)
        print(in_full([definition_of(name) for name in found], arguments.format))
    else:
        print(listing(all_definitions(), arguments.format))
        sys.stdout.flush()
        if arguments.format == "table":
            print(_HINT, file=sys.stderr)


def _check(arguments: argparse.Namespace, choosing: bool) -> None:
    if arguments.names and choosing:
        raise InputError("give measures to show, or --for and --qrels to choose some, not both")
    if arguments.k is not None and not choosing:
        raise InputError("-k goes with --for or --qrels; a measure's own cutoff is written as in nDCG@10")


def _chosen(arguments: argparse.Namespace) -> Chosen:
    description = arguments.use or ""
    if arguments.qrels is None:
        made = recommend(description, k=arguments.k)
        return Chosen(description, recognised(description), made, arguments.k)
    judged = look(_judgments(arguments))
    made = recommend(
        description,
        graded=judged.graded,
        judged_per_query=judged.judged_per_query,
        relevant_per_query=judged.relevant_per_query,
        single=judged.single,
        k=arguments.k,
    )
    return Chosen(description, recognised(description), made, arguments.k, judged, arguments.qrels)


def _judgments(arguments: argparse.Namespace) -> Qrels:
    arguments.queries, arguments.documents, arguments.runs = None, None, []
    return Inputs.of(arguments).qrels
