"""The benchmark of the tests runs, and its simulations find what they are there to find."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.texts import Floats
from assay.stats import paired

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "inference.py"


def printed(*options: str) -> str:
    """What the benchmark prints."""
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_three_parts_run_and_hold() -> None:
    text = printed("--quick", "--sims", "12")
    assert "## Speed: 4,000 draws of 300 queries × 10 measures" in text
    assert "its seconds are 2 times those" in text
    assert (
        "## False alarms: 12 comparisons of 400 queries without a difference, 10 slices × 5 measures" in text
    )
    assert "| t | none |" in text
    assert "## Power: nDCG@10 differs by" in text
    assert "| no |" not in text.split("## False alarms")[0]
    assert text.endswith("All of it holds.\n")


def test_the_memory_of_many_permutations_stays_small() -> None:
    found = json.loads(printed("--child", "randomisation", "assay", "6980", "3000", "0"))
    assert len(found["values"]) == 10
    assert found["peak"] - found["before"] < 40  # all signs at once would be 168 MB


def test_systems_that_are_simulated_without_a_difference_have_none(benchmark: Any) -> None:
    rng = np.random.default_rng(1)
    before, after = benchmark.scores(rng, 100_000)
    for name in benchmark.MEASURES:
        differences = after[name] - before[name]
        assert 0.05 < np.mean(differences != 0) < 0.6
        assert abs(differences.mean()) < 4 * differences.std() / math.sqrt(100_000)
    better, _ = benchmark.truth(0.2, 100_000, 0)
    assert better > 0.02


def test_a_comparison_raises_a_false_alarm_no_more_often_than_it_says(benchmark: Any) -> None:
    """200 comparisons with 10 slices and 5 measures each; without correction most of them would."""
    kept = benchmark.alarms("t", "holm", 200, seed=1).any
    assert np.mean(kept) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)
    assert np.mean(benchmark.alarms("t", "none", 100, seed=1).any) > 0.5


def test_a_test_alone_is_counted_where_another_answers_for_it(benchmark: Any) -> None:
    for test in ("t", "bootstrap"):
        made = benchmark.alarms(test, "holm", 20, seed=0)
        assert set(made.single) == {"McNemar", test}
        assert 0 < np.mean(made.single[test]) < 0.15


def test_a_test_that_promises_too_much_is_noticed(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def bold(differences: Floats) -> Floats:
        made: Floats = paired.t(differences) / 100
        return made

    monkeypatch.setitem(paired.TESTS, "t", bold)
    monkeypatch.setattr(benchmark, "SETTINGS", [("t", "holm")])
    text, problems = benchmark.typeone(replace(benchmark.QUICK, sims=60), seed=0)
    assert [problem.split()[:3] for problem in problems] == [["t", "with", "holm"], ["t", "alone", "rejects"]]
    assert "| no |" in text


def test_power_that_was_not_there_is_noticed(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "power", lambda *given: 0.9)
    _, problems = benchmark.powers(replace(benchmark.QUICK, sims=30), seed=0)
    assert problems[0].startswith("power of 100 queries: predicted 0.900, found 0.")


def test_values_that_differ_are_noticed(benchmark: Any) -> None:
    values = benchmark.our_ps(benchmark.differences(300, 0), 4000, 0)
    taken = {"assay": [{"values": values}], "scipy": [{"values": values + 0.1}]}
    text, agree = benchmark.beside("randomisation", taken, benchmark.QUICK, 2000, 0)
    assert not agree
    assert "| no |" in text
