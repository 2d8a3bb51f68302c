"""assay dataset: save, list and compare versions of evaluation sets."""

from __future__ import annotations

import argparse
import sys

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.views import FORMATS
from assay.views.datasets import render_dataset_diff, render_versions
from assay.workflows.dataset_versions import (
    DiffDatasetsRequest,
    ImportDatasetRequest,
    ListDatasetsRequest,
    diff_dataset_versions,
    import_dataset,
    list_datasets,
)

EXAMPLES = """  assay dataset import helpcentre/ --name helpcentre
  assay dataset import qrels.txt --queries queries.jsonl --name shop --recipe sample.json --note "first 300"
  assay dataset versions shop
  assay dataset diff dataset:shop@1f0c2a dataset:shop
  assay dataset diff old/ new/
  assay dataset export dataset:shop shop/
"""


def _add_import_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("source", metavar="SOURCE", help="qrels, or a folder with queries, qrels and documents")
    part.add_argument("--name", required=True, metavar="NAME", help="the name of the evaluation set")
    part.add_argument("--queries", metavar="FILE", help="the queries, if SOURCE has none")
    part.add_argument("--documents", metavar="FILE", help="the documents, if SOURCE has none")
    part.add_argument(
        "--judgments",
        metavar="FILE",
        help="what each judge said, from which `judge qrels` derived the qrels (CSV, JSONL, Parquet, …)",
    )
    part.add_argument(
        "--recipe",
        action="append",
        default=[],
        metavar="FILE",
        help="how queries, pairs and labels were chosen, as `dataset sample` and others write it; may be "
        "repeated",
    )
    part.add_argument("--tag", action="append", default=[], metavar="TAG", help="a tag; may be repeated")
    part.add_argument("--note", default="", metavar="TEXT", help="a note")
    add_store(part)
    add_format(part, FORMATS)


def _import(arguments: argparse.Namespace) -> int:
    saved = import_dataset(
        ImportDatasetRequest(
            name=arguments.name,
            source=arguments.source,
            queries=arguments.queries,
            documents=arguments.documents,
            judgments=arguments.judgments,
            recipes=arguments.recipe,
            tags=arguments.tag,
            note=arguments.note,
            store=arguments.store,
        )
    )
    show_result(saved, arguments.format, lambda style: render_versions([saved.version], style))
    verb = "saved" if saved.is_new else "nothing changed since"
    print(f"{verb} {saved.version.label} in {saved.store}", file=sys.stderr)
    return 0


def _add_version_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", nargs="?", help="one evaluation set (default: all)")
    add_store(part)
    add_format(part, FORMATS)


def _list(arguments: argparse.Namespace) -> int:
    result = list_datasets(ListDatasetsRequest(name=arguments.name, store=arguments.store))
    show_result(result, arguments.format, lambda style: render_versions(result.versions, style))
    return 0


def _add_diff_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("first", metavar="FIRST", help="a path, dataset:NAME or dataset:NAME@DIGEST")
    part.add_argument(
        "second", metavar="SECOND", nargs="?", help="the one after it (default: FIRST, against its parent)"
    )
    part.add_argument(
        "--limit", type=int, default=5, metavar="N", help="rows of each kind to show (default: 5)"
    )
    add_store(part)
    add_format(part, FORMATS)


def _diff(arguments: argparse.Namespace) -> int:
    result = diff_dataset_versions(
        DiffDatasetsRequest(
            first=arguments.first, second=arguments.second, limit=arguments.limit, store=arguments.store
        )
    )
    show_result(
        result,
        arguments.format,
        lambda style: render_dataset_diff(result.first, result.second, result.diff, result.limit, style),
    )
    return 0


SUBCOMMANDS = {
    "import": Subcommand(_import, _add_import_options, "save files as a version of an evaluation set"),
    "versions": Subcommand(_list, _add_version_options, "list the versions of evaluation sets"),
    "diff": Subcommand(_diff, _add_diff_options, "show what differs between two evaluation sets"),
}
