"""The options that record a result as an experiment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.cli.parsers import add_store
from assay.core.errors import InputError
from assay.workflows.recording import Recording, SavedExperiment, SaveRequest
from assay.workflows.settings import PROJECT_FILE


def add_saving(parser: argparse.ArgumentParser, with_files: bool = True, with_texts: bool = True) -> None:
    """Add the options that say what to record and where, and with which files of measurements."""
    group = parser.add_argument_group("recording")
    group.add_argument("--save", metavar="NAME", help="record the result as an experiment of this name")
    add_store(group)
    group.add_argument("--tag", action="append", default=[], metavar="TAG", help="a tag; may be repeated")
    group.add_argument("--note", default="", metavar="TEXT", help="a note")
    if with_texts:
        group.add_argument(
            "--no-texts",
            action="store_true",
            help="keep the texts of queries and documents out of the store; pages then show ids",
        )
    if not with_files:
        return
    group.add_argument(
        "--figures",
        metavar="FILE",
        help="costs and other numbers by name, recorded with the scores: TOML or JSON",
    )
    group.add_argument("--latencies", metavar="FILE", help="the latency of each request: a column latency_ms")


def save_request(
    arguments: argparse.Namespace, project: str | Path = PROJECT_FILE, run_count: int = 1
) -> SaveRequest | None:
    """Return what the options of `add_saving` ask for; None without --save.

    What could not be saved is refused: call it before any work is done, so that no result is lost.
    """
    if arguments.save is None:
        _refuse_without_save(arguments)
        return None
    from assay.workflows.saving import check_saving  # loads the store, which most commands do not need

    request = SaveRequest(
        name=arguments.save,
        store=arguments.store,
        tags=arguments.tag,
        note=arguments.note,
        figures=getattr(arguments, "figures", None),
        latencies=getattr(arguments, "latencies", None),
        project=project,
        with_texts=not getattr(arguments, "no_texts", True),
    )
    check_saving(request, run_count)
    return request


def _refuse_without_save(arguments: argparse.Namespace) -> None:
    """Refuse the options of a record if nothing is recorded."""
    for name in ("tag", "note", "figures", "latencies", "no_texts"):
        if getattr(arguments, name, None):
            raise InputError(
                f"--{name.replace('_', '-')} is recorded with a result: give --save NAME, or leave it out"
            )


def save_recordings(request: SaveRequest | None, recordings: Sequence[Recording]) -> None:
    """Record results, if that was requested, and print where they are."""
    if request is not None:
        from assay.workflows.saving import save  # loads the store, which most commands do not need

        print_saved(save(request, recordings))


def print_saved(saved: Sequence[SavedExperiment]) -> None:
    """Print where experiments were recorded."""
    for experiment in saved:
        print(f"saved {experiment.name} as {experiment.id} in {experiment.store}", file=sys.stderr)
