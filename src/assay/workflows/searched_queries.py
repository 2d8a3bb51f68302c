"""Keep what users searched for, so that `assay online predict` can hold evaluation sets against it."""

from __future__ import annotations

from pathlib import Path

from assay.core.online_records import CLICKS
from assay.core.tables import Queries
from assay.store.store import Store
from assay.store.table_files import table_to_parquet
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.store_location import store_url


def put_searches(
    searches: Queries | None, store: str | None, project: str | Path = PROJECT_FILE
) -> dict[str, str]:
    """Store the queries of a log, and return the digest of the table by its role; none if there are none."""
    if searches is None or not len(searches):
        return {}
    with Store(store_url(store, project)) as opened:
        if not opened.tables.has(searches.digest):
            opened.tables.write(searches.digest, table_to_parquet(searches))
    return {CLICKS: searches.digest}
