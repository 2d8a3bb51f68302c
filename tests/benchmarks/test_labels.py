"""The benchmark of the model of Dawid and Skene prints errors and times."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "labels.py"


def test_errors_and_times_are_printed_without_crowd_kit(shared: Path) -> None:
    process = subprocess.run([sys.executable, str(SCRIPT), "--items", "2000"], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "| majority, mean over all draws of the ties | 0.2693 |" in process.stdout
    assert "| dawid-skene, smoothing 0.1 | 0.1708 |" in process.stdout
    assert "| not installed |" in process.stdout
