"""Scoring of stored passes: each is read once, by one hit rule or by the hits that the sweep stored."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.bench.selection.selection import select_trial
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.scoring import read_trial, read_trials, score_trial, score_trials
from assay.bench.studies.study import Study
from assay.bench.sweeps import plan
from assay.bench.sweeps.cases import IndexEntry, RequestMode, plan_cases
from assay.bench.sweeps.folder import Pass, SweepFolder, pass_from_timing
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.progress import Progress
from assay.bench.sweeps.stored_hits import StoredHits, open_stored_hits
from assay.bench.sweeps.sweep import Sweep
from assay.core.timing import TimedAnswers
from assay.indexes.hits import HitRule
from tests.benches import install_test_engines, small_data

DATA = small_data()
OPTIONS = SweepOptions(repetitions=2, warmup=3, timeout=60)


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_test_engines(tmp_path, monkeypatch)


def make_sweep(folder: Path, *modes: str) -> Sweep:
    entry = IndexEntry("misbehaving", {}, {"rows": [100, 1500]})
    cases = plan_cases([entry], [RequestMode(mode) for mode in modes or ("batch",)])
    return Sweep(DATA, cases, folder, OPTIONS)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Return a counter of the passes that are read from now on."""
    reads: Counter[tuple[str, int]] = Counter()
    read_pass = SweepFolder.read_pass

    def count(folder: SweepFolder, key: str, number: int) -> Pass:
        reads[key, number] += 1
        return read_pass(folder, key, number)

    monkeypatch.setattr(SweepFolder, "read_pass", count)
    return reads


def count_hit_rules(monkeypatch: pytest.MonkeyPatch) -> list[HitRule]:
    """Return a list of the hit rules that sweeps build from now on."""
    rules: list[HitRule] = []

    class CountedHitRule(HitRule):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            rules.append(self)

    monkeypatch.setattr(plan, "HitRule", CountedHitRule)
    return rules


def test_a_sweep_builds_its_hit_rule_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = count_hit_rules(monkeypatch)
    sweep = make_sweep(tmp_path / "out", "single", "batch")
    sweep.run()
    read_trials(sweep.folder, sweep.hit_rule)
    assert rules == [sweep.hit_rule]


def test_a_sweep_reads_no_pass_that_it_has_just_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, steps = count_reads(monkeypatch), list[Progress]()
    make_sweep(tmp_path / "out").run(steps.append)
    figures = [step.figures for step in steps if step.kind == "passed"]
    assert len(figures) == 4
    assert all(
        scored_trial is not None and scored_trial.qps and scored_trial.recall is not None
        for scored_trial in figures
    )
    assert reads == {}


def test_known_trials_are_reported_without_reading_their_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sweep(tmp_path / "out").run()
    reads, steps = count_reads(monkeypatch), list[Progress]()
    make_sweep(tmp_path / "out").run(steps.append)
    assert [(step.kind, step.figures) for step in steps] == [("known", None)] * 2
    assert reads == {}


def test_figures_of_a_resumed_trial_include_its_earlier_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sweep(tmp_path / "out").run()
    reads, steps = count_reads(monkeypatch), list[Progress]()
    resumed = make_sweep(tmp_path / "out")
    resumed.options = replace(OPTIONS, repetitions=4)
    resumed.run(steps.append)
    assert [step.number for step in steps if step.kind == "passed"] == [3, 3, 4, 4]
    assert set(reads.values()) == {1}
    assert {number for _, number in reads} == {0, 1}


def test_every_pass_is_read_once_for_trials_hits_and_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = make_sweep(tmp_path / "out")
    sweep.run()
    reads = count_reads(monkeypatch)
    scored_trials = score_trials(sweep.folder, sweep.hit_rule)
    assert [len(trial.hits.counts) for trial in scored_trials if trial.hits is not None] == [40, 40]
    assert [trial.returned_ids.shape for trial in scored_trials if trial.returned_ids is not None] == [
        (40, 5)
    ] * 2
    assert sorted(reads.values()) == [1] * 4


def test_stored_hits_score_as_the_hit_rule_does(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "out", "single", "batch")
    sweep.run()
    stored = open_stored_hits(sweep.folder, DATA.truth)
    assert read_trials(sweep.folder, stored) == read_trials(sweep.folder, sweep.hit_rule)


def test_a_trial_is_selected_from_stored_hits_as_from_the_vectors(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "out")
    sweep.run()

    def select(scored_trials: list[ScoredTrial]) -> dict[str, Any]:
        study = Study(tuple(scored_trials), sweep.folder.metadata(), None, "out")
        return select_trial(study, ["recall=0.9"], "qps").to_dict()

    by_rule = select(score_trials(sweep.folder, sweep.hit_rule))
    assert select(score_trials(sweep.folder, open_stored_hits(sweep.folder))) == by_rule
    assert by_rule["winner"] == "misbehaving / rows=1500"


def test_without_the_truth_every_query_counts(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "out")
    sweep.run()
    assert open_stored_hits(sweep.folder).out_of.tolist() == [5] * 40


@pytest.mark.parametrize("second", [{"k": 3}, {"policy": "strict"}])
def test_stored_hits_are_only_those_of_the_sweep(tmp_path: Path, second: dict[str, Any]) -> None:
    sweep = make_sweep(tmp_path / "out")
    sweep.run()
    stored = replace(open_stored_hits(sweep.folder), **second)
    (scored_trial, _) = score_trials(sweep.folder, stored)
    assert (scored_trial.hits, scored_trial.trial.measures) == (None, {})
    assert "are stored: no score" in scored_trial.trial.note


def test_a_query_that_was_not_sent_has_no_stored_hits() -> None:
    stored = StoredHits(5, "strict", np.array([5, 0, 5]))
    hits = stored.select(np.array([1, 2]), np.array([0, 4]))
    assert (hits.counts.tolist(), hits.out_of.tolist()) == ([0, 0, 4], [0, 0, 5])


def test_a_trial_without_a_hit_source_has_only_timings(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path / "out")
    sweep.run()
    scored_trial = score_trial(sweep.folder, sweep.planned_trials[0].key, None)
    assert (scored_trial.hits, scored_trial.trial.measures) == (None, {})
    assert scored_trial.trial.qps is not None


@pytest.mark.parametrize(("rate", "median"), [(None, None), (120.0, 120.0)])
def test_a_capacity_that_no_rate_meets_has_no_latency(
    rate: float | None, median: float | None, tmp_path: Path
) -> None:
    folder = SweepFolder(tmp_path)
    folder.put_trial("a", {"engine": "slow", "mode": "capacity", "k": 1})
    closed = TimedAnswers(np.zeros((2, 1), np.int64), 0.5, np.array([5, 7]))
    folder.put_pass("a", 0, pass_from_timing(closed, 2, {"capacity": rate, "probes": []}))
    trial = read_trial(folder, "a", None)
    assert (trial.capacity and trial.capacity.median) == median
    assert bool(trial.latency) == bool(trial.qps) == (median is not None)
