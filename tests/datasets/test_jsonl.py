"""JSONL."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import input_files, read, write
from tests.datasets.strategies import (
    any_ids,
    check_kept_or_refused,
    documents,
    is_infinite,
    qrels,
    queries,
    quick,
    runs,
    write_and_read,
)


def write_file(tmp_path: Path, text: str | bytes, name: str = "a.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@quick
@given(run=runs(any_ids), judgments=qrels(any_ids))
def test_pairs_with_any_ids_written_and_read_are_the_same(
    run: Run, judgments: Qrels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("jsonl")
    assert write_and_read(run, folder / "run.jsonl.zst", None, "jsonl") == run
    assert write_and_read(judgments, folder / "judged.jsonl", None, "jsonl") == judgments


@quick
@given(query_table=queries(), document_table=documents())
def test_any_table_is_kept_or_refused(
    query_table: Queries, document_table: Documents, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    for table, kind in ((query_table, "queries"), (document_table, "documents")):
        infinite = any(is_infinite(value) for v in table.columns.values() for value in v)
        assert check_kept_or_refused(table, path, kind, "jsonl") is not infinite  # type: ignore[arg-type]


def test_lists_and_objects_are_kept(tmp_path: Path) -> None:
    query_table = Queries({"query_id": ["a", "b"], "tags": [["x", 1], None], "more": [{"k": 1.5}, True]})
    assert write_and_read(query_table, tmp_path / "q.jsonl", None, "jsonl") == query_table


@pytest.mark.parametrize("value", [float("nan"), (1, 2), {1: 2}, b"x", object()])
def test_a_value_that_json_cannot_hold_is_not_written(value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="JSON cannot hold"):
        write(Queries({"query_id": ["q"], "x": [value]}), tmp_path / "q.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_rows_need_not_have_the_same_keys(tmp_path: Path) -> None:
    path = write_file(tmp_path, '{"qid": 1, "text": "a"}\n\n{"n": 2, "text": "b", "qid": "x"}\n')
    assert read(path) == Queries({"query_id": ["1", "x"], "text": ["a", "b"], "n": [None, 2]})


def test_numbers_may_be_ids_and_text_may_be_numbers(tmp_path: Path) -> None:
    path = write_file(
        tmp_path, '{"qid": 1, "docno": 2, "score": "0.5"}\n{"qid": 1, "docno": 3, "score": 1e3}'
    )
    assert read(path) == Run({"1": {"2": 0.5, "3": 1000.0}})


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        (
            '{"query_id": "q", "doc_id": "a", "grade": 1}\n{"query_id": "q",\n',
            "qrels",
            r":2: is not valid JSON at column",
        ),
        (
            '{"query_id": "q", "doc_id": "a", "grade": 1}\n[1]\n',
            "qrels",
            ":2: expected a JSON object, found list",
        ),
        ('{"query_id": "q", "doc_id": "a"}\n', "qrels", ":1: expected columns .* no grade"),
        (
            '{"query_id": "q", "doc_id": "a", "grade": 1}\n{"query_id": "q", "doc_id": "b"}\n',
            "qrels",
            ":2: .*None",
        ),
        ('{"query_id": "q", "doc_id": "a", "grade": 1.5}\n', "qrels", ":1: expected a whole number"),
        ('{"query_id": "q", "doc_id": "a", "grade": true}\n', "qrels", ":1: expected a number"),
        ('{"query_id": 1.5, "doc_id": "a", "grade": 1}\n', "qrels", ":1: expected text or a whole number"),
        ('{"query_id": null, "doc_id": "a", "grade": 1}\n', "qrels", ":1: expected text or a whole number"),
        ('{"query_id": "q", "doc_id": "a", "score": NaN}\n', "run", ":1: the score is NaN"),
        ('{"query_id": "q", "doc_id": "\\u0000", "score": 1}\n', "run", ":1: expected text as doc_id"),
        ('{"query_id": "q", "text": "\\udc00"}\n', "queries", ":1: holds half of a surrogate pair"),
        (b'{"query_id": "q", "text": "\xff"}\n', "queries", ":1: expected UTF-8"),
        ('{"query_id": "q", "text": ["a"]}\n', "queries", ":1: expected text as text"),
        ('{"index": 1}\n', None, "cannot tell from the columns index"),
        ('{"query_id": "q"', None, ":1: is not valid JSON"),
        ("[" * 100_000, "queries", "cannot be read as JSON"),
    ],
)
def test_a_wrong_line_is_refused(text: str | bytes, kind: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem):
        read(write_file(tmp_path, text), kind, format="jsonl")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id": "q", "doc_id": "a", "score": 2}', ":2: document 'a' appears twice in query 'q'"),
        ('{"query_id": "q", "doc_id": "b"}', ":2: expected a number as the score, found None"),
        ('{"query_id": "q", "doc_id": "b", "score": 1', ":2: is not valid JSON"),
    ],
)
def test_a_large_file_that_is_wrong_is_refused_with_its_line(
    line: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "LARGE_FILE_BYTES", 0)
    path = write_file(tmp_path, f'{{"query_id": "q", "doc_id": "a", "score": 1}}\n{line}\n')
    with pytest.raises(FormatError, match=problem):
        read(path)


def test_an_infinite_score_is_kept(tmp_path: Path) -> None:
    run = Run({"q": {"a": float("inf"), "b": -float("inf")}})
    assert write_and_read(run, tmp_path / "a.jsonl", None, "jsonl") == run
