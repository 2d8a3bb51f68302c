"""The benchmark of interleaving finds differences, and alarms that credit by team alone gives."""

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "interleaving.py"


def test_each_method_has_the_users_that_it_needs_beside_an_ab_test(benchmark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(benchmark, "DIMENSIONS", {"large": (30, 150)})
    text, missed = benchmark.needed_section(600, 1_200)
    assert [line.split(" | ")[1] for line in text.splitlines()[4:]] == [*benchmark.METHODS]
    assert missed == []
    power, missed = benchmark.power_section(600, 1_200)
    assert len(power.splitlines()) == 7
    assert missed == []


def test_credit_by_team_alone_alarms_when_a_list_runs_out(benchmark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(benchmark, "GROUP", 200)
    events = benchmark.random_clicks("team-draft", 5)
    by_team = benchmark.alarms(benchmark.without_credit(events))
    by_list = benchmark.alarms(events)
    assert {share.value for share in by_team.values()} == {1.0}
    assert all(share.value <= 0.4 for share in by_list.values())
