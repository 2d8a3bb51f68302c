"""The benchmark of the store runs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "store.py"


def test_it_runs_and_prints_both_sections() -> None:
    process = subprocess.run([sys.executable, str(SCRIPT), "--tiny"], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "| ms (found) | 5 experiments | 10 experiments |" in process.stdout
    assert "## Scores of 50 queries × 50 measures × 3 experiments" in process.stdout
    assert "| Assay |" in process.stdout
    assert "| plain Parquet, read file by file |" in process.stdout
    assert "MLflow" in process.stdout
