"""Tuning: what is drawn is measured as any trial, what is known is taken over, what cannot win is not."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError, MissingExtraError
from assay.indexes.choice.floors import figure, read_floor
from assay.indexes.choice.matched import Probe
from assay.indexes.choice.space import Tuning, drawn_case
from assay.indexes.choice.tuning import Tried, Tuner
from assay.indexes.hits import Hits
from assay.indexes.sweeps.described import describe
from assay.indexes.sweeps.plan import Asking, Build, Case, Entry, Goal, Range
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.sweep import Event, Options, Sweep
from benches import install_others, small

optuna = pytest.importorskip("optuna")
DATA = small()
SPACE = Entry("misbehaving", {"seed": [Range(1, 60)]}, {"rows": [Range(100, 1500)]})


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_others(tmp_path, monkeypatch)


def tuning(*floors: str, objective: str = "qps", entry: Entry = SPACE, **more: Any) -> Tuning:
    rules = tuple(map(read_floor, floors or ("recall=0.9",)))
    usual: dict[str, Any] = {"asking": Asking("batch"), "budget": 3}
    return Tuning((entry,), rules, figure(objective), **usual | more)


def tuner(folder: Path, what: Tuning) -> Tuner:
    described = describe(what.examples())

    def sweeps(cases: Sequence[Case]) -> Sweep:
        return Sweep(DATA, cases, folder, Options(repetitions=1, warmup=0, timeout=60), {}, described)

    return Tuner(what, sweeps)


def looks(*qps: float, best: float = 0.0) -> Callable[[Any], Probe]:
    """Passes with so many queries per second, one after another, and one of the best."""
    left, hits = iter(qps), Hits(np.array([5]), np.array([5]), 5, "strict")
    return lambda other: Probe(hits, next(left) if other is None else best)


def drawn(made: Tuner) -> list[dict[str, Any]]:
    return [dict(one.drawn) for one in made.tried]


def test_indexes_are_drawn_and_their_search_is_found(tmp_path: Path) -> None:
    made = tuner(tmp_path / "out", tuning("recall=0.9", "robustness-0.2=1"))
    found = made.run()
    assert [one.state for one in found.tried] == ["met"] * 3
    assert (found.new, found.ended) == (3, "the budget of 3 is used")
    assert len({one.drawn["0.build.seed"] for one in found.tried}) == 3
    shapes = [one.distribution for one in made.observed() if one.distribution]
    assert [(shape.mean or 0) >= 0.9 for shape in shapes] == [True] * 3
    assert [shape.robustness(0.2).value for shape in shapes] == [1.0] * 3
    assert made.best == max(found.tried, key=lambda one: one.value or 0)


def test_what_was_tried_is_taken_over_and_goes_on_as_if_never_interrupted(tmp_path: Path) -> None:
    whole = tuner(tmp_path / "whole", tuning(budget=5))
    whole.run()
    tuner(tmp_path / "parts", tuning(budget=2)).run()
    again = tuner(tmp_path / "parts", tuning(budget=5))
    found = again.run()
    assert (len(found.tried), found.new) == (5, 3)
    assert drawn(again) == drawn(whole)
    assert tuner(tmp_path / "parts", tuning(budget=5)).run().new == 0


def test_the_best_are_timed_anew_in_turns_and_judged_by_that_alone(tmp_path: Path) -> None:
    made = tuner(tmp_path / "out", tuning(budget=4))
    assert made.run().finalists == 3
    assert list(made.finalists.values()) == [[1], [1], [1]]
    passes = {one.trial.key: one.trial.qps for one in made.observed()}
    assert [found.repetitions for found in passes.values() if found] == [1, 1, 1]
    for one in made.observed():
        (seconds,) = (made.results.repetition(one.trial.key, n).seconds for n in [1])
        assert one.trial.qps is not None
        assert one.trial.qps.median == pytest.approx(40 / seconds)
    others = [one.key for one in made.tried if one.key not in passes]
    assert [len(made.results.repetitions(key)) for key in others if key] == [1]
    again = tuner(tmp_path / "out", tuning(budget=4))
    again.run()
    assert again.finalists == made.finalists
    assert again.tried == made.tried


def test_every_play_off_gives_every_finalist_as_many_new_passes(tmp_path: Path) -> None:
    tuner(tmp_path / "out", tuning(budget=2)).run()
    made = tuner(tmp_path / "out", tuning(budget=3))
    made.run()
    assert list(made.finalists.values()) == [[2], [2], [2]]  # the third has no pass of number 1
    counts = [len(made.results.repetitions(key)) for key in made.finalists]
    assert sorted(counts) == [2, 3, 3]


def test_an_interrupted_play_off_is_held_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(sweep: Sweep) -> None:
        def watch(event: Event) -> None:
            if event.what == "passed":
                raise KeyboardInterrupt

        sweep.options = replace(sweep.options, first=1)
        sweep.run(watch)

    made = tuner(tmp_path / "out", tuning(budget=3))
    monkeypatch.setattr(made, "_in_turns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    again = tuner(tmp_path / "out", tuning(budget=3))
    assert again.run().count("met") == 3
    assert list(again.finalists.values()) == [[2], [2], [2]]


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    def interrupt(number: int, one: Tried) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuner(tmp_path / "out", tuning()).run(interrupt)
    assert tuner(tmp_path / "out", tuning()).run().new == 1


def test_another_seed_draws_others_and_another_question_begins_anew(tmp_path: Path) -> None:
    first, other = tuner(tmp_path / "out", tuning()), tuner(tmp_path / "out", tuning(seed=1))
    assert (first.run().new, other.run().new) == (3, 3)
    assert drawn(first) != drawn(other)
    assert tuner(tmp_path / "out", tuning("recall=0.8")).run().new == 3


def test_a_small_space_is_exhausted(tmp_path: Path) -> None:
    few = Entry("misbehaving", {"seed": [1, 2]}, {"rows": [1500]})
    found = tuner(tmp_path / "out", tuning(entry=few, budget=30)).run()
    assert sorted(one.label for one in found.tried) == [f"misbehaving seed={s} / rows=1500" for s in (1, 2)]
    assert found.ended == "every configuration was tried"


def test_time_that_is_over_ends_the_search(tmp_path: Path) -> None:
    found = tuner(tmp_path / "out", tuning(seconds=1e-9)).run()
    assert (found.tried, found.ended) == ([], "1e-09 s are over")


def test_floors_that_nothing_reaches_are_told(tmp_path: Path) -> None:
    poor = Entry("misbehaving", {"seed": [1, 2]}, {"rows": [Range(100, 200)]})
    made = tuner(tmp_path / "out", tuning("recall=0.99", entry=poor, budget=1))
    (one,) = made.run().tried
    assert (one.state, made.best) == ("missed", None)
    assert one.said.startswith("recall at least 0.99: 0.")
    assert one.label.endswith("rows=200")
    assert 0.5 < one.missed < 1


def test_what_fails_is_told_and_the_search_goes_on(tmp_path: Path) -> None:
    some = Entry("misbehaving", {"fails": ["refuse", ""]}, {"rows": [Range(100, 1500)]})
    found = tuner(tmp_path / "out", tuning(entry=some, budget=2)).run()
    states = {one.drawn["0.build.fails"]: one for one in found.tried}
    assert (states[""].state, states["refuse"].state) == ("met", "failed")
    assert "to my liking" in states["refuse"].said


def test_an_index_above_a_ceiling_is_not_measured(tmp_path: Path) -> None:
    made = tuner(tmp_path / "out", tuning("recall=0.9", "build_seconds=0", budget=2))
    found = made.run()
    assert [one.state for one in found.tried] == ["skipped", "skipped"]
    assert found.tried[0].said.startswith("build_seconds at most 0: ")
    assert Results(tmp_path / "out").keys() == []
    assert not (tmp_path / "out" / "indexes").exists()
    assert tuner(tmp_path / "out", made.tuning).run().new == 0


def test_an_index_far_behind_the_best_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tuner(tmp_path / "out", tuning())
    monkeypatch.setattr(made, "planned", lambda one: one)
    assert made._spare({}, looks()) == ""  # nothing to be behind of yet
    made.tried.append(Tried({}, "the best", "met", value=900.0, qps=900.0))
    said = "400 queries per second with the least search, and the best answers 850"
    assert made._spare({}, looks(300.0, 400.0, 200.0, best=850.0)) == said
    assert made._spare({}, looks(450.0)) == ""
    assert made._spare({}, looks(100.0, 460.0)) == ""  # a stall is not the index's
    assert made._spare({}, looks(300.0, 400.0, 200.0, best=700.0)) == ""  # nor is a slow minute


def test_the_best_is_looked_at_again_where_another_seems_slow(tmp_path: Path) -> None:
    two = Entry("misbehaving", {"seed": [1, 2]}, {"rows": [Range(100, 1500)]})
    made = tuner(tmp_path / "out", tuning(entry=two, budget=1))
    first = made.run().tried[0]
    again = tuner(tmp_path / "out", replace(made.tuning, budget=2))
    again.tried.append(first._replace(qps=1e12))  # as if the machine had been that fast
    seed = 3 - first.drawn["0.build.seed"]
    other = Case(Build("misbehaving", {"seed": seed}), {"rows": 20}, Asking("batch"))
    sweep, seen = again.sweeps([other]), list[str]()
    sweep.run(lambda event: seen.append(event.what), again._spare)
    assert seen[-1] == "done"  # it is not behind at this minute


def test_an_index_that_costs_no_less_than_the_best_is_not_measured(tmp_path: Path) -> None:
    made = tuner(tmp_path / "out", tuning(objective="memory_mb"))
    made.tried.append(Tried({}, "the best", "met", value=3.0, qps=900.0))
    assert made._spare({"memory_bytes": 4 << 20}, looks()) == "memory_mb 4 is no better than 3 of the best"
    assert made._spare({"memory_bytes": 2 << 20}, looks()) == ""
    assert made._spare({"memory_bytes": None}, looks()) == ""


def test_passwords_are_not_written_down(tmp_path: Path) -> None:
    entry = Entry("misbehaving", {"fails": ["http://me:hidden@host"], "api_key": ["hidden"]}, SPACE.search)
    assert "hidden" not in str(tuning(entry=entry).identity())
    assert "100..1500" in str(tuning(entry=entry).identity())


def test_values_are_drawn_by_the_words_of_the_index() -> None:
    entry = Entry(
        "x", {"M": [Range(8, 64)], "kind": ["a", "b"], "n": [3]}, {"ef": [Range(1, 99)], "deep": [1, 2]}
    )
    asked = optuna.trial.FixedTrial({"index": 0, "0.build.M": 12, "0.build.kind": "b", "0.search.deep": 2})
    case = drawn_case(asked, tuning("recall=0.9", "robustness-0.1=0.99", "qps=5", entry=entry))
    assert case.build.parameters == {"M": 12, "kind": "b", "n": 3}
    assert case.search == {"ef": Range(1, 99), "deep": 2}
    assert case.goals == (Goal(0.9), Goal(0.99, 0.1))
    assert asked.distributions["0.build.M"] == optuna.distributions.IntDistribution(8, 64)


def test_a_wide_range_is_drawn_by_its_logarithm() -> None:
    entry = Entry("x", {"nlist": [Range(64, 4096)]})
    asked = optuna.trial.FixedTrial({"index": 0, "0.build.nlist": 100})
    drawn_case(asked, tuning(entry=entry))
    assert asked.distributions["0.build.nlist"] == optuna.distributions.IntDistribution(64, 4096, log=True)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"objective": "recall"}, "what can be tuned for is qps"),
        ({"floors": ["qps=5"]}, "give a floor of recall or robustness"),
        ({"floors": ["recall=0.5", "recall=0.6"]}, "two floors of one figure"),
        ({"entry": Entry("x", {"M": [Range(1, 2), 5]})}, "x: a range stands alone; found M=1..2,5"),
    ],
)
def test_what_cannot_be_tuned_is_refused(what: dict[str, Any], said: str) -> None:
    floors = what.pop("floors", [])
    with pytest.raises(InputError, match=said):
        tuning(*floors, **what)


def test_both_ends_of_every_range_are_checked_first() -> None:
    entry = Entry("x", {"M": [Range(8, 64)], "kind": ["a", "b", "c"]})
    assert [case.build.parameters for case in tuning(entry=entry).examples()] == [
        {"M": 8, "kind": "a"},
        {"M": 64, "kind": "b"},
        {"M": 8, "kind": "c"},
    ]


def test_without_optuna_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"tuning needs optuna.*assay\[tune\]"):
        tuner(tmp_path / "out", tuning())
