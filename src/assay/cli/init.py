"""assay init: write a commented assay.toml that runs without a change."""

from __future__ import annotations

import argparse

from assay.cli import print_notes, show
from assay.cli.parsers import make_parser
from assay.views.notes import found_notes, next_step_notes
from assay.workflows.init import BUILT_IN, InitRequest, init_project
from assay.workflows.settings import PROJECT_FILE

_EXAMPLES = """examples:
  assay init              in a folder with judgments, queries, documents or runs
  assay init search --force

In a folder without any it also writes the built-in help centre, to try things with. Endpoints are read
from the environment: ASSAY_ENDPOINT, OPENSEARCH_URL, ELASTICSEARCH_URL, QDRANT_URL and DATABASE_URL.

exit codes: 0 written; 2 wrong use, or the file exists already
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser(
        "init",
        f"Inspect a folder and write an {PROJECT_FILE} that runs without a change. There are no questions.",
        _EXAMPLES,
    )
    options.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=".", help="the folder to inspect (default: this one)"
    )
    options.add_argument("--force", action="store_true", help=f"overwrite an existing {PROJECT_FILE}")
    return options


def command(arguments: argparse.Namespace) -> None:
    """Write the file, and print what was found and what to do next."""
    result = init_project(InitRequest(folder=arguments.folder, force=arguments.force))
    contents = result.folder_contents
    tables = {"judgments": contents.qrels, "queries": contents.queries, "documents": contents.documents}
    print_notes(found_notes(tables, contents.runs, contents.endpoints, contents.problems))
    if result.project_contents.is_built_in:
        print_notes([f"found neither judgments nor queries: the built-in {BUILT_IN} is written next to it"])
    show(str(result.path))
    print_notes(next_step_notes(result.path, result.can_run, result.can_gate, result.needs_search))
