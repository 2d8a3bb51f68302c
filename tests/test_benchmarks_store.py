"""The benchmark of the store runs."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "store.py"


def test_it_runs_and_shows_both_parts() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--tiny"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| ms (found) | 5 experiments | 10 experiments |" in done.stdout
    assert "## Scores of 50 queries × 50 measures × 3 experiments" in done.stdout
    assert "| Assay |" in done.stdout
    assert "| plain Parquet, read file by file |" in done.stdout
    assert "MLflow" in done.stdout
