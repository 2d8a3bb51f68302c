"""The pairs of a pool or of judgments, whatever the file."""

from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError
from assay.datasets.pairs import read_pairs

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q2", "d1")]


def write_file(folder: Path, extension: str) -> str:
    path = folder / f"pool.{extension}"
    frame = pl.DataFrame({"qid": [q for q, _ in PAIRS], "doc_id": [d for _, d in PAIRS], "p": [0.5] * 3})
    if extension == "jsonl":
        frame.write_ndjson(path)
    elif extension == "parquet":
        frame.write_parquet(path)
    elif extension == "qrels":
        path.write_text("".join(f"{q} 0 {d} 1\n" for q, d in PAIRS))
    else:
        frame.write_csv(path, separator="\t" if extension == "tsv" else ",")
    return str(path)


@pytest.mark.parametrize("extension", ["jsonl", "csv", "tsv", "parquet", "qrels"])
def test_pairs_are_read_in_order(extension: str, tmp_path: Path) -> None:
    assert read_pairs(write_file(tmp_path, extension)) == PAIRS


def test_a_pair_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("query_id,doc_id\nq1,d1\nq1,d1\n")
    assert read_pairs(str(path)) == [("q1", "d1")]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("query_id,title\nq1,x\n", "expected the columns query_id and doc_id, found query_id, title"),
        ("query_id,doc_id\nq1,\n", "row 1: expected a query_id and a doc_id"),
    ],
)
def test_a_file_without_pairs_is_refused(content: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(content)
    with pytest.raises(FormatError, match=problem):
        read_pairs(str(path))
