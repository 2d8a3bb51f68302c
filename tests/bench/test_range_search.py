"""Matched searches: the least value that reaches a target is found, kept, and run as any other trial."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.studies.scoring import read_trials
from assay.bench.sweeps.cases import IndexEntry, ParameterRange, RecallGoal, RequestMode, plan_cases
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.progress import Progress
from assay.bench.sweeps.range_search import RangeMatch, SearchProbe, find_matching_value, first_reaching
from assay.bench.sweeps.sweep import Sweep
from assay.bench.trials import Trial
from assay.core.errors import ConfigurationError, InputError
from assay.indexes.hits import HitRule, Hits
from assay.indexes.hosting.hosted import HostedIndex
from tests.benches import install_test_engines, small_data

DATA = small_data()
QUICK = SweepOptions(repetitions=2, warmup=0, timeout=60)
ROWS = ParameterRange(100, 1500)


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_test_engines(tmp_path, monkeypatch)


def probe(*counts: int) -> SearchProbe:
    """A pass over queries with so many of their 10 nearest each."""
    return SearchProbe(Hits(np.array(counts), np.full(len(counts), 10), 10, "strict"), 1.0)


def sweep(folder: Path, *targets: float, options: SweepOptions = QUICK, **search: Any) -> Sweep:
    entry = IndexEntry("misbehaving", {}, search or {"rows": [ROWS]})
    cases = plan_cases(
        [entry], [RequestMode("batch"), RequestMode("single")], [(RecallGoal(t),) for t in targets]
    )
    return Sweep(DATA, cases, folder, options)


def events(item: Sweep) -> list[str]:
    steps: list[Progress] = []
    item.run(steps.append)
    return [event.kind for event in steps]


def read_sweep_trials(folder: Path) -> list[Trial]:
    return read_trials(SweepFolder(folder), HitRule(DATA.truth, 5, DATA.base, DATA.queries, DATA.metric))


def recalls(folder: Path) -> list[float]:
    return [t.recall.value for t in read_sweep_trials(folder) if t.recall and t.recall.value is not None]


def test_an_interruption_while_a_value_is_looked_for_leaves_no_engine_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Remembered(HostedIndex):
        def __init__(self, *settings: Any, **named: Any) -> None:
            super().__init__(*settings, **named)
            started.append(self)

    def interrupt(event: Progress) -> None:
        if event.kind == "matching":
            raise KeyboardInterrupt

    started: list[HostedIndex] = []
    monkeypatch.setattr("assay.bench.sweeps.restartable_index.HostedIndex", Remembered)
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path / "out", 0.9).run(interrupt)
    assert [item.is_alive for item in started] == [False]


@given(st.integers(0, 50), st.integers(1, 1000), st.integers(-10, 1100))
def test_the_least_value_that_reaches_is_found_in_few_searches(least: int, width: int, border: int) -> None:
    value_range, probed_values = ParameterRange(least, least + width), list[int]()

    def reaches(value: int) -> bool:
        probed_values.append(value)
        return value >= border

    expected = next(
        (v for v in range(value_range.low, value_range.high + 1) if v >= border), value_range.high
    )
    assert first_reaching(value_range, reaches) == expected
    assert len(probed_values) <= 2 * math.log2(value_range.high + 2) + 3
    assert max(probed_values) <= max(2 * expected, 1)  # nothing dear is tried in vain


def test_a_target_is_met_by_the_least_value_in_the_range() -> None:
    match = find_matching_value(
        ParameterRange(1, 100), (RecallGoal(0.75),), lambda v: probe(min(v, 10), min(v, 10))
    )
    assert match == RangeMatch(8, "smallest in 1..100 with R@10 ≥ 0.75", match.searches)


@pytest.mark.parametrize(("target", "value"), [(0.74, 7), (0.76, 8), (0.7, 7), (0.1, 1)])
def test_a_recall_to_be_come_near_to_is_met_from_either_side(target: float, value: int) -> None:
    match = find_matching_value(
        ParameterRange(1, 100),
        (RecallGoal(target, is_approximate=True),),
        lambda v: probe(min(v, 10), min(v, 10)),
    )
    assert match.value == value
    above = "the smallest value of 1..100 is above R@10 ≥ 0.1: R@10 0.1000"
    assert match.note == (above if value == 1 else f"nearest in 1..100 to R@10 = {target:g}")


def test_what_is_far_below_a_recall_is_not_called_near() -> None:
    match = find_matching_value(
        ParameterRange(1, 7), (RecallGoal(0.95, is_approximate=True),), lambda v: probe(v, v)
    )
    assert (match.value, "R@10 ≥ 0.95 is not reached in 1..7" in match.note) == (7, True)


def test_recall_and_robustness_are_to_be_reached_together() -> None:
    goals = (RecallGoal(0.5), RecallGoal(1.0, 0.3))
    match = find_matching_value(ParameterRange(1, 100), goals, lambda v: probe(10, min(v // 4, 10)))
    assert match.value == 12  # the second query has 3 of 10 from there on; the mean was reached at once
    assert match.note == "smallest in 1..100 with R@10 ≥ 0.5 and Robustness(delta=0.3)@10 ≥ 1"


def test_a_range_that_does_not_reach_says_by_how_much() -> None:
    match = find_matching_value(ParameterRange(1, 7), (RecallGoal(0.95),), lambda v: probe(v, v))
    assert (match.value, match.note) == (
        7,
        "R@10 ≥ 0.95 is not reached in 1..7: the largest value misses R@10 by 0.2500",
    )


def test_a_range_that_begins_above_says_so() -> None:
    match = find_matching_value(ParameterRange(9, 99), (RecallGoal(0.5),), lambda v: probe(9, 10))
    assert (match.value, match.note) == (9, "the smallest value of 9..99 is above R@10 ≥ 0.5: R@10 0.9500")


def test_a_recall_that_falls_beside_the_value_is_told() -> None:
    match = find_matching_value(
        ParameterRange(1, 100), (RecallGoal(0.75),), lambda v: probe(7 if v == 9 else min(v, 10))
    )
    assert match.value == 8
    assert match.note.endswith("; R@10 falls from 0.8000 at 8 to 0.7000 at 9")


def test_queries_without_truth_have_no_part_in_a_target() -> None:
    item = SearchProbe(Hits(np.array([5, 0]), np.array([10, 0]), 10, "strict"), 1.0)
    assert (item.goal_value(RecallGoal(0.5)), item.reaches((RecallGoal(0.5),))) == (0.5, True)
    none = SearchProbe(Hits(np.array([0]), np.array([0]), 10, "strict"), 1.0)
    assert not none.reaches((RecallGoal(0.1),))


def test_a_matched_trial_is_the_trial_of_its_value(tmp_path: Path) -> None:
    sweep(tmp_path / "out", 0.9).run()
    result = read_sweep_trials(tmp_path / "out")
    value = result[0].search["rows"]
    sweep(tmp_path / "at", rows=[value]).run()
    sweep(tmp_path / "below", rows=[value - 1]).run()
    assert [t.key for t in read_sweep_trials(tmp_path / "at")] == [t.key for t in result]
    assert min(recalls(tmp_path / "out")) >= 0.9 > max(recalls(tmp_path / "below"))
    assert {t.note for t in result} == {"smallest in 100..1500 with R@5 ≥ 0.9"}


def test_an_index_is_built_once_and_a_value_is_looked_for_once(tmp_path: Path) -> None:
    first = events(sweep(tmp_path / "out", 0.9))
    assert (first.count("building"), first.count("matched"), first.count("done")) == (2, 2, 2)  # two ways
    assert events(sweep(tmp_path / "out", 0.9)) == ["known", "known"]
    more = events(sweep(tmp_path / "out", 0.9, options=SweepOptions(repetitions=3, warmup=0)))
    assert "matching" not in more
    assert more.count("passed") == 2
    assert {t.note for t in read_sweep_trials(tmp_path / "out")} == {"smallest in 100..1500 with R@5 ≥ 0.9"}


def test_a_value_that_was_measured_before_is_not_measured_again(tmp_path: Path) -> None:
    sweep(tmp_path / "other", 0.9).run()
    (value,) = {t.search["rows"] for t in read_sweep_trials(tmp_path / "other")}
    sweep(tmp_path / "out", rows=[value]).run()
    steps = events(sweep(tmp_path / "out", 0.9))
    assert "passed" not in steps
    assert steps[-2:] == ["known", "known"]
    assert [t.note for t in read_sweep_trials(tmp_path / "out")] == [
        "smallest in 100..1500 with R@5 ≥ 0.9"
    ] * 2


def test_targets_that_meet_in_one_value_are_one_trial(tmp_path: Path) -> None:
    low = sweep(tmp_path / "out", 0.01, 0.02)
    low.run()
    result = read_sweep_trials(tmp_path / "out")
    assert [t.search for t in result] == [{"rows": 100}] * 2
    this_sweep = sweep(tmp_path / "out", 0.01, 0.02)
    assert [p.key for p in low.planned_trials] == [p.key for p in this_sweep.planned_trials]
    assert result[0].note.count("the smallest value of 100..1500 is above") == 2


def test_a_search_that_fails_costs_the_trials_of_its_target(tmp_path: Path) -> None:
    sweep(tmp_path / "out", 0.9, rows=[ROWS], fails=["refuse", ""]).run()
    states = sorted(
        (t.search["fails"], t.status, t.search["rows"]) for t in read_sweep_trials(tmp_path / "out")
    )
    assert [s[:2] for s in states] == [("", "done")] * 2 + [("refuse", "failed")] * 2
    assert [s[2] for s in states[2:]] == ["100..1500"] * 2
    assert events(sweep(tmp_path / "out", 0.9, rows=[ROWS], fails=["refuse"])) == ["known", "known"]


def test_a_failure_is_forgotten_when_the_value_is_found(tmp_path: Path) -> None:
    this_sweep = sweep(tmp_path / "out", 0.9, options=SweepOptions(repetitions=1, warmup=0, retry=True))
    for trial in this_sweep.planned_trials:
        record = {**trial.case.identity(), "k": 5, "status": "failed", "reason": "of the moment"}
        this_sweep.folder.put_trial(trial.key, record)
    this_sweep.run()
    assert [t.status for t in read_sweep_trials(tmp_path / "out")] == ["done", "done"]


@pytest.mark.parametrize(
    ("build", "search", "targets", "message"),
    [
        (
            {},
            {"rows": [ROWS]},
            [],
            "misbehaving: a range needs a target recall to search for",
        ),
        ({}, {"rows": [100]}, [0.9], "needs a search parameter given as a range"),
        ({}, {"rows": [ROWS], "other": [ROWS]}, [0.9], "found 2 \\(rows, other\\)"),
        (
            {"seed": [ParameterRange(1, 9)]},
            {"rows": [ROWS]},
            [0.9],
            "seed is a range, but an index is built with single values",
        ),
    ],
)
def test_a_range_needs_a_target_and_a_target_a_range(
    build: dict[str, Any], search: dict[str, Any], targets: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        plan_cases(
            [IndexEntry("misbehaving", build, search)], [RequestMode()], [(RecallGoal(t),) for t in targets]
        )


def test_values_beside_a_range_need_no_target() -> None:
    cases = plan_cases(
        [IndexEntry("misbehaving", {}, {"rows": [ROWS]}), IndexEntry("misbehaving", {}, {"rows": [5]})],
        [RequestMode()],
        [(RecallGoal(0.9),), (RecallGoal(0.8),)],
    )
    assert [(c.search["rows"], c.goals) for c in cases] == [
        (ROWS, (RecallGoal(0.9),)),
        (ROWS, (RecallGoal(0.8),)),
        (5, ()),
    ]


def test_a_range_of_what_is_misspelt_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"search\.row: there is no such parameter; did you mean rows"
    ):
        sweep(tmp_path / "out", 0.9, row=[ROWS])
    with pytest.raises(ConfigurationError, match=r"search\.fails: expected str, found"):
        sweep(tmp_path / "out", 0.9, fails=[ROWS])
