"""What follows from several records: ranks, duplicates, sessions of queries, events without their query."""

from __future__ import annotations

import polars as pl

from assay.datasets.ubi_log.problem_log import ProblemLog

_SAME_EVENT = (
    *("action_name", "query_id", "session_id", "client_id", "user_id", "at", "object_id", "ordinal"),
    *("x", "y", "message", "attributes"),
)


def merge_queries(queries: pl.DataFrame, problems: ProblemLog) -> pl.DataFrame:
    """Return one row for each query id: the one with the most results, at the place of the first."""
    known = queries["query_id"].is_not_null()
    if not queries.filter(known)["query_id"].is_duplicated().any():
        return queries
    ordered = queries.with_row_index("order").with_columns(
        length=pl.col("hit_ids").list.len().fill_null(0), key=pl.coalesce("query_id", "order")
    )
    repeated = ordered.filter(known & ordered["query_id"].is_first_distinct().not_())
    _add_rows("repeated query", repeated, problems, "query_id")
    best = ordered.sort(["length", "order"], descending=[True, False]).unique("key", keep="first")
    return best.sort("order").drop("order", "length", "key")


def mark_repeated_events(events: pl.DataFrame, problems: ProblemLog) -> pl.DataFrame:
    """Return the events with a mark on those that are equal to an earlier one, time included."""
    is_first = events.select(pl.struct(_SAME_EVENT).is_first_distinct()).to_series()
    is_repeated = ~is_first & events["at"].is_not_null()
    _add_rows("repeated event", events.filter(is_repeated), problems, "action_name")
    return events.with_columns(is_repeated=is_repeated)


def add_ranks(
    events: pl.DataFrame,
    queries: pl.DataFrame,
    problems: ProblemLog,
    ordinal_bases: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the events with a rank from 1 instead of an ordinal.

    The rank in the results of the query is used if they contain the object. Otherwise an ordinal counts from
    0 if another event of the same query has ordinal 0, or if most queries of its application do.
    """
    positions = (
        queries.filter(pl.col("query_id").is_not_null())
        .select("query_id", object_id="hit_ids")
        .explode("object_id")
        .with_columns(position=pl.int_range(1, pl.len() + 1).over("query_id"))
        .unique(["query_id", "object_id"], keep="first", maintain_order=True)
    )
    joined = events.join(positions, on=["query_id", "object_id"], how="left", maintain_order="left")
    ordinal, position = pl.col("ordinal"), pl.col("position")
    is_from_0 = (
        pl.when(position.is_not_null())
        .then(ordinal == position - 1)
        .otherwise(_begins_at_0(joined, ordinal_bases))
    )
    has_object = pl.col("object_id").is_not_null()
    joined = joined.with_columns(from_0=is_from_0.fill_null(False) & has_object).with_columns(
        rank=pl.when(has_object).then(
            pl.coalesce(position, pl.when(ordinal + pl.col("from_0") >= 1).then(ordinal + pl.col("from_0")))
        )
    )
    contradicts = position.is_not_null() & (ordinal != position) & (ordinal != position - 1)
    _add_rows("ordinal from 0", joined.filter(pl.col("from_0") & ordinal.is_not_null()), problems, "ordinal")
    _add_rows("ordinal that contradicts the results", joined.filter(contradicts), problems, "ordinal")
    _add_rows(
        "ordinal without an object", joined.filter(~has_object & ordinal.is_not_null()), problems, "ordinal"
    )
    return joined.drop("ordinal", "position", "from_0")


def _begins_at_0(events: pl.DataFrame, bases: pl.DataFrame | None) -> pl.Series:
    """Return for each event whether ordinals of its query, or of its application, begin at 0."""
    has_0 = _queries_from_0(events)
    most = majority_of(count_ordinal_bases(events)) if bases is None else bases
    joined = events
    for table, keys in ((has_0, ["application", "query_id"]), (most, ["application"])):
        joined = joined.join(table, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return (joined["has_0"].fill_null(False) | joined["mostly_0"].fill_null(False)).alias("begins_at_0")


def _queries_from_0(events: pl.DataFrame) -> pl.DataFrame:
    shown = (
        pl.col("ordinal").is_not_null() & pl.col("object_id").is_not_null() & pl.col("query_id").is_not_null()
    )
    return events.filter(shown).group_by("application", "query_id").agg(has_0=(pl.col("ordinal") == 0).any())


def count_ordinal_bases(events: pl.DataFrame) -> pl.DataFrame:
    """Return for each application how many queries have ordinals, and how many of them from 0."""
    counted = _queries_from_0(events).group_by("application")
    return counted.agg(from_0=pl.col("has_0").sum().cast(pl.Int64), queries=pl.len().cast(pl.Int64))


def majority_of(counts: pl.DataFrame) -> pl.DataFrame:
    """Return for each application whether most of its queries have ordinals from 0."""
    sums = counts.group_by("application").agg(pl.col("from_0", "queries").sum())
    return sums.select("application", mostly_0=pl.col("from_0") > 0.5 * pl.col("queries"))


def add_query_sessions(queries: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return the queries with the session of their first event, where the log has none."""
    first = (
        events.filter(pl.col("query_id").is_not_null() & pl.col("session_id").is_not_null())
        .unique("query_id", keep="first", maintain_order=True)
        .select("query_id", event_session="session_id")
    )
    joined = queries.join(first, on="query_id", how="left", maintain_order="left")
    return joined.with_columns(session_id=pl.coalesce("session_id", "event_session")).drop("event_session")


def check_links(events: pl.DataFrame, queries: pl.DataFrame, problems: ProblemLog) -> None:
    """Count what cannot be joined, and events that come before their query or long after it."""
    is_empty = pl.col("result_count") == 0
    _add_rows("query without results", queries.filter(is_empty), problems, "user_query")
    is_missing = pl.col("result_count").is_null()
    _add_rows("query whose results are not logged", queries.filter(is_missing), problems, "user_query")
    _add_rows("query without an id", queries.filter(pl.col("query_id").is_null()), problems, "user_query")
    without_id = pl.col("query_id").is_null()
    _add_rows("event without a query id", events.filter(without_id), problems, "action_name")
    _add_rows("event without a time", events.filter(pl.col("at").is_null()), problems, "action_name")
    times = queries.filter(pl.col("query_id").is_not_null()).select("query_id", asked="at", is_known=True)
    joined = events.join(times, on="query_id", how="left", maintain_order="left")
    unknown = joined.filter(pl.col("is_known").is_null() & ~without_id)
    _add_rows("event of an unknown query", unknown, problems, "query_id")
    early = joined.filter(pl.col("at") < pl.col("asked"))
    _add_rows("event before its query", early, problems, "action_name")
    late = joined.filter(pl.col("at") - pl.col("asked") > pl.duration(days=1))
    _add_rows("event more than a day after its query", late, problems, "action_name")


def _add_rows(kind: str, rows: pl.DataFrame, problems: ProblemLog, detail: str) -> None:
    for source, line, text in rows.select("source", "line", detail).iter_rows():
        problems.add(kind, source, line, text if text is not None else "")
