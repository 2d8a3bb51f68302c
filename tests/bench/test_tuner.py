"""Tuning: what is drawn is measured as any trial, what is known is taken over, what cannot win is not."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.bench.selection.floors import parse_figure, parse_floor
from assay.bench.sweeps.cases import (
    IndexBuild,
    IndexEntry,
    ParameterRange,
    RecallGoal,
    RequestMode,
    TrialCase,
)
from assay.bench.sweeps.engine_descriptions import describe_engines
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.progress import Progress
from assay.bench.sweeps.range_search import SearchProbe
from assay.bench.sweeps.sweep import Sweep
from assay.bench.tuning.space import TuningSpace, suggest_case
from assay.bench.tuning.tuner import Tuner, TuningAttempt
from assay.core.errors import InputError, MissingExtraError
from assay.indexes.hits import HitRule, Hits
from tests.benches import install_test_engines, small_data

optuna = pytest.importorskip("optuna")
DATA = small_data()
SPACE = IndexEntry("misbehaving", {"seed": [ParameterRange(1, 60)]}, {"rows": [ParameterRange(100, 1500)]})


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_test_engines(tmp_path, monkeypatch)


def make_space(*floors: str, objective: str = "qps", entry: IndexEntry = SPACE, **more: Any) -> TuningSpace:
    rules = tuple(map(parse_floor, floors or ("recall=0.9",)))
    usual: dict[str, Any] = {"request_mode": RequestMode("batch"), "budget": 3}
    return TuningSpace((entry,), rules, parse_figure(objective), **usual | more)


def make_tuner(folder: Path, what: TuningSpace) -> Tuner:
    engines = describe_engines(what.example_cases())

    def sweeps(cases: Sequence[TrialCase]) -> Sweep:
        return Sweep(DATA, cases, folder, SweepOptions(repetitions=1, warmup=0, timeout=60), {}, engines)

    return Tuner(what, sweeps)


def make_probes(*qps: float, best: float = 0.0) -> Callable[[Any], SearchProbe]:
    """Passes with so many queries per second, one after another, and one of the best."""
    left, hits = iter(qps), Hits(np.array([5]), np.array([5]), 5, "strict")
    return lambda second: SearchProbe(hits, next(left) if second is None else best)


def attempt_parameters(search: Tuner) -> list[dict[str, Any]]:
    return [dict(attempt.parameters) for attempt in search.attempts]


def test_indexes_are_drawn_and_their_search_is_found(tmp_path: Path) -> None:
    search = make_tuner(tmp_path / "out", make_space("recall=0.9", "robustness-0.2=1"))
    result = search.run()
    assert [scored_trial.state for scored_trial in result.attempts] == ["met"] * 3
    assert (result.new_attempts, result.end_reason) == (3, "the budget of 3 is used")
    assert len({scored_trial.parameters["0.build.seed"] for scored_trial in result.attempts}) == 3
    shapes = [
        scored_trial.distribution for scored_trial in search.scored_trials() if scored_trial.distribution
    ]
    assert [(shape.mean or 0) >= 0.9 for shape in shapes] == [True] * 3
    assert [shape.robustness(0.2).value for shape in shapes] == [1.0] * 3
    assert search.best == max(result.attempts, key=lambda scored_trial: scored_trial.value or 0)


def test_what_was_tried_is_taken_over_and_goes_on_as_if_never_interrupted(tmp_path: Path) -> None:
    whole = make_tuner(tmp_path / "whole", make_space(budget=5))
    whole.run()
    make_tuner(tmp_path / "parts", make_space(budget=2)).run()
    search = make_tuner(tmp_path / "parts", make_space(budget=5))
    result = search.run()
    assert (len(result.attempts), result.new_attempts) == (5, 3)
    assert attempt_parameters(search) == attempt_parameters(whole)
    assert make_tuner(tmp_path / "parts", make_space(budget=5)).run().new_attempts == 0


def test_the_best_are_timed_anew_in_turns_and_judged_by_that_alone(tmp_path: Path) -> None:
    search = make_tuner(tmp_path / "out", make_space(budget=4))
    assert search.run().finalists == 3
    assert list(search.finalists.values()) == [[1], [1], [1]]
    passes = {scored_trial.trial.key: scored_trial.trial.qps for scored_trial in search.scored_trials()}
    assert [result.repetitions for result in passes.values() if result] == [1, 1, 1]
    for scored_trial in search.scored_trials():
        (seconds,) = (search.folder.read_pass(scored_trial.trial.key, n).seconds for n in [1])
        assert scored_trial.trial.qps is not None
        assert scored_trial.trial.qps.median == pytest.approx(40 / seconds)
    rest = [scored_trial.key for scored_trial in search.attempts if scored_trial.key not in passes]
    assert [len(search.folder.pass_numbers(key)) for key in rest if key] == [1]
    second_search = make_tuner(tmp_path / "out", make_space(budget=4))
    second_search.run()
    assert second_search.finalists == search.finalists
    assert second_search.attempts == search.attempts


def test_every_play_off_gives_every_finalist_as_many_new_passes(tmp_path: Path) -> None:
    make_tuner(tmp_path / "out", make_space(budget=2)).run()
    search = make_tuner(tmp_path / "out", make_space(budget=3))
    search.run()
    assert list(search.finalists.values()) == [[2], [2], [2]]  # the third has no pass of number 1
    counts = [len(search.folder.pass_numbers(key)) for key in search.finalists]
    assert sorted(counts) == [2, 3, 3]


def test_an_interrupted_play_off_is_held_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(sweep: Sweep) -> None:
        def watch(event: Progress) -> None:
            if event.kind == "passed":
                raise KeyboardInterrupt

        sweep.options = replace(sweep.options, first_repetition=1)
        sweep.run(watch)

    search = make_tuner(tmp_path / "out", make_space(budget=3))
    monkeypatch.setattr(search, "_time_in_turns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    second_search = make_tuner(tmp_path / "out", make_space(budget=3))
    assert second_search.run().count("met") == 3
    assert list(second_search.finalists.values()) == [[2], [2], [2]]


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    def interrupt(number: int, item: TuningAttempt) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_tuner(tmp_path / "out", make_space()).run(interrupt)
    assert make_tuner(tmp_path / "out", make_space()).run().new_attempts == 1


def test_another_seed_draws_others_and_another_question_begins_anew(tmp_path: Path) -> None:
    first, second = (
        make_tuner(tmp_path / "out", make_space()),
        make_tuner(tmp_path / "out", make_space(seed=1)),
    )
    assert (first.run().new_attempts, second.run().new_attempts) == (3, 3)
    assert attempt_parameters(first) != attempt_parameters(second)
    assert make_tuner(tmp_path / "out", make_space("recall=0.8")).run().new_attempts == 3


def test_a_small_space_is_exhausted(tmp_path: Path) -> None:
    few = IndexEntry("misbehaving", {"seed": [1, 2]}, {"rows": [1500]})
    result = make_tuner(tmp_path / "out", make_space(entry=few, budget=30)).run()
    assert sorted(attempt.label for attempt in result.attempts) == [
        f"misbehaving seed={s} / rows=1500" for s in (1, 2)
    ]
    assert result.end_reason == "every configuration was tried"


def test_time_that_is_over_ends_the_search(tmp_path: Path) -> None:
    result = make_tuner(tmp_path / "out", make_space(seconds=1e-9)).run()
    assert (result.attempts, result.end_reason) == ([], "1e-09 s have passed")


def test_floors_that_nothing_reaches_are_told(tmp_path: Path) -> None:
    poor = IndexEntry("misbehaving", {"seed": [1, 2]}, {"rows": [ParameterRange(100, 200)]})
    search = make_tuner(tmp_path / "out", make_space("recall=0.99", entry=poor, budget=1))
    (result,) = search.run().attempts
    assert (result.state, search.best) == ("missed", None)
    assert result.reason.startswith("recall at least 0.99: 0.")
    assert result.label.endswith("rows=200")
    assert 0.5 < result.shortfall < 1


def test_what_fails_is_told_and_the_search_goes_on(tmp_path: Path) -> None:
    entry = IndexEntry("misbehaving", {"fails": ["refuse", ""]}, {"rows": [ParameterRange(100, 1500)]})
    result = make_tuner(tmp_path / "out", make_space(entry=entry, budget=2)).run()
    states = {attempt.parameters["0.build.fails"]: attempt for attempt in result.attempts}
    assert (states[""].state, states["refuse"].state) == ("met", "failed")
    assert "to my liking" in states["refuse"].reason


def test_an_index_above_a_ceiling_is_not_measured(tmp_path: Path) -> None:
    search = make_tuner(tmp_path / "out", make_space("recall=0.9", "build_seconds=0", budget=2))
    result = search.run()
    assert [attempt.state for attempt in result.attempts] == ["skipped", "skipped"]
    assert result.attempts[0].reason.startswith("build_seconds at most 0: ")
    assert SweepFolder(tmp_path / "out").trial_keys() == []
    assert not (tmp_path / "out" / "indexes").exists()
    assert make_tuner(tmp_path / "out", search.space).run().new_attempts == 0


def test_an_index_far_behind_the_best_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = make_tuner(tmp_path / "out", make_space())
    monkeypatch.setattr(search, "planned_trial", lambda item: item)
    assert search._skip_reason({}, make_probes()) == ""  # nothing to be behind of yet
    search.attempts.append(TuningAttempt({}, "the best", "met", value=900.0, qps=900.0))
    message = "400 queries per second with the smallest search, while the best answers 850"
    assert search._skip_reason({}, make_probes(300.0, 400.0, 200.0, best=850.0)) == message
    assert search._skip_reason({}, make_probes(450.0)) == ""
    assert search._skip_reason({}, make_probes(100.0, 460.0)) == ""  # a stall is not the index's
    assert search._skip_reason({}, make_probes(300.0, 400.0, 200.0, best=700.0)) == ""  # nor is a slow minute


def test_the_best_is_looked_at_again_where_another_seems_slow(tmp_path: Path) -> None:
    two = IndexEntry("misbehaving", {"seed": [1, 2]}, {"rows": [ParameterRange(100, 1500)]})
    search = make_tuner(tmp_path / "out", make_space(entry=two, budget=1))
    first = search.run().attempts[0]
    second_search = make_tuner(tmp_path / "out", replace(search.space, budget=2))
    second_search.attempts.append(first._replace(qps=1e12))  # as if the machine had been that fast
    seed = 3 - first.parameters["0.build.seed"]
    case = TrialCase(IndexBuild("misbehaving", {"seed": seed}), {"rows": 20}, RequestMode("batch"))
    sweep, steps = second_search.make_sweep([case]), list[str]()
    sweep.run(lambda event: steps.append(event.kind), second_search._skip_reason)
    assert steps[-1] == "done"  # it is not behind at this minute


def test_an_index_that_costs_no_less_than_the_best_is_not_measured(tmp_path: Path) -> None:
    search = make_tuner(tmp_path / "out", make_space(objective="memory_mb"))
    search.attempts.append(TuningAttempt({}, "the best", "met", value=3.0, qps=900.0))
    assert (
        search._skip_reason({"memory_bytes": 4 << 20}, make_probes())
        == "memory_mb 4 is not better than 3 of the best"
    )
    assert search._skip_reason({"memory_bytes": 2 << 20}, make_probes()) == ""
    assert search._skip_reason({"memory_bytes": None}, make_probes()) == ""


def test_passwords_are_not_written_down(tmp_path: Path) -> None:
    entry = IndexEntry(
        "misbehaving", {"fails": ["http://me:hidden@host"], "api_key": ["hidden"]}, SPACE.search
    )
    assert "hidden" not in str(make_space(entry=entry).identity())
    assert "100..1500" in str(make_space(entry=entry).identity())


def test_values_are_drawn_by_the_words_of_the_index() -> None:
    entry = IndexEntry(
        "x",
        {"M": [ParameterRange(8, 64)], "kind": ["a", "b"], "n": [3]},
        {"ef": [ParameterRange(1, 99)], "deep": [1, 2]},
    )
    suggestion = optuna.trial.FixedTrial(
        {"index": 0, "0.build.M": 12, "0.build.kind": "b", "0.search.deep": 2}
    )
    case = suggest_case(suggestion, make_space("recall=0.9", "robustness-0.1=0.99", "qps=5", entry=entry))
    assert case.build.parameters == {"M": 12, "kind": "b", "n": 3}
    assert case.search == {"ef": ParameterRange(1, 99), "deep": 2}
    assert case.goals == (RecallGoal(0.9), RecallGoal(0.99, 0.1))
    assert suggestion.distributions["0.build.M"] == optuna.distributions.IntDistribution(8, 64)


def test_a_wide_range_is_drawn_by_its_logarithm() -> None:
    entry = IndexEntry("x", {"nlist": [ParameterRange(64, 4096)]})
    suggestion = optuna.trial.FixedTrial({"index": 0, "0.build.nlist": 100})
    suggest_case(suggestion, make_space(entry=entry))
    assert suggestion.distributions["0.build.nlist"] == optuna.distributions.IntDistribution(
        64, 4096, log=True
    )


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"objective": "recall"}, "the objective of tuning must be one of qps"),
        ({"floors": ["qps=5"]}, "add a floor of recall or robustness"),
        ({"floors": ["recall=0.5", "recall=0.6"]}, "expected one floor per figure"),
        (
            {"entry": IndexEntry("x", {"M": [ParameterRange(1, 2), 5]})},
            "x: a range must be the only value of a parameter; found M=1..2,5",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused(what: dict[str, Any], message: str) -> None:
    floors = what.pop("floors", [])
    with pytest.raises(InputError, match=message):
        make_space(*floors, **what)


def test_both_ends_of_every_range_are_checked_first() -> None:
    entry = IndexEntry("x", {"M": [ParameterRange(8, 64)], "kind": ["a", "b", "c"]})
    assert [case.build.parameters for case in make_space(entry=entry).example_cases()] == [
        {"M": 8, "kind": "a"},
        {"M": 64, "kind": "b"},
        {"M": 8, "kind": "c"},
    ]


def test_without_optuna_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"tuning needs optuna.*assay-search\[tune\]"):
        make_tuner(tmp_path / "out", make_space())


def test_all_sweeps_of_a_tuner_share_one_hit_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules: list[HitRule] = []

    class CountedHitRule(HitRule):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            rules.append(self)

    monkeypatch.setattr("assay.bench.sweeps.plan.HitRule", CountedHitRule)
    search = make_tuner(tmp_path / "out", make_space("recall=0.9", budget=2))
    search.run()
    search.scored_trials()
    assert rules == [search.hit_rule]
