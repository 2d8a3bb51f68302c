"""The benchmark of exact neighbours runs, and reports missed targets."""

import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "truth.py"


def test_bytes_are_compared_with_integers() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--only", "exact"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "| 2,000 × 128 | 100 of 100 |" in process.stdout
    assert process.stdout.endswith("All targets are met.\n")


def test_missed_targets_are_reported(benchmark: Any) -> None:
    case = benchmark.FULL[0]
    assert benchmark.missed_targets(case, 4.1, 0.61, 0.99996) == []
    assert benchmark.missed_targets(case, 3.9, 0.5, 0.9) == [
        "1,000,000 × 96, 1,000 queries: 3.900 times as fast as faiss's search, expected 4.0",
        "1,000,000 × 96, 1,000 queries: 0.500 of the limit, expected 0.6",
        "1,000,000 × 96, 1,000 queries: only 0.90000 of the neighbours are those of faiss",
    ]
