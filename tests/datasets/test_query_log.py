"""Query tables and raw logs."""

import json
from pathlib import Path

import polars as pl
import pytest

from assay import datasets
from assay.core.errors import FormatError
from assay.datasets.query_list import query_id
from assay.datasets.query_log import QueryLog, read_query_log


def read_text(folder: Path, name: str, content: str, **columns: str) -> QueryLog:
    path = folder / name
    path.write_text(content)
    return read_query_log(str(path), columns)


def test_a_query_table_keeps_its_ids_columns_and_frequencies(tmp_path: Path) -> None:
    log = read_text(tmp_path, "a.csv", "query_id,text,frequency,kind\nq1,vpn,3,net\nq2,dns,1,net\n")
    assert (log.queries.ids, log.frequencies.tolist(), log.is_log) == (["q1", "q2"], [3, 1], False)
    assert log.queries.columns["kind"] == ["net", "net"]
    plain = read_text(tmp_path, "b.jsonl", '{"_id": "1", "text": "vpn"}\n')
    assert (plain.frequencies.tolist(), plain.has_frequencies) == ([1], False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.txt", "vpn\nreset  pw\n\nvpn\n"),
        ("log.csv", "user_query,timestamp\nvpn,2026-02-01\nreset pw,2026-01-01\nvpn,2026-01-05\n"),
        ("log.tsv", "query\tat\nvpn\t2026-02-01\nreset pw\t2026-01-01\nvpn\t2026-01-05\n"),
        ("log.jsonl", '{"query_id": "1", "query": "vpn"}\n{"query": "reset pw"}\n{"query": "vpn"}\n'),
        ("log.csv", "query_id,query\n1,vpn\n1,reset pw\n2,vpn\n"),
    ],
)
def test_a_log_is_counted_by_text(tmp_path: Path, name: str, text: str) -> None:
    log = read_text(tmp_path, name, text)
    assert (log.is_log, log.rows, log.has_frequencies) == (True, 3, True)
    assert log.queries.columns["text"] == ["vpn", "reset pw"]
    assert log.queries.columns["frequency"] == [2, 1]
    assert log.queries.ids[0] == query_id("vpn")
    assert log.queries.columns.get("at", ["2026-01-05"])[0] == "2026-01-05"


def test_counts_of_a_log_are_added_and_results_counted(tmp_path: Path) -> None:
    log = read_text(tmp_path, "log.csv", "term,count,hits\nvpn,3,0\nvpn,4,2\ndns,1,0\n", text="term")
    assert log.frequencies.tolist() == [7, 1]
    assert log.queries.columns["results"] == [2, 0]
    lists = read_text(tmp_path, "l.jsonl", '{"user_query": "vpn", "query_response_hit_ids": ["a", "b"]}\n')
    assert lists.queries.columns["results"] == [2]


def test_a_parquet_log_is_read(tmp_path: Path) -> None:
    pl.DataFrame({"search_term": ["vpn", "vpn"]}).write_parquet(tmp_path / "log.parquet")
    assert read_query_log(str(tmp_path / "log.parquet")).frequencies.tolist() == [2]


def test_the_queries_of_a_folder_are_read() -> None:
    log = read_query_log(str(Path(datasets.__file__).parent / "helpcentre"))
    assert (len(log.queries), log.has_frequencies, log.is_log) == (280, True, False)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.jsonl", '{"query": "vpn"}\n{"query": 5}\n', "expected a text in row 2, found 5"),
        ("a.csv", "query,count\nvpn,-1\n", "frequency of at least 0 in row 1"),
        ("a.csv", "query_id,kind\nq1,a\n", "column with the texts"),
        ("a.txt", "\n", "expected rows of queries"),
    ],
)
def test_wrong_files_say_what_is_expected(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        read_text(tmp_path, name, text)


def test_a_ubi_log_is_recognised(tmp_path: Path) -> None:
    query = {"client_id": "c", "timestamp": "2026-01-01T00:00:00Z", "query_response_id": "r"}
    rows = [
        {**query, "query_id": str(i), "user_query": "vpn", "query_response_hit_ids": []} for i in range(3)
    ]
    log = read_text(tmp_path, "ubi.ndjson", "\n".join(map(json.dumps, rows)))
    assert (log.queries.columns["text"], log.frequencies.tolist()) == (["vpn"], [3])
    assert log.queries.columns["results"] == [0]


def test_a_published_ubi_log_is_counted_by_query(shared: Path) -> None:
    log = read_query_log(str(shared / "ubi" / "ubi_queries_events.ndjson"))
    assert log.is_log
    assert log.frequencies.sum() == log.rows
    assert len(log.queries) < log.rows
