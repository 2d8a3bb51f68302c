"""Open or check the store of experiments that a command names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import InputError, StoreError
from assay.store.shared_databases import share_databases
from assay.store.store import Store
from assay.workflows.store_location import store_url


def open_existing_store(url: str | None = None) -> Store:
    """The store of a URL or of the settings; a folder without one is refused, and none is made."""
    location = store_url(url)
    if "://" not in location and not (Path(location) / "assay.db").is_file():
        raise InputError(
            f"there is no store at {location}: record an experiment with --save NAME, keep an evaluation set "
            "with `assay dataset import`, make a project with `assay judge create`, or name one with --store"
        )
    return Store(location)


@contextmanager
def keep_stores_open() -> Iterator[None]:
    """Keep the databases of stores open until the end of the block, for the many requests of a server."""
    with share_databases():
        yield


def check_store(location: str) -> None:
    """Refuse a store that cannot be opened or written; a folder that does not exist is not made."""
    if "://" in location or Path(location).exists():
        with Store(location) as store:
            store.check_writable()
        return
    parent = next(folder for folder in Path(location).absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = "no permission to write there" if parent.is_dir() else "it is a file"
        raise StoreError(f"the store {location} cannot be created in {parent} ({reason}); name another")
