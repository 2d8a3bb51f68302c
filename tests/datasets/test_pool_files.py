"""Pools in files."""

from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError
from assay.datasets.pool_files import read_pool


def test_a_pool_is_read_from_rows_of_any_format(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(
        '{"query_id": "q", "doc_id": "a", "inclusion_probability": 0.5, "stratum": "1"}\n'
        '{"query_id": "q", "doc_id": "b", "inclusion_probability": 0.5, "stratum": "1"}\n'
    )
    (tmp_path / "p.csv").write_text(
        "query_id,doc_id,grade,inclusion_probability,stratum\nq,a,1,0.5,1\nq,b,0,0.5,1\n"
    )
    frame = pl.DataFrame(
        {"qid": ["q", "q"], "docno": ["a", "b"], "inclusion_probability": [0.5, 0.5], "stratum": ["1", "1"]}
    )
    frame.write_parquet(tmp_path / "p.parquet")
    for name in ("p.jsonl", "p.csv", "p.parquet"):
        pool = read_pool(str(tmp_path / name))
        assert list(zip(pool.query_ids, pool.doc_ids, strict=True)) == [("q", "a"), ("q", "b")]
        assert (pool.probabilities.tolist(), list(pool.strata or ())) == ([0.5, 0.5], ["1", "1"])


def test_without_strata_pairs_are_independent(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("query_id,doc_id,inclusion_probability\nq,a,1\n")
    assert read_pool(str(tmp_path / "p.csv")).strata is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"query_id": "q", "doc_id": "a"}', "p.jsonl:1: expected a column inclusion_probability"),
        ('{"query_id": "q", "doc_id": "a", "inclusion_probability": null}', "chosen by its labels"),
        ('{"query_id": "q", "doc_id": "a", "inclusion_probability": 2}', "above 0, at most 1; found 2"),
        ('{"query_id": "q", "doc_id": "a", "inclusion_probability": 1}\n' * 2, "p.jsonl:2: .*appears twice"),
        ("q 0 a 1\n", "expected a pool as JSONL"),
    ],
)
def test_wrong_pools_are_refused_with_file_and_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "p.jsonl").write_text(text)
    with pytest.raises(FormatError, match=problem):
        read_pool(str(tmp_path / "p.jsonl"))
