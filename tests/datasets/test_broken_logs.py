"""Broken logs lose nothing silently: what is read is kept or counted, and the treatment is explained."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.events import Events
from assay.datasets.event_parquet import normalise_log
from assay.datasets.ubi import read_events

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
LEFT_OUT = ("not JSON", "not a record", "neither a query nor an event")


def query(query_id: str | None = "q", **more: Any) -> dict[str, Any]:
    shared = {"query_id": query_id, "client_id": "c", "user_query": "vpn", "timestamp": AT.isoformat()}
    return {**shared, "query_response_hit_ids": ["a", "b", "c"], **more}


def click(query_id: str | None = "q", seconds: float = 5, ordinal: int = 1, **more: Any) -> dict[str, Any]:
    at = (AT + timedelta(seconds=seconds)).isoformat()
    attributes = {"object": {"object_id": "abc"[ordinal - 1]}, "position": {"ordinal": ordinal}}
    shared = {"query_id": query_id, "client_id": "c", "timestamp": at, "event_attributes": attributes}
    return {"action_name": "click", **shared, **more}


def read(folder: Path, *records: Any) -> Events:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (folder / "log.ndjson").write_text("".join(line + "\n" for line in lines))
    return read_events(folder / "log.ndjson")


def found(events: Events) -> dict[str, int]:
    return {problem.kind: problem.count for problem in events.problems}


def test_a_clock_that_is_slow_puts_events_before_their_query(tmp_path: Path) -> None:
    events = read(tmp_path, query(), click(seconds=-600), click(seconds=5, ordinal=2))
    assert found(events) == {"event before its query": 1}
    (problem,) = events.problems
    assert (problem.treatment, problem.places[0].line) == ("kept", 2)
    assert len(events) == 2


def test_a_clock_that_is_fast_puts_events_days_after_their_query(tmp_path: Path) -> None:
    events = read(tmp_path, query(), click(seconds=86_400), click(seconds=86_401, ordinal=2))
    assert found(events) == {"event more than a day after its query": 1}
    assert (events.problems[0].treatment, events.problems[0].places[0].line) == ("kept", 3)


def test_an_event_may_be_written_before_its_query(tmp_path: Path) -> None:
    events = read(tmp_path, click(), query())
    assert found(events) == {}
    assert events.frame["rank"].to_list() == [1]


def test_a_duplicated_event_is_kept_and_marked(tmp_path: Path) -> None:
    events = read(tmp_path, query(), click(), click(), click(seconds=6))
    assert found(events) == {"repeated event": 1}
    assert events.frame["is_repeated"].to_list() == [False, True, False]


def test_missing_ids_are_counted_and_kept(tmp_path: Path) -> None:
    events = read(tmp_path, query(), query(None), click(None), click("other"))
    expected = {"query without an id": 1, "event without a query id": 1, "event of an unknown query": 1}
    assert found(events) == expected
    assert (len(events.queries), len(events)) == (2, 2)


def test_mixed_ordinals_are_ranks_from_1(tmp_path: Path) -> None:
    of_0 = [click("z", ordinal=k + 1) for k in range(3)]
    for k, event in enumerate(of_0):
        event["event_attributes"]["position"]["ordinal"] = k
    events = read(tmp_path, query(), query("z"), *(click(ordinal=k) for k in (1, 2, 3)), *of_0)
    assert found(events) == {"ordinal from 0": 3}
    assert events.frame["rank"].to_list() == [1, 2, 3] * 2


def test_a_truncated_line_is_counted_with_its_place(tmp_path: Path) -> None:
    events = read(tmp_path, query(), json.dumps(click())[:40], click())
    (problem,) = events.problems
    assert (problem.kind, problem.count, problem.treatment) == ("not JSON", 1, "left out")
    assert problem.places[0].line == 2
    assert len(events) == 1


def test_a_broken_record_of_a_list_costs_only_itself(tmp_path: Path) -> None:
    pretty = json.dumps([query(), click(), click(seconds=6), click(seconds=7)], indent=1)
    begin = pretty.index('"action_name"')
    (tmp_path / "log.json").write_text(pretty[:begin] + pretty[begin + 2 :])  # without a quote
    events = read_events(tmp_path / "log.json")
    (problem,) = (p for p in events.problems if p.kind == "not JSON")
    broken_line = pretty[:begin].count("\n")
    assert (len(events), problem.places[0].line) == (2, broken_line)


def test_two_time_zones_are_one_time(tmp_path: Path) -> None:
    times = ["2026-01-31T14:00:05+02:00", "2026-01-31T07:00:05-05:00", "2026-01-31T12:00:05"]
    events = read(tmp_path, query(), *(click(ordinal=k + 1, timestamp=t) for k, t in enumerate(times)))
    assert events.frame["at"].unique().to_list() == [AT + timedelta(seconds=5)]
    assert found(events) == {"time in another zone": 2, "time without a zone": 1}


_values = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers()))
_broken_values = st.dictionaries(
    st.sampled_from(
        (
            *("query_id", "client_id", "timestamp", "action_name", "user_query", "event_attributes"),
            *("query_response_hit_ids", "query_attributes", "session_id"),
        )
    ),
    _values,
)
_records: st.SearchStrategy[Any] = st.one_of(
    st.builds(query, st.sampled_from(["q", "r", None])),
    st.builds(
        click,
        st.sampled_from(["q", "r", "unknown", None]),
        st.sampled_from([-600.0, 1.0, 2.0]),
        st.integers(1, 3),
    ),
    st.builds(lambda changes: {**query(), **changes}, _broken_values),
    st.builds(lambda changes: {**click(), **changes}, _broken_values),
    _broken_values,
    st.integers(0, 60).map(lambda end: json.dumps(click())[:end] or "x"),
    st.sampled_from(["[]", "[1]", "null", "7", '"text"', "{}"]),
)


def _count_records(lines: Sequence[str]) -> int:
    """How many records the lines hold; a line that is no JSON is one, an empty list none."""
    count = 0
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            count += 1
        else:
            count += len(value) if isinstance(value, list) else 1
    return count


@given(st.lists(_records, max_size=8))
@settings(max_examples=150)
def test_every_record_is_kept_or_counted(records: list[Any]) -> None:
    records = [*records, query("last"), click("last")]
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    with TemporaryDirectory() as folder:
        events = read(Path(folder), *lines)
    kinds = found(events)
    left_out = sum(kinds.get(kind, 0) for kind in LEFT_OUT)
    kept = len(events.queries) + kinds.get("repeated query", 0) + len(events)
    assert kept + left_out == _count_records(lines)
    assert all(problem.treatment for problem in events.problems)


@given(st.lists(_records, min_size=1, max_size=12), st.integers(1, 3))
@settings(max_examples=15)
def test_a_log_in_parts_on_disk_is_the_log_in_memory(records: list[Any], parts: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        expected = read(folder, *records, query("last"), click("last"))
        problems = normalise_log([folder / "log.ndjson"], folder / "out", parts=parts)
        for table, frame in (("queries", expected.queries), ("events", expected.frame)):
            written = pl.read_parquet(folder / "out" / table / "part-*.parquet")
            columns = [column for column in frame.columns if column != "hit_teams"]
            key = ["line", *(c for c in columns if c == "at")]
            assert written.sort(key)[columns].equals(frame.sort(key)[columns])
    assert {p.kind: p.count for p in problems} == found(expected)
