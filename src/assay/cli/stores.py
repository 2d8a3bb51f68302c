"""assay experiments export, import, backup, restore and move: experiments out and in, and whole stores."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from assay.cli.parsers import add_store
from assay.core.errors import InputError
from assay.project.places import store_url
from assay.store.database import shown
from assay.store.exchange import export_csv, export_json, export_sql, import_csv, import_json, import_sql
from assay.store.mlflow import export_mlflow
from assay.store.moving import backup, move, restore
from assay.store.store import Store

TABLE = "experiments"
GROUP = "assay"
_JSON = (".jsonl", ".ndjson", ".json")


def _with_table(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--table", default=TABLE, metavar="NAME", help=f"the table of a database (default: {TABLE})"
    )
    add_store(part)


def _export_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "target", metavar="TARGET", help="FILE.csv, FILE.jsonl, sqlite:///x.db, postgresql://… or mlflow:URI"
    )
    part.add_argument(
        "--where", default="", metavar="FILTER", help="such as: metrics.nDCG@10 > 0.4 and params.top_k = 10"
    )
    part.add_argument(
        "--experiment", default=GROUP, metavar="NAME", help=f"the experiment of MLflow (default: {GROUP})"
    )
    _with_table(part)


def _import_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "source", metavar="SOURCE", help="FILE.csv, FILE.jsonl, sqlite:///x.db or postgresql://…"
    )
    _with_table(part)


def _backup_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("file", metavar="FILE.zip", help="to write")
    add_store(part)


def _restore_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("file", metavar="FILE.zip", help="that `assay experiments backup` wrote")
    part.add_argument("folder", metavar="FOLDER", help="to make the store in")


def _move_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("target", metavar="URL", help="of the other store: a folder or postgresql://…?tables=…")
    add_store(part)


def opened(arguments: argparse.Namespace) -> Store:
    """The store, which must be there."""
    url = store_url(arguments.store)
    if "://" not in url and not (Path(url) / "assay.db").is_file():
        raise InputError(
            f"there is no store at {url}: record an experiment with --save NAME, or name a store with --store"
        )
    return Store(url)


def _export(arguments: argparse.Namespace) -> None:
    target, where = arguments.target, arguments.where
    how = _way(target)
    with opened(arguments) as store:
        if how == "mlflow":
            added, skipped = export_mlflow(store, target.removeprefix("mlflow:"), arguments.experiment, where)
            print(f"{_counted(added)} written to {arguments.experiment!r} of MLflow{_skipped(skipped)}")
            return
        if how == "sql":
            count = export_sql(store, target, arguments.table, where)
        else:
            count = (export_csv if how == "csv" else export_json)(store, target, where)
    print(f"{_counted(count)} written to {shown(target)}")


def _import(arguments: argparse.Namespace) -> None:
    source = arguments.source
    how = _way(source)
    if how == "mlflow":
        raise InputError("experiments go out to MLflow, not in from it; import FILE.csv, FILE.jsonl or a URL")
    with Store(store_url(arguments.store)) as store:
        if how == "sql":
            found = import_sql(store, source, arguments.table)
        else:
            found = (import_csv if how == "csv" else import_json)(store, source)
    print(f"{_counted(found.added)} kept{_skipped(found.skipped)}")
    if found.others:
        print(f"taken for settings: {', '.join(found.others)}", file=sys.stderr)


def _backup(arguments: argparse.Namespace) -> None:
    with opened(arguments) as store:
        made, lost = backup(store, arguments.file), store.lost()
    if lost:
        few = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        print(f"warning: scores that experiments refer to are not there: {few}", file=sys.stderr)
    print(f"{_counted(made.experiments)} and {_tables(made.tables)} in {arguments.file}, {_size(made.size)}")


def _restore(arguments: argparse.Namespace) -> None:
    made = restore(arguments.file, arguments.folder)
    print(f"{_counted(made.experiments)} and {_tables(made.tables)} restored to {arguments.folder}")


def _move(arguments: argparse.Namespace) -> None:
    with opened(arguments) as source, Store(arguments.target) as target:
        done = move(source, target)
        print(
            f"{_counted(done.experiments)} and {_tables(done.tables)} copied to {target.url}"
            f"{_skipped(done.experiments_there)}; all are equal there"
        )
        print(f"{source.url} is left as it was; name the new one by --store or ASSAY_STORE", file=sys.stderr)


def _way(place: str) -> str:
    """How experiments go to a place, or come from it."""
    if place.startswith("mlflow:"):
        return "mlflow"
    if "://" in place:
        return "sql"
    ending = Path(place).suffix.lower()
    if ending == ".csv" or ending in _JSON:
        return "csv" if ending == ".csv" else "json"
    raise InputError(f"expected FILE.csv, FILE.jsonl, a database's URL or mlflow:URI, found {place!r}")


def _counted(count: int) -> str:
    return f"{count:,} experiment{'' if count == 1 else 's'}"


def _tables(count: int) -> str:
    return f"{count:,} table{'' if count == 1 else 's'}"


def _skipped(count: int) -> str:
    return f", {count:,} there already" if count else ""


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


Action = Callable[[argparse.Namespace], None]
Options = Callable[[argparse.ArgumentParser], None]
ACTIONS: dict[str, tuple[Action, Options, str]] = {
    "export": (_export, _export_options, "write experiments to a file, a database or MLflow"),
    "import": (_import, _import_options, "keep the experiments of a file or a database"),
    "backup": (_backup, _backup_options, "copy a store in a folder to one file"),
    "restore": (_restore, _restore_options, "make a store from such a file"),
    "move": (_move, _move_options, "copy everything to another store, and check it there"),
}
