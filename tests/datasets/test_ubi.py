import gzip
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError
from assay.datasets.ubi import read_events

QUERY = {"query_id": "q", "client_id": "c", "user_query": "red shoes", "timestamp": "2026-01-31T12:00:00Z"}
HITS = {**QUERY, "query_response_hit_ids": ["a", "b"]}


def event(
    action: str = "click", doc: str | None = "b", ordinal: int | None = 2, **more: object
) -> dict[str, object]:
    attributes = {"object": {"object_id": doc}, "position": {"ordinal": ordinal}}
    shared = {"query_id": "q", "client_id": "c", "timestamp": "2026-01-31T12:00:05Z"}
    return {"action_name": action, **shared, "event_attributes": attributes, **more}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def test_chorus_has_the_counts_of_its_publisher(shared: Path) -> None:
    events = read_events(shared / "chorus_ubi/log_events.zip")
    counts = events.counts
    assert (counts["queries"], counts["events"], counts["clients"]) == (4130, 26828, 280)
    assert events.problem_count("query without results") == 3271
    assert events.problem_count("session in the attributes") == 26828
    assert events.frame.filter(pl.col("action") == "click").height == 832
    assert events.frame["at"].null_count() == 0
    assert events.queries["session_id"].null_count() == 0  # that of its events


def test_the_dirty_ubi_file_is_normalised_and_every_oddity_counted(shared: Path) -> None:
    events = read_events(shared / "ubi/ubi_queries_events.ndjson")
    assert len(events) == 3448
    assert events.problem_count("repeated query") == 473 - 284
    assert events.problem_count("time as a number") == 429
    impressions = events.frame.filter(
        (pl.col("action") == "impression") & (pl.col("application") == "esci_ubi_sample")
    )
    assert sorted(impressions["rank"].unique()) == [1, 2, 3, 4, 5]  # the log has 0 … 4


@pytest.mark.parametrize("name", ["event-opensearch.json", "query-opensearch.json", "query-solr.json"])
def test_published_samples_are_read(shared: Path, name: str) -> None:
    counts = read_events(shared / "ubi" / name).counts
    assert counts["queries"] + counts["events"] == 1


def test_each_format_has_the_same_events(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.ndjson", HITS, event())
    (tmp_path / "a.json").write_text(json.dumps([HITS, event()], indent=1))
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(lines.read_bytes()))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(lines, "log.ndjson")
    pl.DataFrame([HITS, event()], infer_schema_length=None).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(
        "query_id,client_id,user_query,timestamp,query_response_hit_ids,action_name,"
        "event_attributes.object.object_id,event_attributes.position.ordinal\n"
        'q,c,red shoes,2026-01-31T12:00:00Z,"[""a"",""b""]",,,\n'
        "q,c,,2026-01-31T12:00:05Z,,click,b,2\n"
    )
    expected = read_events(lines).frame.drop("source", "line")
    for name in ("a.json", "a.ndjson.gz", "a.zip", "a.parquet", "a.csv"):
        assert read_events(tmp_path / name).frame.drop("source", "line").equals(expected), name


def test_a_line_that_is_not_json_is_counted_with_its_place(tmp_path: Path) -> None:
    events = read_events(write(tmp_path / "log", HITS, '{"action_name": "cli', event(), [1], {"a": 1}))
    kinds = {problem.kind: problem for problem in events.problems}
    assert kinds["not JSON"].example == f'{tmp_path / "log"}:2: {{"action_name": "cli'
    assert kinds["not a record"].places[0].line == 4
    assert kinds["neither a query nor an event"].places[0].line == 5
    assert len(events) == 1


def test_times_are_read_in_all_their_forms(tmp_path: Path) -> None:
    times = ["2026-01-31T12:00:05", 1769860805000, 1769860805, "2026-01-31T13:00:05+01:00", "yesterday", None]
    events = read_events(write(tmp_path / "log", HITS, *(event(timestamp=time) for time in times)))
    assert [str(time)[:19] for time in events.frame["at"]] == ["2026-01-31 12:00:05"] * 4 + ["None"] * 2
    assert events.problem_count("time without a zone") == 1
    assert events.problem_count("time that cannot be read") == 1
    assert events.problem_count("event without a time") == 2


def test_ranks_count_from_1_whatever_the_ordinals_do(tmp_path: Path) -> None:
    other = {"query_id": "r"}
    records = [HITS, event(ordinal=1), event(doc="a", ordinal=5), event(doc=None, ordinal=3)]
    records += [event("impression", doc, ordinal, **other) for ordinal, doc in enumerate("xyz")]
    events = read_events(write(tmp_path / "log", *records))
    assert events.frame["rank"].to_list() == [2, 1, None, 1, 2, 3]
    assert events.problem_count("ordinal from 0") == 4
    assert events.problem_count("ordinal that contradicts the results") == 1
    assert events.problem_count("ordinal without an object") == 1
    assert events.problem_count("event of an unknown query") == 3


def test_result_ids_have_three_names_and_hits_may_have_teams(tmp_path: Path) -> None:
    hits = [{"object_id": "a", "search_config": "A"}, {"object_id": "b", "search_config": "B"}]
    records = [
        {**QUERY, "query_id": "1", "query_response_object_ids": ["a"]},
        {**QUERY, "query_id": "2", "query_response_objects_ids": ["a"]},
        {**QUERY, "query_id": "3", "query_response_hit_ids": hits},
        {**HITS, "query_id": "4", "query_attributes": {"team_by_doc": {"b": "T"}, "latency_ms": 12.5}},
    ]
    queries = read_events(write(tmp_path / "log", *records)).queries
    assert queries["hit_ids"].to_list() == [["a"], ["a"], ["a", "b"], ["a", "b"]]
    assert queries["hit_teams"].to_list() == [None, None, ["A", "B"], ["", "T"]]
    assert queries["latency_ms"].to_list() == [None, None, None, 12.5]


def test_repeated_records_are_counted(tmp_path: Path) -> None:
    events = read_events(write(tmp_path / "log", QUERY, HITS, event(), event()))
    assert events.queries["hit_ids"].to_list() == [["a", "b"]]
    assert events.frame["is_repeated"].to_list() == [False, True]


def test_a_file_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="expected UBI queries"):
        read_events(write(tmp_path / "log", {"a": 1}))
    with pytest.raises(FormatError, match="empty"):
        read_events(write(tmp_path / "empty"))
