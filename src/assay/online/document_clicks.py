"""How often each document was shown and clicked for each text of a query, counted where the log is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from assay.core.document_clicks import SCHEMA, DocumentClicks
from assay.online.event_tables import EventTables, load_ibis

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

MOST_QUERIES = 10_000  # texts of queries, the most frequent
MOST_ROWS = 100  # documents at ranks of one text, the most often shown


def count_document_clicks(
    tables: EventTables,
    clicks: Sequence[str] = ("click",),
    most_queries: int = MOST_QUERIES,
    most_rows: int = MOST_ROWS,
) -> DocumentClicks:
    """Return impressions and clicks by the text of the query, document and rank.

    A result page shows the results of its query, or else the objects of its impressions with their ranks.
    A click counts once for each page and document; one on a page whose results are not known, or do not
    have the document, is counted apart.

    >>> from assay.core.events import Events
    >>> len(count_document_clicks(EventTables.from_events(Events.empty())))
    0
    """
    ibis = load_ibis()
    shown = _shown(tables).mutate(shown=ibis.literal(1), clicked=ibis.literal(0))
    clicked = _clicked(tables.events, clicks).mutate(shown=ibis.literal(0), clicked=ibis.literal(1))
    marks = shown.union(clicked)
    documents = marks.group_by("page", "doc_id").aggregate(
        rank=marks["rank"].max(where=marks.shown == 1).coalesce(marks["rank"].max()),
        shown=marks.shown.max(),
        clicked=marks.clicked.max(),
    )
    rows = _frequent_pages(tables.queries, most_queries).inner_join(documents, "page")
    counted = rows.group_by("query_id", "doc_id", "rank").aggregate(
        impressions=rows.shown.sum().cast("int64"),
        clicks=(rows.shown * rows.clicked).sum().cast("int64"),
        other_clicks=((1 - rows.shown) * rows.clicked).sum().cast("int64"),
    )
    return DocumentClicks(_to_frame(_first_of_each(counted, most_rows)))


def normalise_text(text: Value) -> Value:
    """Return the text of a query in lower case with single blanks."""
    return text.lower().re_replace(r"\s+", " ").strip()


def _frequent_pages(queries: Table, most: int) -> Table:
    """Return the page of each query whose text is among the most frequent, with that text."""
    texts = queries.select(page=queries.query_id, query_id=normalise_text(queries.user_query))
    texts = texts.filter(texts.page.notnull() & (texts.query_id.length() > 0))
    counted = texts.group_by("query_id").aggregate(pages=texts.count())
    frequent = counted.order_by([counted.pages.desc(), counted.query_id]).limit(most)
    return texts.semi_join(frequent, "query_id")


def _shown(tables: EventTables) -> Table:
    """Return the documents of each page with their ranks."""
    events = tables.events
    is_shown = (events.action == "impression") & events["rank"].notnull() & events.query_id.notnull()
    seen = events.filter(is_shown & events.object_id.notnull() & ~events.is_repeated)
    shown = seen.group_by(page="query_id", doc_id="object_id").aggregate(rank=seen["rank"].min())
    hits = _hits(tables.queries)
    return shown if hits is None else hits.union(shown.anti_join(hits, "page"))


def _hits(queries: Table) -> Table | None:
    """Return the documents of the lists of results; None if the log has no such lists."""
    if "hit_ids" not in queries.columns or not queries.hit_ids.type().is_array():
        return None
    listed = queries.filter(queries.query_id.notnull() & (queries.hit_ids.length() > 0))
    rows = listed.select("query_id", "hit_ids").unnest("hit_ids", offset="place")
    rows = rows.filter(rows.hit_ids.notnull())
    typed = rows.select(page=rows.query_id, doc_id=rows.hit_ids.cast("string"), place=rows.place)
    return typed.group_by("page", "doc_id").aggregate(rank=typed.place.min().cast("int64") + 1)


def _clicked(events: Table, actions: Sequence[str]) -> Table:
    """Return the clicked documents of each page, at the best rank that a click names."""
    clicks = events.filter(
        events.action.isin(list(actions))
        & ~events.is_repeated
        & events.query_id.notnull()
        & events.object_id.notnull()
    )
    return clicks.group_by(page="query_id", doc_id="object_id").aggregate(rank=clicks["rank"].min())


def _first_of_each(counted: Table, most: int) -> Table:
    """Return the rows of each query that were shown most often."""
    ibis = load_ibis()
    order = [counted.impressions.desc(), counted.clicks.desc(), counted.doc_id, counted["rank"]]
    numbered = counted.mutate(place=ibis.row_number().over(group_by="query_id", order_by=order))
    return numbered.filter(numbered.place < most).drop("place")


def _to_frame(table: Table) -> pl.DataFrame:
    frame = pl.from_arrow(table.select(*SCHEMA).to_pyarrow())
    assert isinstance(frame, pl.DataFrame)
    return frame
