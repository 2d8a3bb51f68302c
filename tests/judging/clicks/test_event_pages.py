import json
from pathlib import Path

import pytest

from assay.core.errors import UndecidableError
from assay.datasets.ubi import read_events
from assay.judging.clicks.event_pages import EventPages, pages_of_events

Record = dict[str, object]
QUERY: Record = {
    "query_id": "1",
    "session_id": "s",
    "user_query": "Red  Shoes",
    "timestamp": "2026-01-31T12:00:00Z",
}


def event(
    second: int, doc: str | None = None, action: str = "click", rank: int = 1, query: str = "1"
) -> Record:
    place = {"object": {"object_id": doc}, "position": {"ordinal": rank}}
    return {
        "action_name": action,
        "query_id": query,
        "session_id": "s",
        "timestamp": f"2026-01-31T12:{second // 60:02}:{second % 60:02}Z",
        "user_query": "red shoes",
        "event_attributes": place,
    }


def read(tmp_path: Path, *records: Record, **options: object) -> EventPages:
    path = tmp_path / "log.ndjson"
    path.write_text("\n".join(map(json.dumps, records)))
    return pages_of_events(read_events(path), **options)  # type: ignore[arg-type]


def test_a_page_has_the_results_of_its_query_and_dwell_until_the_next_event(tmp_path: Path) -> None:
    query = {**QUERY, "query_response_hit_ids": ["a", "b", "c"]}
    pages, counts = read(tmp_path, query, event(5, "b"), event(50, "c"))
    assert pages.query_ids.to_list() == ["red shoes"]
    assert pages.clicks.tolist() == [[False, True, True]]
    assert pages.dwell is not None
    assert pages.dwell[0, 1] == 45
    assert counts["clicks_without_dwell"] == 1  # the last of the session


def test_without_results_a_page_is_made_of_impressions(tmp_path: Path) -> None:
    records = [event(1, "b", "impression", 2), event(1, "a", "impression", 1), event(5, "b"), event(6, "x")]
    pages, counts = read(tmp_path, *records)
    assert pages.doc_ids.to_list() == ["a", "b"]
    assert pages.clicks.tolist() == [[False, True]]
    assert counts["clicks_off_page"] == 1


def test_other_actions_may_count_as_clicks_and_texts_may_have_ids(tmp_path: Path) -> None:
    query = {**QUERY, "query_response_hit_ids": ["a"]}
    options = {"click_actions": ["add_to_cart"], "query_ids": {"red shoes": "q7"}}
    pages, _ = read(tmp_path, query, event(5, "a", "add_to_cart"), **options)
    assert pages.query_ids.to_list() == ["q7"]
    assert pages.clicks.tolist() == [[True]]


def test_a_log_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UndecidableError, match="no page"):
        read(tmp_path, QUERY, event(5, "b"))


def test_real_logs_have_pages(shared: Path) -> None:
    pages, counts = pages_of_events(read_events(shared / "chorus_ubi/log_events.zip"))
    assert len(pages) == 4130 - 3271
    assert counts["clicks"] == 832
    pages, _ = pages_of_events(read_events(shared / "ubi/ubi_queries_events.ndjson"))
    assert pages.ranks == 20
