"""Latencies: a column of a file, or one number on each line."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core.errors import FormatError
from assay.datasets.latencies import read_latencies


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ms.csv", "latency_ms\n12.5\n80\n"),
        ("ms.csv", "query_id,latency_ms\nq1,12.5\nq2,80\n"),
        ("ms.tsv", "latency_ms\tquery_id\n12.5\tq1\n80\tq2\n"),
        ("ms.txt", "12.5\n80\n"),
        ("ms.json", "[12.5, 80]"),
        ("ms.json", '[{"latency_ms": 12.5}, {"latency_ms": 80}]'),
        ("ms.jsonl", '{"latency_ms": 12.5}\n{"latency_ms": 80}\n'),
    ],
)
def test_latencies_are_a_column_or_one_number_on_each_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_latencies(str(tmp_path / name)).tolist() == [12.5, 80.0]


def test_latencies_are_read_from_columnar_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": ["a", "b"], "latency_ms": [12.5, 80.0]})
    frame.write_parquet(tmp_path / "ms.parquet")
    frame.write_ipc(tmp_path / "ms.arrow")
    for name in ("ms.parquet", "ms.arrow"):
        assert np.array_equal(read_latencies(str(tmp_path / name)), [12.5, 80.0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "expected a column latency_ms, found a, b"),
        ("latency_s\n0.5\n", "expected a column latency_ms, found latency_s"),
        ("latency_ms\n12\nfast\n", "found 'fast' in row 2"),
        ("latency_ms\n-3\n", "found '-3' in row 1"),
        ("latency_ms\ninf\n", "found 'inf' in row 1"),
        ("latency_ms\n", "found none"),
        ("", "expected latencies"),
    ],
)
def test_latencies_that_cannot_be_are_refused_with_their_row(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "ms.csv").write_text(text)
    with pytest.raises(FormatError, match=words):
        read_latencies(str(tmp_path / "ms.csv"))
