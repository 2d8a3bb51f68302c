"""The benchmark of estimates from two kinds of labels runs, and it detects intervals that do not cover."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from assay.stats import Estimate
from assay.stats.prediction_powered import PoweredEstimate

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "estimate.py"


def test_all_sections_run(shared: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--sims", "4", "--sizes", "20", "--queries", "150"]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    for section in ("Pairs of rag25", "nDCG@10 of two", "No help", "Single pairs", "Next labels"):
        assert f"## {section}" in process.stdout
    assert process.stdout.endswith("All targets are met.\n")


def test_intervals_that_do_not_cover_and_wide_ones_are_reported(benchmark: Any) -> None:
    tally = benchmark.Tally()
    wide, narrow = Estimate(0.5, 0.2, 0.8, 0.95, 30), Estimate(0.5, 0.4, 0.6, 0.95, 30)
    for _ in range(20):
        tally.add(PoweredEstimate(wide, narrow, narrow, 0.5, 20.0, None), 0.9)
    text, problems = benchmark.make_section("Test", "labels", {("grade", 30): tally}, True, 1.02)
    assert "| grade | 30 | 0.000 | 0.000 | 0.000 | ±0.3000 | 3.000 | 0.67 |" in text
    assert problems == ["Test: grade, 30: 0.000 cover", "Test: grade, 30: width 3.000"]
