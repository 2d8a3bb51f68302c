"""Parquet and Arrow files."""

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import read, write
from tests.datasets.strategies import (
    any_ids,
    check_kept_or_refused,
    documents,
    qrels,
    queries,
    quick,
    runs,
    write_and_read,
)

NAMES = ["parquet", "arrow"]


@pytest.mark.parametrize("name", NAMES)
@quick
@given(run=runs(any_ids), judgments=qrels(any_ids))
def test_pairs_with_any_ids_written_and_read_are_the_same(
    name: str, run: Run, judgments: Qrels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("columnar")
    assert write_and_read(run, folder / f"run.{name}", None, name) == run
    assert write_and_read(judgments, folder / f"judged.{name}", None, name) == judgments


@pytest.mark.parametrize("name", NAMES)
@quick
@given(query_table=queries(), document_table=documents())
def test_any_table_is_kept_or_refused(
    name: str, query_table: Queries, document_table: Documents, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("columnar") / f"a.{name}"
    check_kept_or_refused(query_table, path, "queries", name)
    check_kept_or_refused(document_table, path, "documents", name)


@pytest.mark.parametrize("name", NAMES)
def test_dates_lists_and_missing_values_are_kept(name: str, tmp_path: Path) -> None:
    query_table = Queries(
        {
            "query_id": ["a", "b"],
            "text": ["x", None],
            "at": [datetime.datetime(2026, 1, 1, 12), None],
            "tags": [["x"], []],
            "none": [None, None],
            "share": [1, 0.5],
        }
    )
    assert write_and_read(query_table, tmp_path / f"q.{name}", None, name) == query_table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", [[1, "x"], [{"a": 1}, {"b": 2}], [object(), None]])
def test_a_column_of_several_types_is_not_written(name: str, column: list[Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write jsonl instead"):
        write(Queries({"query_id": ["a", "b"], "x": column}), tmp_path / f"q.{name}")
    assert list(tmp_path.iterdir()) == []


def foreign(path: Path) -> None:
    """Write a file as another program does."""
    table = pa.table(
        {
            "QID": pa.array([7, 7], pa.int32()),
            "docno": pa.array(["a", "b"]).dictionary_encode(),
            "relevance": pa.array([1, 0], pa.int8()),
        }
    )
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=1)
        return
    make = pa.ipc.new_stream if path.suffix == ".stream" else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.stream"])
def test_files_of_other_programs_are_detected_by_content(name: str, tmp_path: Path) -> None:
    foreign(tmp_path / name)
    judgments = read(tmp_path / name)
    assert isinstance(judgments, Qrels)
    assert judgments == Qrels({"7": {"a": 1, "b": 0}})
    (tmp_path / "odd").write_bytes((tmp_path / name).read_bytes())
    assert read(tmp_path / "odd") == judgments
    assert write_and_read(judgments, tmp_path / "again.parquet", None, "parquet") == judgments


def test_a_compressed_file_is_decompressed_first(tmp_path: Path) -> None:
    run = Run({"q": {"a": 1.5}})
    assert write_and_read(run, tmp_path / "run.parquet.gz", None, "parquet") == run


def test_columns_are_mapped(tmp_path: Path) -> None:
    pl.DataFrame({"who": ["q"], "what": ["a"], "n": [2]}).write_parquet(tmp_path / "a.parquet")
    columns = {"query_id": "who", "doc_id": "what", "grade": "n"}
    assert read(tmp_path / "a.parquet", columns=columns) == Qrels({"q": {"a": 2}})
    query_table = read(tmp_path / "a.parquet", "queries", columns={"query_id": "who", "text": "what"})
    assert query_table == Queries({"query_id": ["q"], "text": ["a"], "n": [2]})


@pytest.mark.parametrize(
    ("frame", "kind", "problem"),
    [
        ({"query_id": ["q"], "doc_id": ["a"]}, "qrels", "no grade among query_id, doc_id"),
        ({"query_id": ["q"], "doc_id": ["a"], "grade": [0.5]}, "qrels", "whole number"),
        ({"query_id": ["q"], "doc_id": ["a"], "score": [float("nan")]}, "run", "not a number"),
        ({"query_id": ["q"], "doc_id": [None], "score": [1.0]}, "run", "empty values, the first in row 1"),
        ({"query_id": [1.5], "doc_id": ["a"], "score": [1.0]}, "run", "fractions"),
        ({"query_id": ["q", "q"], "doc_id": ["a", "a"], "score": [1, 2]}, "run", "appears twice"),
        ({"query_id": ["q", "q"], "text": ["a", "a"]}, "queries", "appears twice"),
        ({"query_id": ["q", None], "text": ["a", "a"]}, "queries", "found None"),
        ({"text": ["a", "a"]}, "queries", "expected a column query_id"),
        ({"a": [1]}, None, "cannot tell from the columns"),
    ],
)
def test_a_wrong_table_is_refused_with_its_file(
    frame: dict[str, Any], kind: Any, problem: str, tmp_path: Path
) -> None:
    pl.DataFrame(frame).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=rf"a\.parquet: .*{problem}"):
        read(tmp_path / "a.parquet", kind)


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_file_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    write(Run({"q": {f"d{n}": float(n) for n in range(1000)}}), path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(FormatError, match=f"cannot be read as {name}"):
        read(path)


@pytest.mark.parametrize("name", NAMES)
def test_text_that_is_named_parquet_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello")
    with pytest.raises(FormatError, match=f"cannot be read as {name}"):
        read(tmp_path / "a", format=name)
    (tmp_path / "a").write_text("")
    with pytest.raises(FormatError, match="is empty"):
        read(tmp_path / "a", format=name)
