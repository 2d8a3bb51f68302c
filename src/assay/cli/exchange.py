"""assay experiments export, import, backup, restore and move."""

from __future__ import annotations

import argparse
import sys

from assay.cli.parsers import Subcommand, add_store
from assay.workflows.exchange import (
    DEFAULT_MLFLOW_EXPERIMENT,
    DEFAULT_TABLE,
    BackupRequest,
    ExportExperimentsRequest,
    ImportExperimentsRequest,
    MoveRequest,
    RestoreRequest,
    backup_store,
    export_experiments,
    import_experiments,
    move_store,
    restore_store,
)


def _add_table(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--table",
        default=DEFAULT_TABLE,
        metavar="NAME",
        help=f"the table of a database (default: {DEFAULT_TABLE})",
    )
    add_store(part)


def _add_export_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "target", metavar="TARGET", help="FILE.csv, FILE.jsonl, sqlite:///x.db, postgresql://… or mlflow:URI"
    )
    part.add_argument(
        "--where", default="", metavar="FILTER", help="such as: metrics.nDCG@10 > 0.4 and params.top_k = 10"
    )
    part.add_argument(
        "--experiment",
        default=DEFAULT_MLFLOW_EXPERIMENT,
        metavar="NAME",
        help=f"the experiment of MLflow (default: {DEFAULT_MLFLOW_EXPERIMENT})",
    )
    _add_table(part)


def _add_import_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "source", metavar="SOURCE", help="FILE.csv, FILE.jsonl, sqlite:///x.db or postgresql://…"
    )
    _add_table(part)


def _add_backup_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("file", metavar="FILE.zip", help="the file to write")
    add_store(part)


def _add_restore_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("file", metavar="FILE.zip", help="a file that `assay experiments backup` wrote")
    part.add_argument("folder", metavar="FOLDER", help="the folder to make the store in")


def _add_move_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("target", metavar="URL", help="the other store: a folder or postgresql://…?tables=…")
    add_store(part)


def _export(arguments: argparse.Namespace) -> int:
    result = export_experiments(
        ExportExperimentsRequest(
            target=arguments.target,
            where=arguments.where,
            mlflow_experiment=arguments.experiment,
            table=arguments.table,
            store=arguments.store,
        )
    )
    target = result.target
    if result.mlflow_experiment is not None:
        target = f"{result.mlflow_experiment!r} of MLflow{_format_skipped(result.skipped)}"
    print(f"{_count(result.written, 'experiment')} written to {target}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    result = import_experiments(
        ImportExperimentsRequest(source=arguments.source, table=arguments.table, store=arguments.store)
    )
    print(f"{_count(result.added, 'experiment')} added{_format_skipped(result.skipped)}")
    if result.unknown_columns:
        print(f"columns taken as settings: {', '.join(result.unknown_columns)}", file=sys.stderr)
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    result = backup_store(BackupRequest(file=arguments.file, store=arguments.store))
    missing = result.missing_tables
    if missing:
        few = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        print(f"warning: scores that experiments refer to are missing: {few}", file=sys.stderr)
    content = f"{_count(result.experiments, 'experiment')} and {_count(result.tables, 'table')}"
    print(f"{content} in {result.file}, {result.size / 1e6:,.1f} MB")
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    result = restore_store(RestoreRequest(file=arguments.file, folder=arguments.folder))
    content = f"{_count(result.experiments, 'experiment')} and {_count(result.tables, 'table')}"
    print(f"{content} restored to {result.folder}")
    return 0


def _move(arguments: argparse.Namespace) -> int:
    result = move_store(MoveRequest(target=arguments.target, store=arguments.store))
    content = f"{_count(result.experiments, 'experiment')} and {_count(result.tables, 'table')}"
    skipped = _format_skipped(result.skipped)
    print(f"{content} copied to {result.target}{skipped}; the copies were checked and are equal")
    print(f"{result.source} is unchanged; name the new store by --store or ASSAY_STORE", file=sys.stderr)
    return 0


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _format_skipped(number: int) -> str:
    return f", {number:,} already there" if number else ""


SUBCOMMANDS = {
    "export": Subcommand(_export, _add_export_options, "write experiments to a file, a database or MLflow"),
    "import": Subcommand(
        _import, _add_import_options, "add the experiments of a file or a database to the store"
    ),
    "backup": Subcommand(_backup, _add_backup_options, "copy a store in a folder to one file"),
    "restore": Subcommand(_restore, _add_restore_options, "make a store from a backup"),
    "move": Subcommand(_move, _add_move_options, "copy everything to another store, and check it there"),
}
