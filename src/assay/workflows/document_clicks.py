"""Keep how often documents were shown and clicked, and read it for one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.document_clicks import DocumentClicks
from assay.core.online_records import DOCUMENT_CLICKS
from assay.judging.clicks.event_pages import normalise_query
from assay.stats.intervals import Estimate
from assay.stats.share_differences import wilson_ends
from assay.store.linked_tables import find_linked_tables
from assay.store.store import Store
from assay.store.table_files import table_to_parquet
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.store_location import store_url

_NEWEST = 5  # logs in which the text of a query is looked for


def put_document_clicks(
    clicks: DocumentClicks | None, store: str | None, project: str | Path = PROJECT_FILE
) -> dict[str, str]:
    """Store the clicks of a log, and return the digest of the table by its role; none if there are none."""
    if clicks is None or not len(clicks):
        return {}
    with Store(store_url(store, project)) as opened:
        if not opened.tables.has(clicks.digest):
            opened.tables.write(clicks.digest, table_to_parquet(clicks))
    return {DOCUMENT_CLICKS: clicks.digest}


@dataclass(frozen=True)
class ClickedDocument:
    """How often a document was shown and clicked for a query."""

    doc_id: str
    impressions: int  # result pages that showed it
    clicks: int  # of these, pages on which it was clicked
    other_clicks: int  # clicked pages of which it is not known whether they showed it
    mean_rank: float | None  # of the impressions
    ctr: Estimate  # clicks / impressions with Wilson's interval; undefined without impressions

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {**vars(self), "ctr": self.ctr.to_dict()}


@dataclass(frozen=True)
class QueryClicks:
    """The clicks of a query in the newest log that has it, or why there are none."""

    log: str = ""  # the name of the record
    at: datetime | None = None  # when the record was saved
    documents: Sequence[ClickedDocument] = ()  # most shown first
    missing: str = ""  # why there are none

    def to_dict(self) -> dict[str, Any]:
        """Return the clicks as plain data."""
        return {
            "log": self.log or None,
            "at": self.at and self.at.isoformat(),
            "documents": [document.to_dict() for document in self.documents],
            "missing": self.missing or None,
        }


def read_query_clicks(store: Store, text: str | None) -> QueryClicks:
    """Return the clicks of a query by its text: letters in lower case, with single blanks."""
    tables = find_linked_tables(store.database, DOCUMENT_CLICKS, _NEWEST)
    if not tables:
        return QueryClicks(missing="no log with clicks is kept")
    if not text:
        return QueryClicks(missing="the text of the query is not kept, by which logs are searched")
    query = pl.select(text=pl.lit(text)).select(normalise_query("text")).item()
    for table in tables:
        if store.tables.has(table.digest):
            rows = store.tables.rows_of(table.digest, query)
            if len(rows):
                return QueryClicks(table.name, table.at, _documents(rows))
    names = ", ".join(dict.fromkeys(table.name for table in tables))
    return QueryClicks(missing=f"the text of the query is not among the most frequent of {names}")


def _documents(rows: pl.DataFrame) -> list[ClickedDocument]:
    """Return the documents with their counts over all ranks."""
    weighted = (pl.col("rank") * pl.col("impressions")).sum()
    counted = rows.group_by("doc_id").agg(
        pl.col("impressions", "clicks", "other_clicks").sum(), weighted.alias("ranks")
    )
    ordered = counted.sort(
        "impressions", "clicks", "other_clicks", "doc_id", descending=[True, True, True, False]
    )
    return [_document(row) for row in ordered.iter_rows(named=True)]


def _document(row: Mapping[str, Any]) -> ClickedDocument:
    shown, clicks = row["impressions"], row["clicks"]
    ctr = Estimate(clicks / shown, *wilson_ends(clicks, shown), 0.95, shown) if shown else None
    return ClickedDocument(
        row["doc_id"],
        shown,
        clicks,
        row["other_clicks"],
        row["ranks"] / shown if shown else None,
        ctr or Estimate(None, None, None, 0.95, 0),
    )
