"""Logs of other shapes than UBI are read by the names of their columns."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.events import Events
from assay.datasets.ubi import read_events

COLUMNS = {"query_id": "qid", "client_id": "who", "at": "when", "user_query": "text"}


def read(folder: Path, *rows: dict[str, Any], **columns: str) -> Events:
    shared = {"who": "u", "when": "2026-01-31T12:00:00Z", "text": "vpn"}
    path = folder / "log.ndjson"
    path.write_text("".join(json.dumps({**shared, **row}) + "\n" for row in rows))
    return read_events(path, columns={**COLUMNS, **columns})


def clicks_of(events: Events) -> list[tuple[Any, ...]]:
    assert set(events.frame["action"]) <= {"click"}
    return events.frame.select("object_id", "rank").rows()


@pytest.mark.parametrize(
    "clicks",
    [[0, 1, 0, 1], ["b", "d"], "b, d", [2, 4], [{"doc_id": "b", "rank": 2}, {"id": "d", "rank": 4}]],
    ids=["flags", "ids", "text", "ranks", "objects"],
)
def test_the_clicks_of_a_row_have_several_forms(tmp_path: Path, clicks: Any) -> None:
    events = read(
        tmp_path, {"qid": 1, "hits": "a b c d", "clicked": clicks}, hit_ids="hits", clicks="clicked"
    )
    assert clicks_of(events) == [("b", 2), ("d", 4)]
    assert events.queries["hit_ids"].to_list() == [["a", "b", "c", "d"]]


def test_a_click_on_a_rank_without_a_result_is_kept_and_counted(tmp_path: Path) -> None:
    events = read(tmp_path, {"qid": 1, "hits": ["a"], "clicked": [7]}, hit_ids="hits", clicks="clicked")
    assert clicks_of(events) == [(None, None)]
    assert events.problem_count("click on a rank without a result") == 1


def test_rows_of_clicks_have_one_query(tmp_path: Path) -> None:
    rows = [{"qid": 1, "url": "a", "pos": 1}, {"qid": 1, "url": "c", "pos": 3}]
    events = read(tmp_path, *rows, object_id="url", rank="pos")
    assert clicks_of(events) == [("a", 1), ("c", 3)]
    assert events.queries.select("query_id", "client_id", "user_query").rows() == [("1", "u", "vpn")]


def test_rows_without_a_query_id_share_one_by_user_time_and_text(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"qid": 9}, {"url": "a"}, {"url": "b"}, {"url": "a", "text": "dns"}]
    rows.append({"url": "a", "who": None})
    events = read(tmp_path, *rows, object_id="url")
    assert events.queries["user_query"].to_list() == ["vpn", "vpn", "dns", "vpn"]
    assert events.problem_count("row without a query id") == 1


def test_a_search_is_a_query_and_no_event(tmp_path: Path) -> None:
    rows = [{"qid": 1, "what": "search"}, {"qid": 1, "what": "click", "url": "a"}]
    events = read(tmp_path, *rows, action="what", object_id="url")
    assert (len(events.queries), clicks_of(events)) == (1, [("a", None)])


def test_a_name_with_dots_goes_into_objects_and_further_columns_are_attributes(tmp_path: Path) -> None:
    row = {"qid": 1, "user": {"id": "x"}, "shown": 3, "device": "phone", "arm": "B", "ms": 12.5}
    events = read(tmp_path, row, client_id="user.id", result_count="shown", variant="arm", latency_ms="ms")
    (query,) = events.queries.to_dicts()
    expected = {"client_id": "x", "result_count": 3, "variant": "B", "latency_ms": 12.5, "hit_ids": None}
    assert {name: query[name] for name in expected} == expected
    assert json.loads(query["attributes"])["device"] == "phone"


def test_a_name_that_is_not_ours_or_in_no_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'client' of events; did you mean client_id"):
        read(tmp_path, {"qid": 1}, client="who")
    with pytest.raises(InputError, match="no row of the log has the column of --column rank=place"):
        read(tmp_path, {"qid": 1, "url": "a"}, object_id="url", rank="place")
