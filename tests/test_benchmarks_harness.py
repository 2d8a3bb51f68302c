"""The benchmark of the harness runs, and says what does not hold."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "harness.py"


def test_it_runs_and_tells_every_case() -> None:
    for library in ("faiss", "hnswlib"):
        pytest.importorskip(library)
    command = [sys.executable, str(SCRIPT), "--rows", "1000", "--queries", "50", "--starts", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("|")][2:]
    cases = [
        (e, m, ef, "2") for e in ("faiss.hnsw", "hnswlib") for ef in ("16", "64") for m in ("single", "batch")
    ]
    assert [tuple(row[:4]) for row in rows] == cases, done.stderr
    assert all(float(cell.split()[0].replace(",", "")) > 0 for row in rows for cell in row[4:])
    verdict = done.stdout.splitlines()[-1]
    assert verdict == "All of it holds." or verdict.startswith("Does not hold: ")
    assert done.returncode == (verdict != "All of it holds."), done.stderr


@pytest.mark.parametrize(
    ("inside", "beside", "said"),
    [
        ([0.99, 1.0, 1.01], [0.98, 0.99, 1.0], ""),
        ([0.99, 1.0, 1.01], [0.94, 0.95, 0.96], "slower than 0.97 of a bare loop"),
        ([0.94, 0.95, 0.96], [0.98, 0.99, 1.0], "slower than 0.97 of a bare loop"),
        ([0.99, 1.0, 1.01], [0.9, 1.0, 1.1], "not decided in 12 starts"),
        ([0.99, 1.0, 1.01], [0.96, 0.97, 0.98], "not decided in 12 starts"),
    ],
)
def test_it_holds_only_where_intervals_lie_above_what_is_allowed(
    inside: list[float], beside: list[float], said: str, benchmark: Any
) -> None:
    taken = [benchmark.Start(1.0, 1.0, b, i) for i, b in zip(inside * 4, beside * 4, strict=True)]
    assert benchmark.problem(taken) == said


def test_processes_are_started_until_it_is_decided(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Named:
        key = "faiss.hnsw"

    def taken(spread: float) -> int:
        def started(index: Any, queries: Any, ef: int, number: int) -> dict[str, Any]:
            ratio = 0.99 + (spread if number % 2 else -spread)
            return {mode: benchmark.Start(1.0, 1.0, ratio, 1.0) for mode in benchmark.MODES}

        monkeypatch.setattr(benchmark, "started", started)
        numbers = {len(found) for found in benchmark.starts(Named, None, 16, 40).values()}
        return numbers.pop()

    assert taken(0.001) == benchmark.FEWEST < taken(0.03) < taken(0.1) == 40
