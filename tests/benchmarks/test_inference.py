"""The benchmark of significance tests runs, and its simulations detect errors of the tests."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.arrays import Floats
from assay.stats import paired_tests

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "inference.py"


def run_benchmark(*options: str) -> str:
    """Run the benchmark and return what it prints."""
    process = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_all_three_sections_run_and_meet_their_targets() -> None:
    text = run_benchmark("--quick", "--sims", "12")
    assert "## Speed: 4,000 draws of 300 queries × 10 measures" in text
    assert "the time multiplied by 2 (" in text
    assert (
        "## False alarms: 12 comparisons of 400 queries without a difference, 10 slices × 5 measures" in text
    )
    assert "| t | none |" in text
    assert "## Power: nDCG@10 differs by" in text
    assert "| no |" not in text.split("## False alarms")[0]
    assert text.endswith("All targets are met.\n")


def test_the_memory_of_many_permutations_stays_small() -> None:
    output = json.loads(run_benchmark("--child", "randomisation", "assay", "6980", "3000", "0"))
    assert len(output["values"]) == 10
    assert output["peak"] - output["before"] < 40  # all signs at once would be 168 MB


def test_systems_simulated_without_a_difference_have_none(benchmark: Any) -> None:
    rng = np.random.default_rng(1)
    before, after = benchmark.simulate_scores(rng, 100_000)
    for name in benchmark.MEASURES:
        differences = after[name] - before[name]
        assert 0.05 < np.mean(differences != 0) < 0.6
        assert abs(differences.mean()) < 4 * differences.std() / math.sqrt(100_000)
    better, _ = benchmark.true_difference(0.2, 100_000, 0)
    assert better > 0.02


def test_false_alarms_are_no_more_frequent_than_stated(benchmark: Any) -> None:
    """200 comparisons with 10 slices and 5 measures each; without correction most of them would raise one."""
    alarms = benchmark.count_false_alarms("t", "holm", 200, seed=1).any
    assert np.mean(alarms) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)
    assert np.mean(benchmark.count_false_alarms("t", "none", 100, seed=1).any) > 0.5


def test_single_tests_are_counted_separately_from_mcnemar(benchmark: Any) -> None:
    for test in ("t", "bootstrap"):
        alarms = benchmark.count_false_alarms(test, "holm", 20, seed=0)
        assert set(alarms.single) == {"McNemar", test}
        assert 0 < np.mean(alarms.single[test]) < 0.15


def test_p_values_that_are_too_small_are_noticed(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_small(differences: Floats) -> Floats:
        p_values: Floats = paired_tests.t(differences) / 100
        return p_values

    monkeypatch.setitem(paired_tests.TESTS, "t", too_small)
    monkeypatch.setattr(benchmark, "SETTINGS", [("t", "holm")])
    text, problems = benchmark.false_alarm_section(replace(benchmark.QUICK, sims=60), seed=0)
    assert [problem.split()[:3] for problem in problems] == [["t", "with", "holm"], ["t", "alone", "rejects"]]
    assert "| no |" in text


def test_predicted_power_that_is_too_high_is_noticed(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "power", lambda *arguments: 0.9)
    _, problems = benchmark.power_section(replace(benchmark.QUICK, sims=30), seed=0)
    assert problems[0].startswith("power of 100 queries: predicted 0.900, found 0.")


def test_values_that_differ_are_noticed(benchmark: Any) -> None:
    values = benchmark.assay_p_values(benchmark.differences(300, 0), 4000, 0)
    timings = {"assay": [{"values": values}], "scipy": [{"values": values + 0.1}]}
    text, agree = benchmark.agreement_table("randomisation", timings, benchmark.QUICK, 2000, 0)
    assert not agree
    assert "| no |" in text
