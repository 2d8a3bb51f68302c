"""assay init: a commented assay.toml that already runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.parsers import make_parser
from assay.core.errors import InputError
from assay.core.files import put_in_place
from assay.project.init import BUILT_IN, Found, gates, look, runs_at_once, settings, write_built_in
from assay.project.project import FILE

_EXAMPLES = """examples:
  assay init              in a folder with judgments, queries, documents or runs
  assay init search --force

In a folder without any it writes the built-in help centre beside the file, to play with. Endpoints are
taken from ASSAY_ENDPOINT, OPENSEARCH_URL, ELASTICSEARCH_URL, QDRANT_URL and DATABASE_URL, by their names.
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "init",
        f"Look at what lies in a folder, and write an {FILE} that runs as it is. Nothing is asked.",
        _EXAMPLES,
    )
    made.add_argument("folder", metavar="FOLDER", nargs="?", default=".", help="(default: this one)")
    made.add_argument("--force", action="store_true", help=f"overwrite an {FILE} that is there")
    return made


def command(arguments: argparse.Namespace) -> None:
    """Look, write, and say what to do next."""
    folder = Path(arguments.folder)
    place = folder / FILE
    if place.exists() and not arguments.force:
        raise InputError(f"there is an {place} already: --force overwrites it")
    found = look(folder)
    for line in _told(found):
        print(line, file=sys.stderr)
    if not (found.qrels or found.asked or found.runs):
        found = _with_built_in(folder, found)
    with put_in_place(place) as path:
        path.write_text(settings(found), encoding="utf-8")
    print(place, flush=True)
    for line in _next(found, place):
        print(line, file=sys.stderr)


def _with_built_in(folder: Path, found: Found) -> Found:
    made = write_built_in(folder)
    made.endpoints = found.endpoints
    print(f"found neither judgments nor queries: the built-in {BUILT_IN} is written beside", file=sys.stderr)
    return made


def _told(found: Found) -> list[str]:
    named = {"judgments": found.qrels, "queries": found.queries, "documents": found.documents}
    lines = [f"found {what}: {name}" for what, name in named.items() if name]
    lines += [f"found a run: {name}" for name in found.runs]
    return lines + [f"found an endpoint in the environment: {name}" for name in found.endpoints]


def _next(found: Found, place: Path) -> list[str]:
    where = "" if place.parent == Path() else f" --project {place}"
    lines = ["next:"]
    if runs_at_once(found):
        lines.append(f"  assay run{where}")
    else:
        missing = (
            "documents, or a search of yours,"
            if found.queries
            else "queries (and documents, or a search of yours)"
        )
        lines.append(f"  name {missing} in it, then: assay run")
    if gates(found):
        lines.append(f"  assay gate{where}")
    return lines
