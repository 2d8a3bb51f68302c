"""The benchmark of the harness runs, and reports missed targets."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "harness.py"


def test_it_runs_and_prints_every_case() -> None:
    for library in ("faiss", "hnswlib"):
        pytest.importorskip(library)
    command = [sys.executable, str(SCRIPT), "--rows", "1000", "--queries", "50", "--starts", "2"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    rows = [line.strip("| ").split(" | ") for line in process.stdout.splitlines() if line.startswith("|")][2:]
    cases = [
        (e, m, ef, "2") for e in ("faiss.hnsw", "hnswlib") for ef in ("16", "64") for m in ("single", "batch")
    ]
    assert [tuple(row[:4]) for row in rows] == cases, process.stderr
    assert all(float(cell.split()[0].replace(",", "")) > 0 for row in rows for cell in row[4:])
    verdict = process.stdout.splitlines()[-1]
    assert verdict == "All targets are met." or verdict.startswith("Targets missed: ")
    assert process.returncode == (verdict != "All targets are met."), process.stderr


@pytest.mark.parametrize(
    ("loop_ratios", "process_ratios", "message"),
    [
        ([0.99, 1.0, 1.01], [0.98, 0.99, 1.0], ""),
        ([0.99, 1.0, 1.01], [0.94, 0.95, 0.96], "below 0.97 of the speed of a bare loop"),
        ([0.94, 0.95, 0.96], [0.98, 0.99, 1.0], "below 0.97 of the speed of a bare loop"),
        ([0.99, 1.0, 1.01], [0.9, 1.0, 1.1], "undecided after 12 starts"),
        ([0.99, 1.0, 1.01], [0.96, 0.97, 0.98], "undecided after 12 starts"),
    ],
)
def test_the_target_is_met_only_if_both_intervals_are_above_it(
    loop_ratios: list[float], process_ratios: list[float], message: str, benchmark: Any
) -> None:
    starts = [
        benchmark.Start(1.0, 1.0, b, i) for i, b in zip(loop_ratios * 4, process_ratios * 4, strict=True)
    ]
    assert benchmark.find_problem(starts) == message


def test_processes_are_started_until_the_ratios_are_decided(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NamedIndex:
        key = "faiss.hnsw"

    def count_starts(spread: float) -> int:
        def run_start(index: Any, queries: Any, ef: int, number: int) -> dict[str, Any]:
            ratio = 0.99 + (spread if number % 2 else -spread)
            other = 1.001 if number % 2 else 0.999
            return {mode: benchmark.Start(1.0, 1.0, ratio, other) for mode in benchmark.MODES}

        monkeypatch.setattr(benchmark, "run_start", run_start)
        numbers = {len(starts) for starts in benchmark.run_starts(NamedIndex, None, 16, 40).values()}
        return numbers.pop()

    assert count_starts(0.001) == benchmark.MIN_STARTS < count_starts(0.03) < count_starts(0.1) == 40
