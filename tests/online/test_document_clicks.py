"""Impressions and clicks by the text of the query, document and rank, on DuckDB and PostgreSQL."""

from pathlib import Path

import ibis
import polars as pl
import pytest

from assay.core.document_clicks import DocumentClicks
from assay.datasets.ubi import read_events
from assay.judging.clicks.event_pages import pages_of_events
from assay.online.document_clicks import count_document_clicks
from assay.online.event_tables import EventTables, connect_duckdb
from assay.store.table_files import has_digest, table_from_parquet, table_to_parquet

QUERIES = pl.DataFrame(
    {
        "query_id": ["1", "2", "3", "4", "5"],
        "user_query": ["Reset  VPN", " reset vpn", "other", None, ""],
        "hit_ids": [["a", "b"], ["b", "a"], [], ["a"], ["a"]],
    }
)
EVENTS = pl.DataFrame(
    [
        ("1", "click", "a", 1, False),
        ("1", "click", "a", 1, False),  # a click counts once for each page
        ("2", "click", "z", 9, False),  # not among the results
        ("2", "click", "b", 1, True),  # repeated by the log
        ("3", "impression", "m", 4, False),
        ("3", "impression", "m", 6, False),
        ("3", "click", "m", 4, False),
        ("3", "click", "n", None, False),
        ("3", "purchase", "m", 4, False),
        ("4", "click", "a", 1, False),  # of no text
    ],
    schema=["query_id", "action", "object_id", "rank", "is_repeated"],
    orient="row",
)
EXPECTED = [
    ("other", "m", 4, 1, 1, 0),
    ("other", "n", None, 0, 0, 1),
    ("reset vpn", "a", 1, 1, 1, 0),
    ("reset vpn", "a", 2, 1, 0, 0),
    ("reset vpn", "b", 1, 1, 0, 0),
    ("reset vpn", "b", 2, 1, 0, 0),
    ("reset vpn", "z", 9, 0, 0, 1),
]


def tables(connection: ibis.BaseBackend) -> EventTables:
    return EventTables.from_tables(
        connection.create_table("queries", QUERIES), connection.create_table("events", EVENTS)
    )


def test_documents_are_counted_by_text_and_rank() -> None:
    assert count_document_clicks(tables(connect_duckdb())).frame.rows() == EXPECTED


def test_postgresql_counts_the_same(postgres: str) -> None:
    connection = ibis.connect(postgres)
    counted = count_document_clicks(tables(connection)).frame.rows()
    connection.disconnect()
    assert counted == EXPECTED


def test_other_actions_can_count_as_clicks() -> None:
    counted = count_document_clicks(tables(connect_duckdb()), ["purchase"]).frame
    assert counted.filter(pl.col("clicks") > 0).rows() == [("other", "m", 4, 1, 1, 0)]


def test_the_most_frequent_texts_and_their_most_shown_documents_are_kept() -> None:
    counted = count_document_clicks(tables(connect_duckdb()), most_queries=1, most_rows=2).frame
    assert counted["query_id"].to_list() == ["reset vpn"] * 2
    assert counted["clicks"].to_list() == [1, 0]


def test_a_log_without_results_and_clicks_has_no_rows() -> None:
    connection = connect_duckdb()
    queries = connection.create_table("queries", QUERIES.drop("hit_ids"))
    assert len(count_document_clicks(EventTables.from_tables(queries, None))) == 0


@pytest.mark.parametrize("log", ["ubi/ubi_queries_events.ndjson", "chorus_ubi/log_events.zip"])
def test_counts_of_a_real_log_are_those_of_its_result_pages(shared: Path, log: str) -> None:
    events = read_events(shared / log)
    counted = count_document_clicks(
        EventTables.from_events(events), most_queries=10**6, most_rows=10**6
    ).frame
    pages = pages_of_events(events).pages
    totals = (int(pages.shown.sum()), int(pages.clicks.sum()))
    assert counted.select(pl.col("impressions", "clicks").sum()).row(0) == totals
    assert counted.filter(pl.col("impressions") > 0)["query_id"].n_unique() == len(set(pages.query_ids))


def test_the_table_is_stored_unchanged() -> None:
    table = count_document_clicks(tables(connect_duckdb()))
    content = table_to_parquet(table)
    assert has_digest(content, table.digest)
    assert table_from_parquet(DocumentClicks, content).digest == table.digest
