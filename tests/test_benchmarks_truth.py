"""The benchmark of exact neighbours runs, and says what does not hold."""

import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "truth.py"


def test_bytes_are_held_against_integers() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--only", "exact"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| 2,000 × 128 | 100 of 100 |" in done.stdout
    assert done.stdout.endswith("All of it holds.\n")


def test_what_was_promised_and_does_not_hold_is_said(benchmark: Any) -> None:
    case = benchmark.FULL[0]
    assert benchmark.missed(case, 4.1, 0.61, 0.99996) == []
    assert benchmark.missed(case, 3.9, 0.5, 0.9) == [
        "1,000,000 × 96, 1,000 queries: 3.900 times as fast as faiss's search, not 4.0",
        "1,000,000 × 96, 1,000 queries: 0.500 of the limit, where 0.6 is aimed at",
        "1,000,000 × 96, 1,000 queries: only 0.90000 of the neighbours are those of faiss",
    ]
