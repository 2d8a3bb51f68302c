"""The benchmark of A/B tests simulates what its tables say."""

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "online_intervals.py"


@pytest.mark.parametrize("section", ["coverage", "peeking", "srm", "ramp", "latency"])
def test_every_section_has_shares_with_their_intervals(
    section: str, benchmark: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(benchmark, "HOURS", 12)
    text, _ = getattr(benchmark, f"{section}_section")(2)
    assert " (0." in text
    assert text.startswith("## ")


def test_a_target_is_missed_if_the_whole_interval_lies_beyond_it(benchmark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        benchmark, "METHODS", {"Welch": (lambda v: benchmark._moments(v, "clicks"), False, 9.0)}
    )
    _, missed = benchmark.coverage_section(5)
    assert missed == ["coverage of Welch: 0.000 (0.000 … 0.522) < 0.94"]
