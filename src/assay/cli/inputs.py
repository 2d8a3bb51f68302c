"""The options that name the tables of a request and say how they are written."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from assay.core.score_order import ScoreOrder
from assay.workflows.inputs import FORMATS, KINDS, TableFiles


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the query table and the documents, and say how files are written."""
    parser.add_argument(
        "--queries", metavar="FILE", help="the query table: ids, texts and columns to slice by"
    )
    parser.add_argument(
        "--documents",
        metavar="FILE",
        help="the texts of the documents, for --by intent and for the causes of failures",
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="the name of a run, once for each in their order (default: its file, or its tag in a TREC file "
        "whose name says nothing)",
    )
    add_file_options(parser)


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how files are written."""
    parser.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="[KIND:]NAME=COLUMN",
        help="which column of a file is query_id, doc_id, grade, score, rank, text or title, "
        "in all files or only in one kind (run:doc_id=article); may be repeated",
    )
    parser.add_argument(
        "--from",
        dest="formats",
        action="append",
        default=[],
        metavar="[KIND=]FORMAT",
        help=f"the format, if the content does not tell: {', '.join(FORMATS)}; "
        f"KIND is one of {', '.join(KINDS)}",
    )


def add_score_order(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the scores of runs order documents."""
    parser.add_argument(
        "--lower-is-better",
        action="store_true",
        help="the scores of the runs are distances: the lowest is the best",
    )
    parser.add_argument(
        "--score-precision",
        choices=("double", "single"),
        default="double",
        help="single: scores that are equal as 32-bit floats are ties, as in trec_eval 9 (default: double)",
    )


def score_order(arguments: argparse.Namespace) -> ScoreOrder:
    """Return the order that the options of `add_score_order` ask for."""
    return ScoreOrder(
        lower_is_better=arguments.lower_is_better, single_precision=arguments.score_precision == "single"
    )


def scoring_options(arguments: argparse.Namespace, runs: Sequence[str], is_recorded: bool) -> dict[str, Any]:
    """Return the fields that all requests which score runs have."""
    return {
        "files": table_files(arguments, runs),
        "by": arguments.by,
        "level": arguments.level,
        "seed": arguments.seed,
        "order": score_order(arguments),
        "config": arguments.config,
        "params": arguments.param,
        "with_recordings": is_recorded,
        "with_digests": arguments.format == "html",
    }


def table_files(arguments: argparse.Namespace, runs: Sequence[str]) -> TableFiles:
    """Return the files that the options of `add_inputs` name, with these runs."""
    return TableFiles(
        qrels=arguments.qrels,
        runs=runs,
        names=arguments.name,
        queries=arguments.queries,
        documents=arguments.documents,
        columns=arguments.columns,
        formats=arguments.formats,
        store=getattr(arguments, "store", None),
    )
