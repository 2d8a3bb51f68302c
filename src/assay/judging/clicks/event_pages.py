"""Result pages from interaction events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from assay.core.errors import UndecidableError
from assay.core.events import Events
from assay.core.result_pages import Pages, ResultPage

_IDLE_MINUTES = 30  # after which a session has ended


class EventPages(NamedTuple):
    """Pages from events, and what of the events they could not use."""

    pages: Pages
    counts: Mapping[str, int]


def normalise_query(name: str) -> pl.Expr:
    """Return the text of a query in lower case, with single blanks.

    >>> pl.select(q=pl.lit("  Red   SHOES")).select(normalise_query("q")).item()
    'red shoes'
    """
    return pl.col(name).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()


def pages_of_events(
    events: Events, click_actions: Sequence[str] = ("click",), query_ids: Mapping[str, str] | None = None
) -> EventPages:
    """Return a page for each query of a log that showed results.

    A page shows the results of its query record; without any, the objects of its impressions by rank. People
    who search for the same text search for the same query: pages have the normalised text as their query,
    or the id of that text in `query_ids`.
    """
    shown = _shown_documents(events)
    clicks = _clicks(events, click_actions)
    pages = _join_texts(shown, events, query_ids)
    if pages.is_empty():
        raise UndecidableError(
            "the log has no page whose query and results are both known: it needs result ids "
            "(query_response_hit_ids) or impressions with ranks, and user_query"
        )
    joined = pages.explode("documents").rename({"documents": "object_id"})
    joined = joined.join(clicks, on=["page", "object_id"], how="left", maintain_order="left")
    rows = joined.group_by("page", maintain_order=True).agg(
        pl.col("query").first(), "object_id", pl.col("is_clicked").fill_null(False), "dwell"
    )
    on_page = joined.filter(pl.col("is_clicked"))
    counts = {
        "queries": len(events.queries),
        "pages": len(pages),
        "clicks": int(on_page["clicks"].sum()),
        "clicks_off_page": int(clicks["clicks"].sum()) - int(on_page["clicks"].sum()),
        "clicks_without_dwell": int(on_page["dwell"].null_count()),
    }
    return EventPages(Pages.from_rows(ResultPage(*row[1:]) for row in rows.iter_rows()), counts)


def _shown_documents(events: Events) -> pl.DataFrame:
    """Return the documents of each page by rank."""
    has_hits = pl.col("hit_ids").list.len() > 0
    hits = events.queries.filter(has_hits & pl.col("query_id").is_not_null())
    from_hits = hits.select(page="query_id", documents="hit_ids")
    impressions = (
        events.frame.filter(
            (pl.col("action") == "impression")
            & pl.col("rank").is_not_null()
            & pl.col("query_id").is_not_null()
        )
        .join(hits.select("query_id"), on="query_id", how="anti")
        .sort("rank", maintain_order=True)
        .unique(["query_id", "object_id"], keep="first", maintain_order=True)
        .group_by("query_id", maintain_order=True)
        .agg("object_id")
        .rename({"query_id": "page", "object_id": "documents"})
    )
    return pl.concat([from_hits, impressions])


def _clicks(events: Events, actions: Sequence[str]) -> pl.DataFrame:
    """Return the clicked documents of each page, with the longest dwell time in seconds.

    Dwell is the time to the next event or query of the session; after the last one it is unknown.
    """
    columns = ["session_id", "client_id", "query_id", "at"]
    steps = pl.concat(
        [
            events.frame.select(*columns, "object_id", "is_repeated", is_click=_is_action(actions)),
            events.queries.select(
                *columns,
                object_id=pl.lit(None, pl.String),
                is_repeated=pl.lit(False),
                is_click=pl.lit(False),
            ),
        ]
    ).with_columns(session=pl.coalesce("session_id", "client_id"))
    later = steps.filter(pl.col("at").is_not_null()).select("session", "at").unique().sort("session", "at")
    following = later.with_columns(next=pl.col("at").shift(-1).over("session"))
    gap = pl.col("next") - pl.col("at")
    clicks = steps.filter(
        pl.col("is_click")
        & ~pl.col("is_repeated")
        & pl.col("object_id").is_not_null()
        & pl.col("query_id").is_not_null()
    ).join(following, on=["session", "at"], how="left", maintain_order="left")
    seconds = pl.when(gap <= pl.duration(minutes=_IDLE_MINUTES)).then(gap.dt.total_milliseconds() / 1000)
    return (
        clicks.with_columns(dwell=seconds)
        .group_by(page="query_id", object_id="object_id")
        .agg(pl.col("dwell").max(), is_clicked=pl.lit(True), clicks=pl.len())
    )


def _is_action(actions: Sequence[str]) -> pl.Expr:
    """Return whether an event has one of the actions, under the standard name or that of the log."""
    names = list(actions)
    return pl.col("action").is_in(names) | pl.col("action_name").is_in(names)


def _join_texts(shown: pl.DataFrame, events: Events, query_ids: Mapping[str, str] | None) -> pl.DataFrame:
    """Return the pages whose query text is known, with that text or its id as their query."""
    texts = pl.concat(
        [events.queries.select("query_id", "user_query"), events.frame.select("query_id", "user_query")]
    ).filter(pl.col("query_id").is_not_null() & pl.col("user_query").is_not_null())
    texts = texts.unique("query_id", keep="first", maintain_order=True)
    pages = shown.join(texts, left_on="page", right_on="query_id", how="inner", maintain_order="left")
    pages = pages.with_columns(query=normalise_query("user_query")).filter(pl.col("query") != "")
    if query_ids is None:
        return pages
    known = _known_queries(query_ids)
    return pages.join(known, on="query", how="inner", maintain_order="left").with_columns(query="id")


def _known_queries(query_ids: Mapping[str, str]) -> pl.DataFrame:
    frame = pl.DataFrame({"query": list(query_ids), "id": list(query_ids.values())}, schema_overrides=_TEXTS)
    return frame.with_columns(normalise_query("query")).unique("query", keep="first", maintain_order=True)


_TEXTS: dict[str, Any] = {"query": pl.String, "id": pl.String}
