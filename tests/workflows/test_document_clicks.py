"""Clicks of a query, by its text, from the newest log that has it."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from assay.core.document_clicks import DocumentClicks
from assay.core.online_records import ONLINE_METRICS
from assay.store.store import Store
from assay.workflows.document_clicks import put_document_clicks, read_query_clicks
from assay.workflows.online_saving import SaveOnlineRequest, save_online

ROWS = [
    ("reset vpn", "a", 1, 40, 36, 0),
    ("reset vpn", "a", 3, 30, 20, 0),
    ("reset vpn", "b", 2, 10, 0, 2),
    ("reset vpn", "z", None, 0, 0, 1),
    ("other", "a", 1, 5, 5, 0),
]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A store with a log."""
    save(tmp_path / "store", "january", ROWS)
    return str(tmp_path / "store")


def save(store: Path | str, name: str, rows: Sequence[tuple[object, ...]]) -> None:
    names = ["query_id", "doc_id", "rank", "impressions", "clicks", "other_clicks"]
    clicks = DocumentClicks(pl.DataFrame(rows, schema=names, orient="row"))
    tables = put_document_clicks(clicks, str(store))
    save_online(ONLINE_METRICS, {}, SaveOnlineRequest(name=name, tables=tables, store=str(store)))


def test_counts_of_all_ranks_are_summed_with_an_interval(folder: str) -> None:
    with Store(folder) as store:
        clicks = read_query_clicks(store, "  Reset\tVPN ")
    assert [document.doc_id for document in clicks.documents] == ["a", "b", "z"]
    first, second, third = clicks.documents
    assert (first.impressions, first.clicks, first.mean_rank) == (70, 56, 130 / 70)
    assert first.ctr.value == 0.8
    assert [round(end or 0, 4) for end in first.ctr[1:3]] == [0.6918, 0.877]  # of the textbook
    assert (second.ctr.value, second.other_clicks) == (0, 2)
    assert (third.ctr.value, third.mean_rank, third.ctr.n) == (None, None, 0)
    assert clicks.to_dict()["documents"][2]["ctr"]["value"] is None


def test_the_newest_log_that_has_the_query_is_read(folder: str) -> None:
    save(folder, "february", ROWS[:1])
    with Store(folder) as store:
        assert read_query_clicks(store, "reset vpn").log == "february"
        assert read_query_clicks(store, "other").log == "january"


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "the text of the query is not kept"), ("new", "not among the most frequent of january")],
)
def test_why_there_are_no_clicks_is_said(folder: str, text: str | None, words: str) -> None:
    with Store(folder) as store:
        clicks = read_query_clicks(store, text)
    assert words in clicks.missing
    assert clicks.to_dict()["log"] is None


def test_a_store_without_a_log_says_so(tmp_path: Path) -> None:
    assert put_document_clicks(None, str(tmp_path / "store")) == {}
    with Store(tmp_path / "store") as store:
        assert read_query_clicks(store, "reset").missing == "no log with clicks is kept"
