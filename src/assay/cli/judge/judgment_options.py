"""The options that name files of judgments and say how they are written."""

from __future__ import annotations

import argparse


def add_judgments(part: argparse.ArgumentParser) -> None:
    """Add the sources of judgments."""
    part.add_argument(
        "judgments",
        metavar="FILE",
        nargs="+",
        help="judgments: a table with query_id, doc_id, judge and grade, or with one column for each judge; "
        "qrels of one judge each; exports of Quepid, Argilla or Label Studio; project:NAME; dataset:NAME. "
        "NAME=FILE names the judge of a file with one",
    )


def add_judgment_options(part: argparse.ArgumentParser) -> None:
    """Add the options that say which column is which, what labels mean, and the format."""
    part.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="which column of FILE is query_id, doc_id, judge, grade, at, source or note, or judges=ANN,BOB: "
        "the columns of judges; may be repeated",
    )
    part.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="TEXT=GRADE",
        dest="labels",
        help="the grade of a label that is text, such as relevant=1; may be repeated",
    )
    part.add_argument(
        "--from",
        dest="file_format",
        metavar="FORMAT",
        help="the format of FILE, if the content does not tell",
    )
