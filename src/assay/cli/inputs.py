"""What commands read: judgments, runs, and tables beside them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.datasets import FORMATS
from assay.project.inputs import KINDS, Inputs
from assay.project.settings import read_settings

__all__ = ["Inputs", "add_inputs", "add_reading", "watched"]


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that say where tables are and how they are written."""
    parser.add_argument(
        "--queries", metavar="FILE", help="the query table: ids, texts and columns to slice by"
    )
    parser.add_argument(
        "--documents",
        metavar="FILE",
        help="the documents' texts, for --by intent and for the causes of failures",
    )
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options that say how files are written."""
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
        help=f"the format, where content does not tell: {', '.join(FORMATS)}; "
        f"KIND is one of {', '.join(KINDS)}",
    )


def watched(runs: list[Blocks]) -> list[Blocks]:
    """The runs, with their progress shown where somebody can see it."""
    if not sys.stderr.isatty():
        return runs
    from assay.cli.progress import Watched

    return [Watched(run) for run in runs]


def configurations(paths: list[str], names: list[str]) -> dict[str, Mapping[str, Any]]:
    """The configuration of each run, from one file each."""
    if paths and len(paths) != len(names):
        raise InputError(f"--config expects one file for each of the {len(names)} runs, found {len(paths)}")
    return {name: read_settings(path) for name, path in zip(names, paths, strict=False)}
