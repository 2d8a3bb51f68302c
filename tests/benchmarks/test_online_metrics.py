"""The benchmark of online metrics runs, and prints a row for each log and set of metrics."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "online_metrics.py"


def test_it_runs_and_prints_ratios(tmp_path: Path) -> None:
    options = ["--events", "1000", "--rounds", "1", "--metrics", "of queries and clicks"]
    command = [sys.executable, str(SCRIPT), *options, "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    row = done.stdout.splitlines()[-1].strip("| ").split(" | ")
    assert row[:2] == ["1,000", "of queries and clicks"]
    assert all(float(cell.split("×")[0]) > 0 for cell in (row[4], row[7], row[8]))


def test_the_sql_by_hand_has_the_sums_of_the_metrics(benchmark: Any, tmp_path: Path) -> None:
    benchmark.write_log(tmp_path, 5_000)
    files = [str(tmp_path / "queries.parquet"), str(tmp_path / "events.parquet")]
    names = ("ctr", "ctr@1", "clicks@3", "mrr", "zero_result", "slo", "cost")
    with benchmark.open_event_tables(benchmark.EventSource(paths=files, bots=None)) as tables:
        found = benchmark.measure_metrics(tables, [benchmark.parse_metric(name) for name in names])
    users, *sums = benchmark.sum_by_hand(tmp_path, "")
    assert users == found.counts["units"]
    for number, name in enumerate(names):
        moments = found.moments[name]
        expected = [moments.sum, moments.denominator_sum, moments.sum_squares]
        expected += [moments.denominator_sum_squares, moments.cross]
        assert sums[5 * number : 5 * number + 5] == pytest.approx(expected)


def test_the_log_has_the_stated_shape(benchmark: Any, tmp_path: Path) -> None:
    benchmark.write_log(tmp_path, 5_000)
    counts = "count(*), count(DISTINCT client_id), count(DISTINCT session_id), count(DISTINCT query_id)"
    with benchmark.duckdb.connect() as connection:
        queries, users, sessions, ids = connection.execute(
            f"SELECT {counts} FROM '{tmp_path}/queries.parquet'"
        ).fetchone()
        joined = (
            f"'{tmp_path}/events.parquet' SEMI JOIN '{tmp_path}/queries.parquet' USING (query_id, session_id)"
        )
        (events,) = connection.execute(f"SELECT count(*) FROM {joined}").fetchone()
    assert (queries, sessions, ids, events) == (1_000, 334, 1_000, 5_000)
    assert 90 <= users <= 100
