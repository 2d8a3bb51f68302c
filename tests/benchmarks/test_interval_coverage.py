"""The benchmark of coverage runs, and it detects intervals that cover too rarely."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from assay.core.arrays import Floats
from assay.stats import Estimate

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "interval_coverage.py"


def test_all_sections_run_and_meet_their_targets(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(SCRIPT),
        "--sims",
        "20",
        "--sizes",
        "2",
        "50",
        "--data",
        str(tmp_path / "no"),
    ]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    for section in ("means", "shares", "differences", "share differences"):
        assert f"## Coverage of 95% intervals: {section}, 20 samples" in process.stdout
    assert "scores of real runs are left out" in process.stdout
    assert process.stdout.endswith("All targets are met.\n")


def test_intervals_that_cover_too_rarely_are_reported(benchmark: Any) -> None:
    def too_sure(values: Floats) -> Estimate:
        mean = float(values.mean())
        return Estimate(mean, mean - 0.01, mean + 0.01, 0.95, len(values))

    shapes = {"uniform": benchmark.MEAN_SHAPES["uniform"]}
    table, problems = benchmark.coverage_section("means", shapes, too_sure, [10], 100, 0)
    assert table.startswith("## Coverage")
    assert problems[0].startswith("means: uniform, 10 queries: 0.")


def test_an_interval_that_is_marked_is_not_reported(benchmark: Any) -> None:
    cell = benchmark.measure_cell(
        benchmark.DIFFERENCE_SHAPES["6 % better, none worse"], 50, benchmark.estimate_difference, 100, 0
    )
    assert cell.covering < 0.93
    assert (cell.marked, cell.sound) == (1.0, 1.0)


def test_the_share_of_few_differing_queries_that_are_marked_falls_with_their_number(benchmark: Any) -> None:
    shape = benchmark.DIFFERENCE_SHAPES["normal"]
    marked = [
        benchmark.measure_cell(shape, n, benchmark.estimate_difference, 50, 0).marked for n in (20, 300)
    ]
    assert marked == [1.0, 0.0]
