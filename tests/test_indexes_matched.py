"""Matched searches: the least value that reaches a target is found, kept, and run as any other trial."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import ConfigurationError, InputError
from assay.indexes.choice.matched import Match, Probe, first_reaching, match
from assay.indexes.hits import Hits, Judge
from assay.indexes.hosting.hosted import Hosted
from assay.indexes.sweeps.plan import Asking, Entry, Goal, Range, cases
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.summary import trials
from assay.indexes.sweeps.sweep import Event, Options, Sweep
from assay.indexes.trials import Trial
from benches import install_others, small

DATA = small()
QUICK = Options(repetitions=2, warmup=0, timeout=60)
ROWS = Range(100, 1500)


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_others(tmp_path, monkeypatch)


def probe(*counts: int) -> Probe:
    """A pass over queries with so many of their 10 nearest each."""
    return Probe(Hits(np.array(counts), np.full(len(counts), 10), 10, "strict"), 1.0)


def sweep(folder: Path, *targets: float, options: Options = QUICK, **search: Any) -> Sweep:
    entry = Entry("misbehaving", {}, search or {"rows": [ROWS]})
    planned = cases([entry], [Asking("batch"), Asking("single")], [(Goal(t),) for t in targets])
    return Sweep(DATA, planned, folder, options)


def events(one: Sweep) -> list[str]:
    seen: list[Event] = []
    one.run(seen.append)
    return [event.what for event in seen]


def found(folder: Path) -> list[Trial]:
    return trials(Results(folder), Judge(DATA.truth, 5, DATA.base, DATA.queries, DATA.metric))


def recalls(folder: Path) -> list[float]:
    return [t.recall.value for t in found(folder) if t.recall and t.recall.value is not None]


def test_an_interruption_while_a_value_is_looked_for_leaves_no_engine_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Remembered(Hosted):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            started.append(self)

    def interrupt(event: Event) -> None:
        if event.what == "matching":
            raise KeyboardInterrupt

    started: list[Hosted] = []
    monkeypatch.setattr("assay.indexes.sweeps.living.Hosted", Remembered)
    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path / "out", 0.9).run(interrupt)
    assert [one.alive for one in started] == [False]


@given(st.integers(0, 50), st.integers(1, 1000), st.integers(-10, 1100))
def test_the_least_value_that_reaches_is_found_in_few_searches(least: int, width: int, border: int) -> None:
    wanted, asked = Range(least, least + width), list[int]()

    def reaches(value: int) -> bool:
        asked.append(value)
        return value >= border

    expected = next((v for v in range(wanted.least, wanted.most + 1) if v >= border), wanted.most)
    assert first_reaching(wanted, reaches) == expected
    assert len(asked) <= 2 * math.log2(wanted.most + 2) + 3
    assert max(asked) <= max(2 * expected, 1)  # nothing dear is tried in vain


def test_a_target_is_met_by_the_least_value_in_the_range() -> None:
    made = match(Range(1, 100), (Goal(0.75),), lambda v: probe(min(v, 10), min(v, 10)))
    assert made == Match(8, "least in 1..100 with R@10 ≥ 0.75", made.tried)


@pytest.mark.parametrize(("target", "value"), [(0.74, 7), (0.76, 8), (0.7, 7), (0.1, 1)])
def test_a_recall_to_be_come_near_to_is_met_from_either_side(target: float, value: int) -> None:
    made = match(Range(1, 100), (Goal(target, near=True),), lambda v: probe(min(v, 10), min(v, 10)))
    assert made.value == value
    above = "the least of 1..100 is above R@10 ≥ 0.1: R@10 0.1000"
    assert made.note == (above if value == 1 else f"nearest in 1..100 to R@10 = {target:g}")


def test_what_is_far_below_a_recall_is_not_called_near() -> None:
    made = match(Range(1, 7), (Goal(0.95, near=True),), lambda v: probe(v, v))
    assert (made.value, "R@10 ≥ 0.95 is not reached in 1..7" in made.note) == (7, True)


def test_recall_and_robustness_are_to_be_reached_together() -> None:
    goals = (Goal(0.5), Goal(1.0, 0.3))
    made = match(Range(1, 100), goals, lambda v: probe(10, min(v // 4, 10)))
    assert made.value == 12  # the second query has 3 of 10 from there on; the mean was reached at once
    assert made.note == "least in 1..100 with R@10 ≥ 0.5 and Robustness(delta=0.3)@10 ≥ 1"


def test_a_range_that_does_not_reach_says_by_how_much() -> None:
    made = match(Range(1, 7), (Goal(0.95),), lambda v: probe(v, v))
    assert (made.value, made.note) == (
        7,
        "R@10 ≥ 0.95 is not reached in 1..7: the most misses R@10 by 0.2500",
    )


def test_a_range_that_begins_above_says_so() -> None:
    made = match(Range(9, 99), (Goal(0.5),), lambda v: probe(9, 10))
    assert (made.value, made.note) == (9, "the least of 9..99 is above R@10 ≥ 0.5: R@10 0.9500")


def test_a_recall_that_falls_beside_the_value_is_told() -> None:
    made = match(Range(1, 100), (Goal(0.75),), lambda v: probe(7 if v == 9 else min(v, 10)))
    assert made.value == 8
    assert made.note.endswith("; R@10 falls from 0.8000 at 8 to 0.7000 at 9")


def test_queries_without_truth_have_no_part_in_a_target() -> None:
    some = Probe(Hits(np.array([5, 0]), np.array([10, 0]), 10, "strict"), 1.0)
    assert (some.figure(Goal(0.5)), some.reaches((Goal(0.5),))) == (0.5, True)
    none = Probe(Hits(np.array([0]), np.array([0]), 10, "strict"), 1.0)
    assert not none.reaches((Goal(0.1),))


def test_a_matched_trial_is_the_trial_of_its_value(tmp_path: Path) -> None:
    sweep(tmp_path / "out", 0.9).run()
    made = found(tmp_path / "out")
    value = made[0].search["rows"]
    sweep(tmp_path / "at", rows=[value]).run()
    sweep(tmp_path / "below", rows=[value - 1]).run()
    assert [t.key for t in found(tmp_path / "at")] == [t.key for t in made]
    assert min(recalls(tmp_path / "out")) >= 0.9 > max(recalls(tmp_path / "below"))
    assert {t.note for t in made} == {"least in 100..1500 with R@5 ≥ 0.9"}


def test_an_index_is_built_once_and_a_value_is_looked_for_once(tmp_path: Path) -> None:
    first = events(sweep(tmp_path / "out", 0.9))
    assert (first.count("building"), first.count("matched"), first.count("done")) == (2, 2, 2)  # two ways
    assert events(sweep(tmp_path / "out", 0.9)) == ["known", "known"]
    more = events(sweep(tmp_path / "out", 0.9, options=Options(repetitions=3, warmup=0)))
    assert "matching" not in more
    assert more.count("passed") == 2
    assert {t.note for t in found(tmp_path / "out")} == {"least in 100..1500 with R@5 ≥ 0.9"}


def test_a_value_that_was_measured_before_is_not_measured_again(tmp_path: Path) -> None:
    sweep(tmp_path / "other", 0.9).run()
    (value,) = {t.search["rows"] for t in found(tmp_path / "other")}
    sweep(tmp_path / "out", rows=[value]).run()
    seen = events(sweep(tmp_path / "out", 0.9))
    assert "passed" not in seen
    assert seen[-2:] == ["known", "known"]
    assert [t.note for t in found(tmp_path / "out")] == ["least in 100..1500 with R@5 ≥ 0.9"] * 2


def test_targets_that_meet_in_one_value_are_one_trial(tmp_path: Path) -> None:
    low = sweep(tmp_path / "out", 0.01, 0.02)
    low.run()
    made = found(tmp_path / "out")
    assert [t.search for t in made] == [{"rows": 100}] * 2
    assert [p.key for p in low.planned] == [p.key for p in sweep(tmp_path / "out", 0.01, 0.02).planned]
    assert made[0].note.count("the least of 100..1500 is above") == 2


def test_a_search_that_fails_costs_the_trials_of_its_target(tmp_path: Path) -> None:
    sweep(tmp_path / "out", 0.9, rows=[ROWS], fails=["refuse", ""]).run()
    states = sorted((t.search["fails"], t.status, t.search["rows"]) for t in found(tmp_path / "out"))
    assert [s[:2] for s in states] == [("", "done")] * 2 + [("refuse", "failed")] * 2
    assert [s[2] for s in states[2:]] == ["100..1500"] * 2
    assert events(sweep(tmp_path / "out", 0.9, rows=[ROWS], fails=["refuse"])) == ["known", "known"]


def test_a_failure_is_forgotten_when_the_value_is_found(tmp_path: Path) -> None:
    one = sweep(tmp_path / "out", 0.9, options=Options(repetitions=1, warmup=0, retry=True))
    for planned in one.planned:
        record = {**planned.case.identity(), "k": 5, "status": "failed", "reason": "of the moment"}
        one.results.put_trial(planned.key, record)
    one.run()
    assert [t.status for t in found(tmp_path / "out")] == ["done", "done"]


@pytest.mark.parametrize(
    ("build", "search", "targets", "said"),
    [
        (
            {},
            {"rows": [ROWS]},
            [],
            "misbehaving: a range is searched for the value that comes nearest to a recall",
        ),
        ({}, {"rows": [100]}, [0.9], "needs a parameter of searching whose value is looked for"),
        ({}, {"rows": [ROWS], "other": [ROWS]}, [0.9], "found 2 \\(rows, other\\)"),
        (
            {"seed": [Range(1, 9)]},
            {"rows": [ROWS]},
            [0.9],
            "seed is a range, and an index is built with a value",
        ),
    ],
)
def test_a_range_needs_a_target_and_a_target_a_range(
    build: dict[str, Any], search: dict[str, Any], targets: list[float], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        cases([Entry("misbehaving", build, search)], [Asking()], [(Goal(t),) for t in targets])


def test_values_beside_a_range_need_no_target() -> None:
    made = cases(
        [Entry("misbehaving", {}, {"rows": [ROWS]}), Entry("misbehaving", {}, {"rows": [5]})],
        [Asking()],
        [(Goal(0.9),), (Goal(0.8),)],
    )
    assert [(c.search["rows"], c.goals) for c in made] == [
        (ROWS, (Goal(0.9),)),
        (ROWS, (Goal(0.8),)),
        (5, ()),
    ]


def test_a_range_of_what_is_misspelt_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"search\.row: there is no such parameter; did you mean rows"
    ):
        sweep(tmp_path / "out", 0.9, row=[ROWS])
    with pytest.raises(ConfigurationError, match=r"search\.fails: expected str, found"):
        sweep(tmp_path / "out", 0.9, fails=[ROWS])
