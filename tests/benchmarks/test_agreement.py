"""The benchmark of agreement runs, and detects intervals that cover too rarely."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.stats import Estimate

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "agreement.py"


def test_all_sections_run_and_agree_with_other_libraries() -> None:
    sizes = ["--items", "500", "--repetitions", "1", "--sims", "2", "--sizes", "30", "--truth", "1000"]
    process = subprocess.run([sys.executable, str(SCRIPT), *sizes], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "## Speed: 500 items × 5 raters, 5% of the labels missing" in process.stdout
    assert "| κ of 10 pairs × 3 weights | scikit-learn |" in process.stdout
    assert "## Coverage of 95% intervals, 2 tables of each kind" in process.stdout
    assert process.stdout.endswith("All targets are met.\n")


def test_intervals_that_cover_too_rarely_are_reported(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_sure(grades: Any) -> dict[str, Estimate]:
        mean = float(grades.mean())
        return {"mean": Estimate(mean, mean - 0.001, mean + 0.001, 0.95, len(grades))}

    monkeypatch.setattr(benchmark, "estimate_all", too_sure)
    monkeypatch.setattr(benchmark, "SHAPES", {"even": benchmark.Shape(2, (0.5, 0.5), 0.5)})
    _, problems = benchmark.coverage_section([30], 100, 0, 10_000)
    assert problems[0].startswith("even, 30 items: mean covers 0.")
