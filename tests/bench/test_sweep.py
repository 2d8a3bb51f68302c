"""Sweeps: what is finished is not run again, what fails costs one trial, what is kept is scored anew."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.bench.studies.scoring import read_trial, read_trials
from assay.bench.sweeps import passes
from assay.bench.sweeps.cases import IndexBuild, IndexEntry, RequestMode, TrialCase, plan_cases
from assay.bench.sweeps.folder import Pass, SweepFolder
from assay.bench.sweeps.identity import content_key
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.pass_figures import score_pass
from assay.bench.sweeps.passes import run_pass
from assay.bench.sweeps.progress import Progress
from assay.bench.sweeps.restartable_index import RestartableIndex
from assay.bench.sweeps.runner import _fits
from assay.bench.sweeps.sweep import Sweep
from assay.core.errors import ConfigurationError, EngineError, FormatError, InputError, StoreError
from assay.core.timing import TimedAnswers
from assay.core.vectors import InMemoryVectors
from assay.indexes.hits import HitRule
from assay.indexes.hosting.hosted import HostedIndex
from assay.stats.intervals import estimate_share
from tests.benches import OTHERS, install_test_engines, small_data

DATA = small_data()
QUICK = SweepOptions(repetitions=2, warmup=3, timeout=60)
MORE = replace(QUICK, warmup=4)


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_test_engines(tmp_path, monkeypatch)


def entry(
    build: dict[str, Any] | None = None, search: dict[str, Any] | None = None, name: str = "misbehaving"
) -> IndexEntry:
    return IndexEntry(name, build or {}, search or {"rows": [100, 1500]})


def sweep(
    folder: Path, *entries: IndexEntry, options: SweepOptions = QUICK, modes: tuple[str, ...] = ("batch",)
) -> Sweep:
    cases = plan_cases(entries or [entry()], [RequestMode(mode) for mode in modes])
    return Sweep(DATA, cases, folder, options)


def make_hit_rule(k: int = 5, policy: str = "strict") -> HitRule:
    return HitRule(DATA.truth, k, DATA.base, DATA.queries, DATA.metric, policy)


def by_search(folder: Path) -> dict[str, Any]:
    return {str(dict(t.search)): t for t in read_trials(SweepFolder(folder), make_hit_rule())}


def parts(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("repetition-*.parquet")}


def test_every_choice_of_parameters_is_a_trial_in_the_words_it_was_given(tmp_path: Path) -> None:
    cases = plan_cases(
        [entry({"seed": [1, 2]}, {"rows": [10, 20]})], [RequestMode("single"), RequestMode("batch")]
    )
    assert len(cases) == 8
    assert cases[0].build == IndexBuild("misbehaving", {"seed": 1})
    assert cases[0].search == {"rows": 10}


def test_names_of_settings_do_not_collide() -> None:
    settings: list[dict[str, Any]] = [
        {"a": 0.1},
        {"a": [0, 1]},
        {"a": 1},
        {"a": "1"},
        {"a": True},
        {"a": 1.0},
    ]
    assert len({content_key(item) for item in settings}) == len(settings)


def test_a_sweep_measures_and_keeps_every_answer(tmp_path: Path) -> None:
    sweep(tmp_path / "out", modes=("single", "batch")).run()
    results = SweepFolder(tmp_path / "out")
    trials = read_trials(results, make_hit_rule())
    assert [t.status for t in trials] == ["done"] * 4
    exact = [t for t in trials if t.search == {"rows": 1500}]
    assert [t.recall.value for t in exact if t.recall] == [1.0, 1.0]
    assert [t.indexed for t in trials] == [True] * 4
    item = next(t for t in exact if t.mode == "single")
    assert (item.samples, item.errors, item.zero_hits) == (80, 0, 0)
    timed_pass = results.read_pass(item.key, 0)
    assert (np.sort(timed_pass.ids) == np.sort(DATA.truth.positions[:, :5])).all()
    assert item.qps is not None
    assert item.qps.repetitions == 2
    assert next(t for t in exact if t.mode == "batch").latency == {}


def test_a_later_measure_is_a_re_score(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    results = SweepFolder(tmp_path / "out")
    poor = next(t for t in read_trials(results, make_hit_rule()) if t.search == {"rows": 100})
    trial = read_trial(results, poor.key, make_hit_rule(k=1))
    assert trial.k == 1
    ids = results.read_pass(poor.key, 0).ids
    assert trial.recall is not None
    assert trial.recall.value == (ids[:, 0] == DATA.truth.positions[:, 0]).mean()


def test_a_finished_trial_is_never_run_twice(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    before = parts(tmp_path / "out")
    steps: list[Progress] = []
    sweep(tmp_path / "out").run(steps.append)
    assert parts(tmp_path / "out") == before
    assert [event.kind for event in steps] == ["known", "known"]


def test_the_interpreter_of_an_engine_is_kept(tmp_path: Path) -> None:
    theirs = IndexEntry("misbehaving", {}, {"rows": [1500]}, python=sys.executable)
    sweep(tmp_path / "out", theirs, entry({}, {"rows": [1500]})).run()
    results = SweepFolder(tmp_path / "out")
    stored = {(results.trial_record(key) or {})["python"] for key in results.trial_keys()}
    assert stored == {None, sys.executable}


def test_where_no_parameter_names_a_file_nothing_of_files_is_in_the_key(tmp_path: Path) -> None:
    this_sweep = sweep(tmp_path / "out", entry({"seed": [1]}, {"rows": [9]}))
    (cases,) = this_sweep.planned_trials
    version = this_sweep.engines[cases.case.build.engine, None].version
    same = {**DATA.identity(), "version": version, "machine": this_sweep.machine}
    assert cases.key == content_key(same | cases.case.identity())


def test_more_repetitions_add_to_those_there_are(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    before = parts(tmp_path / "out")
    sweep(tmp_path / "out", options=SweepOptions(repetitions=3, warmup=0)).run()
    after = parts(tmp_path / "out")
    assert len(after) == len(before) + 2
    assert {name: after[name] for name in before} == before


def test_other_data_are_other_trials(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    data = small_data(k=3)
    Sweep(data, plan_cases([entry()], [RequestMode("batch")]), tmp_path / "out", QUICK).run()
    assert len(SweepFolder(tmp_path / "out").trial_keys()) == 4


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("crash", "SIGSEGV"),
        ("exit", "no licence found"),
        ("hang", "did not finish within"),
        ("refuse", "to my liking"),
    ],
)
def test_a_search_that_fails_costs_one_trial(
    tmp_path: Path, how: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = HostedIndex.receive

    def impatient(self: HostedIndex, name: str) -> Any:  # with searches alone: to start may take its time
        self.timeout = 5 if name == "search_batch" and how == "hang" else 60
        return answer(self, name)

    monkeypatch.setattr(HostedIndex, "receive", impatient)
    bad = entry({}, {"fails": ["", how], "rows": [1500]})
    options = SweepOptions(repetitions=2, warmup=0, timeout=60)
    sweep(tmp_path / "out", bad, options=options).run()
    good, failed = (by_search(tmp_path / "out")[str({"fails": f, "rows": 1500})] for f in ("", how))
    assert (good.status, good.recall.value) == ("done", 1.0)
    assert failed.status == "failed"
    assert message in failed.reason
    assert failed.recall is None


def test_a_build_that_fails_costs_its_own_trials(tmp_path: Path) -> None:
    options = SweepOptions(repetitions=1, warmup=0, memory=400 << 20, timeout=60)
    sweep(tmp_path / "out", entry({"fails": ["memory", "crash", ""]}), options=options).run()
    trials = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    states = sorted((t.build["fails"], t.status) for t in trials)
    assert states == [("", "done")] * 2 + [("crash", "failed")] * 2 + [("memory", "failed")] * 2
    assert any("of memory; the limit is 400 MB" in t.reason for t in trials)


def test_a_failed_trial_is_run_again_only_when_asked(tmp_path: Path) -> None:
    bad = entry({}, {"fails": ["refuse"]})
    sweep(tmp_path / "out", bad).run()
    steps: list[Progress] = []
    sweep(tmp_path / "out", bad).run(steps.append)
    assert [event.kind for event in steps] == ["known"]
    sweep(tmp_path / "out", bad, options=SweepOptions(repetitions=1, retry=True)).run(steps.append)
    assert [event.kind for event in steps[1:]] == ["building", "built", "passing", "failed"]


def test_a_failure_costs_one_pass_when_failed_trials_are_run_again(tmp_path: Path) -> None:
    steps: list[Progress] = []
    options = SweepOptions(repetitions=3, warmup=0, retry=True)
    sweep(tmp_path / "out", entry({}, {"fails": ["refuse"]}), options=options).run(steps.append)
    assert [event.kind for event in steps].count("failed") == 1


def test_a_trial_with_all_its_passes_is_done_even_if_nobody_came_to_say_so(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    results = SweepFolder(tmp_path / "out")
    key = results.trial_keys()[0]
    results.put_trial(key, (results.trial_record(key) or {}) | {"status": "begun"})  # as a kill leaves it
    sweep(tmp_path / "out").run()
    assert (results.trial_record(key) or {})["status"] == "done"


def test_queries_that_were_never_asked_are_left_out() -> None:
    request_modes = np.arange(10)
    timed_pass = Pass(request_modes, DATA.truth.positions[:10, :5], np.empty(0, np.int64), 1.0, 0, {})
    recall = score_pass(timed_pass, make_hit_rule()).recall
    assert recall[:10].tolist() == [1.0] * 10
    assert np.isnan(recall[10:]).all()


def test_a_saved_index_that_is_damaged_is_built_again(tmp_path: Path) -> None:
    sweep(tmp_path / "out", options=SweepOptions(repetitions=1, keep_indexes=True)).run()
    saved = next((tmp_path / "out" / "indexes").glob("*/vectors.npy"))
    saved.write_bytes(b"torn")
    steps: list[Progress] = []
    sweep(tmp_path / "out", options=SweepOptions(repetitions=2, keep_indexes=True)).run(steps.append)
    assert [event.kind for event in steps].count("done") == 2


def test_an_engine_that_only_pretends_is_marked(tmp_path: Path) -> None:
    sweep(tmp_path / "out", entry(name="pretending", search={"rows": [10]})).run()
    trials = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    assert [(t.status, t.indexed) for t in trials] == [("done", False)]


def test_repetitions_go_round_all_trials(tmp_path: Path) -> None:
    steps: list[Progress] = []
    sweep(tmp_path / "out", entry({"seed": [1, 2]})).run(steps.append)
    passes = [event.number for event in steps if event.kind == "passed"]
    assert passes == [1] * 4 + [2] * 4
    position = [event.kind for event in steps].index("passed")
    assert "building" not in [event.kind for event in steps[position:]]


def test_indexes_live_together_only_where_there_is_room(tmp_path: Path) -> None:
    steps: list[Progress] = []
    options = SweepOptions(repetitions=2, warmup=0, total_memory=1)
    sweep(tmp_path / "out", entry({"seed": [1, 2]}), options=options).run(steps.append)
    passes = [event.number for event in steps if event.kind == "passed"]
    assert passes == [1, 1, 2, 2] * 2


def test_indexes_are_deleted_when_their_trials_are_done_and_kept_when_asked(tmp_path: Path) -> None:
    sweep(tmp_path / "a").run()
    sweep(tmp_path / "b", options=SweepOptions(repetitions=1, keep_indexes=True)).run()
    assert not (tmp_path / "a" / "indexes").exists()
    assert list((tmp_path / "b" / "indexes").glob("*/vectors.npy"))
    assert not (tmp_path / "b" / "vectors").exists()


@pytest.mark.parametrize("keep", [True, False])
def test_an_index_that_an_interruption_left_behind_goes_with_the_next_run_and_one_that_is_kept_stays(
    keep: bool, tmp_path: Path
) -> None:
    def interrupt(event: Progress) -> None:
        if event.kind == "done":
            raise KeyboardInterrupt

    two = entry({"seed": [1, 2]}, {"rows": [1500]})
    if keep:
        sweep(tmp_path / "out", two, options=replace(QUICK, keep_indexes=True)).run()
    else:
        with pytest.raises(KeyboardInterrupt):
            sweep(tmp_path / "out", two).run(interrupt)
    assert len(list((tmp_path / "out" / "indexes").iterdir())) == 2
    sweep(tmp_path / "out", two).run()
    assert len(list((tmp_path / "out").glob("indexes/*"))) == 2 * keep


def test_there_is_room_for_an_index_where_one_as_large_as_the_largest_fits() -> None:
    assert [_fits(sizes, 150) for sizes in ([], [200], [100], [75], [50, 50], [50, 75])] == [
        True, False, False, True, True, False
    ]  # fmt: skip


def test_an_index_that_cannot_be_opened_any_more_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Opening(HostedIndex):
        def __init__(self, *settings: Any, **named: Any) -> None:
            processes.append(self)
            if len(processes) == 1:
                raise EngineError("IOException: not enough bytes")
            super().__init__(*settings, **named)

    sweep(tmp_path / "out", options=replace(QUICK, keep_indexes=True)).run()
    processes: list[HostedIndex] = []
    monkeypatch.setattr("assay.bench.sweeps.restartable_index.HostedIndex", Opening)
    sweep(tmp_path / "out", options=replace(QUICK, repetitions=3)).run()
    assert len(processes) == 2
    assert {t.status for t in read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())} == {"done"}


def test_an_open_loop_says_what_was_offered_and_whether_it_kept_up(tmp_path: Path) -> None:
    request_modes = [RequestMode("open", rate=200, seconds=0.5), RequestMode("open", rate=1e6, seconds=0.001)]
    options = replace(QUICK, repetitions=3)  # a machine that stands still for a moment spoils one of them
    Sweep(DATA, plan_cases([entry({}, {"rows": [1500]})], request_modes), tmp_path / "out", options).run()
    trials = {t.offered: t for t in read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())}
    assert not trials[200].saturated
    assert trials[1e6].saturated
    assert trials[1e6].latency["p99_ms"] > trials[200].latency["p50_ms"]  # type: ignore[operator]
    assert trials[200].samples == 3000  # enough for a p99


def test_clients_share_a_process_and_every_query_is_asked_once(tmp_path: Path) -> None:
    request_modes = [RequestMode("single", clients=3)]
    Sweep(DATA, plan_cases([entry({}, {"rows": [1500]})], request_modes), tmp_path / "out", QUICK).run()
    trials = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    assert [(t.recall.value, t.samples, t.request["clients"]) for t in trials if t.recall] == [(1.0, 80, 3)]


@pytest.mark.parametrize(
    "mode", [RequestMode("single", clients=3), RequestMode("open", rate=500, clients=3, seconds=0.1)]
)
def test_clients_of_an_engine_that_keeps_its_process_to_itself_have_processes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: RequestMode
) -> None:
    together, processes = passes.merge_timings, list[int]()

    def merge_timings(parts: list[TimedAnswers]) -> TimedAnswers:
        processes.append(len(parts))
        return together(parts)

    monkeypatch.setattr(passes, "merge_timings", merge_timings)
    Sweep(
        DATA, plan_cases([IndexEntry("holding", {}, {"rows": [1500]})], [mode]), tmp_path / "out", QUICK
    ).run()
    (trial,) = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    assert (trial.status, set(processes)) == ("done", {3})
    assert trial.recall is not None
    assert trial.recall.value == 1.0  # every answer is that of its own query
    assert (SweepFolder(tmp_path / "out").read_pass(trial.key, 0).latencies > 0).all()


def test_an_engine_that_can_be_had_once_only_is_not_asked_by_several(tmp_path: Path) -> None:
    cases = plan_cases([IndexEntry("unloadable")], [RequestMode("single", clients=2), RequestMode("single")])
    Sweep(DATA, cases, tmp_path / "out", QUICK).run()
    trials = {t.request["clients"]: t for t in read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())}
    assert trials[1].status == "done"
    assert "unloadable serves one client per process and cannot be loaded into a second" in trials[2].reason


def test_everything_wrong_with_a_plan_is_said_at_once(tmp_path: Path) -> None:
    wrong = [
        entry({"sed": [1]}),
        entry({}, {"rows": ["many"]}),
        IndexEntry("no-such-engine"),
        IndexEntry("puck"),
    ]
    with pytest.raises(ConfigurationError) as raised:
        sweep(tmp_path / "out", *wrong)
    message = str(raised.value)
    assert "misbehaving build.sed: there is no such parameter; did you mean seed?" in message
    assert "misbehaving search.rows: expected int, found 'many'" in message
    assert "there is no engine 'no-such-engine'" in message
    assert "puck: the engine puck needs" in message
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_taken_away_ends_the_sweep(tmp_path: Path) -> None:
    def watch(event: Progress) -> None:
        if event.kind == "passing":
            shutil.rmtree(tmp_path / "out", ignore_errors=True)

    with pytest.raises(StoreError, match="out was deleted during the sweep, and the results in it are lost"):
        sweep(tmp_path / "out").run(watch)


def test_numbers_that_no_engine_takes_are_told(tmp_path: Path) -> None:
    huge = replace(DATA, base=InMemoryVectors(DATA.base.to_matrix().astype(np.float64) * 1e60))
    with pytest.raises(InputError, match="engines use single precision, but there are numbers beyond"):
        Sweep(huge, plan_cases([entry()], [RequestMode("batch")]), tmp_path / "out", QUICK).run()


def test_that_all_queries_are_alike_does_not_make_a_recall_sure(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    trial = by_search(tmp_path / "out")[str({"rows": 1500})]
    assert trial.recall == estimate_share(40, 40) == trial.robustness(0.9)


def test_a_score_at_another_k_says_what_was_asked(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    notes = [{t.note for t in read_trials(SweepFolder(tmp_path / "out"), make_hit_rule(k))} for k in (5, 3)]
    assert notes == [{""}, {"5 neighbors were requested"}]


def test_two_sweeps_do_not_run_in_one_folder(tmp_path: Path) -> None:
    first = sweep(tmp_path / "out")
    with first.folder.lock(), pytest.raises(InputError, match="another sweep is running in this folder"):
        sweep(tmp_path / "out").run()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    item = next((tmp_path / "out").rglob("repetition-0.parquet"))
    item.write_bytes(b"PAR1")
    with pytest.raises(FormatError, match=r"repetition-0\.parquet: cannot be read"):
        read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())


@pytest.mark.parametrize("content", ["{}", "[]", "{"])
def test_a_damaged_trial_is_named_and_measured_anew_when_it_is_deleted(tmp_path: Path, content: str) -> None:
    sweep(tmp_path / "out").run()
    item = next((tmp_path / "out").rglob("trial.json"))
    item.write_text(content)
    with pytest.raises(FormatError, match=r"trial\.json: is damaged: .*; delete it and run the sweep again"):
        sweep(tmp_path / "out").run()
    item.unlink()
    steps: list[Progress] = []
    sweep(tmp_path / "out").run(steps.append)
    assert [event.kind for event in steps if not event.kind.startswith("pass")] == [
        "known",
        "building",
        "built",
        "done",
    ]
    assert [t.status for t in read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())] == ["done", "done"]


def test_a_damaged_sweep_file_is_named_and_made_anew_when_it_is_deleted(tmp_path: Path) -> None:
    this_sweep = sweep(tmp_path / "out")
    this_sweep.run()
    item = tmp_path / "out" / "sweep.json"
    before = item.read_text()
    item.write_text("{}")
    message = "it has no data and sources and options; delete it"
    with pytest.raises(FormatError, match=rf"sweep\.json: is damaged: {message}"):
        SweepFolder(tmp_path / "out").metadata()
    item.unlink()
    this_sweep.run()
    assert item.read_text() == before


def test_where_the_data_lie_is_kept_when_they_moved_and_nothing_is_measured(tmp_path: Path) -> None:
    cases, before = plan_cases([entry()], [RequestMode("batch")]), {"base": "before.fbin"}
    Sweep(DATA, cases, tmp_path / "out", QUICK, before).run()
    for options, sources, stored in ((QUICK, {}, before), (MORE, {"base": "now.fbin"}, {"base": "now.fbin"})):
        Sweep(DATA, cases, tmp_path / "out", options, sources).run()
        about = SweepFolder(tmp_path / "out").metadata()
        assert (about["sources"], about["options"]["warmup"]) == (stored, QUICK.warmup)


KILLED = """
import os
import signal
import sys
from threading import Timer
sys.path[:0] = {paths!r}
from tests.benches import small_data
from assay.bench.sweeps.cases import IndexEntry, RequestMode, plan_cases
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.sweep import Sweep

kind, _, pause = sys.argv[2].partition(":")

def watch(progress):
    if progress.kind == kind:
        Timer(float(pause), os.kill, (os.getpid(), signal.SIGKILL)).start()

entries = [IndexEntry("misbehaving", {{"seed": [1, 2]}}, {{"rows": [50, 300, 1500]}})]
cases = plan_cases(entries, [RequestMode("batch"), RequestMode("single")])
Sweep(small_data(), cases, sys.argv[1], SweepOptions(5, 3)).run(watch)
"""


def run_killed_sweep(out: Path, when: str = "") -> int:
    """How a sweep ended that was killed some seconds after the first event of a kind, or was not."""
    code = KILLED.format(paths=[str(OTHERS.parent)])
    source = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join([source, os.environ["PYTHONPATH"]])
    command = [sys.executable, "-c", code, str(out), when]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, timeout=300).returncode


KILLS = (
    ["building:0", "building:0.2", "building:0.4", "built:0", "built:0.1", "passing:0"]  # before any pass
    + [f"passed:{0.003 * number}" for number in range(4)]
    + ["building:0.3", "built:0.01", "passing:0.2", "done:0", "done:0.002"]
)


def test_a_sweep_killed_ten_times_and_resumed_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run_killed_sweep(whole) == 0
    stored: dict[str, int] = {}
    between = 0  # kills after the first pass and before the last
    for when in KILLS:
        assert run_killed_sweep(killed, when) == -signal.SIGKILL
        now = parts(killed)
        assert {name: now[name] for name in stored} == stored  # what was finished is not touched again
        between += len(stored) < len(now) < len(parts(whole))
        stored = now
    assert between
    assert run_killed_sweep(killed) == 0
    assert parts(killed).keys() == parts(whole).keys()
    first, second = (read_trials(SweepFolder(folder), make_hit_rule()) for folder in (whole, killed))
    assert [t.recall for t in first] == [t.recall for t in second]
    assert {t.status for t in second} == {"done"}
    for item in first:
        for number in range(5):
            pair = [SweepFolder(folder).read_pass(item.key, number).ids for folder in (whole, killed)]
            assert (pair[0] == pair[1]).all()
    assert not list(killed.rglob("*.part"))


FEW = """
from misbehaving import Misbehaving

class Few(Misbehaving):
    def set_search(self, *, rows: int = 1500, lacks: int = 0):
        super().set_search(rows=rows)
        self.lacks = lacks

    def search(self, queries, k):
        return super().search(queries, k)[self.lacks:]
"""


def install(folder: Path, name: str, code: str) -> None:
    """Make an engine of a module of its own known."""
    (folder / f"{name}.py").write_text(code)
    with open(folder / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write(f"{name} = {name}:Engine\n")


RARE = """
from misbehaving import Misbehaving

class Engine(Misbehaving):
    asked = 0

    def search(self, queries, k):
        self.asked += 1
        if len(queries) == 1 and self.asked % 3 == 0:
            raise TimeoutError("server busy")
        return super().search(queries, k)
"""


def test_a_search_that_fails_while_warming_up_costs_nothing_and_one_that_is_timed_is_counted(
    tmp_path: Path,
) -> None:
    install(tmp_path, "rare", RARE)
    sweep(tmp_path / "out", entry({}, {"rows": [1500]}, "rare"), modes=("single",)).run()
    (trial,) = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    assert (trial.status, trial.samples, trial.errors) == ("done", 53, 27)


UNASKED = """
import os
from misbehaving import Misbehaving

class Engine(Misbehaving):
    def search(self, queries, k):
        os._exit(7)
"""


def test_an_engine_that_fails_before_anything_is_asked_of_it_is_told_with_what_it_was_asked(
    tmp_path: Path,
) -> None:
    install(tmp_path, "unasked", UNASKED)
    sweep(tmp_path / "out", entry({}, {"rows": [1500]}, "unasked"), modes=("single",)).run()
    (trial,) = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    check = "the check for brute force (256 hard queries, smallest search)"
    assert trial.reason == f"{check} failed: the process ended during search_batch (exit 7)"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import ctypes; ctypes.string_at(0)", "the process ended during describe (killed by SIGSEGV)"),
        (
            "from assay.indexes.index import Index\nclass Engine(Index): build = print",
            "the engine broken of others (broken:Engine) has no search: "
            "expected the methods build(vectors) and search(queries, k)",
        ),
        (
            "import no_such_library",
            "the engine broken of others (broken:Engine) cannot be loaded: "
            "ModuleNotFoundError: No module named 'no_such_library'",
        ),
    ],
)
def test_an_engine_that_fails_when_it_is_loaded_costs_its_own_trials(
    tmp_path: Path, code: str, message: str
) -> None:
    install(tmp_path, "broken", code)
    cases = entry({"a": [1, 2]}, {"b": [3]}, "broken"), entry({}, {"rows": [1500]})
    sweep(tmp_path / "out", *cases).run()
    trials = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    assert [(t.status, t.reason) for t in trials if t.engine == "misbehaving"] == [("done", "")]
    assert [(t.status, t.reason) for t in trials if t.engine == "broken"] == [("failed", message)] * 2


def test_a_full_disk_ends_the_sweep_and_is_no_fault_of_an_engine(small_disk: Path) -> None:
    ballast, out = small_disk / "ballast", small_disk / "out"
    for room in (2_000, 30_000, 90_000):  # for nothing, for the vectors, for an index
        used = shutil.disk_usage(small_disk)
        ballast.write_bytes(bytes(max(0, used.free - room)))
        with pytest.raises(StoreError, match=r"No space left on device|free disk space"):
            sweep(out, entry({"seed": [1, 2, 3]}, {"rows": [100, 1500]})).run()
        ballast.unlink()
        assert "failed" not in [t.status for t in read_trials(SweepFolder(out), make_hit_rule())]
    done = sweep(out, entry({"seed": [1, 2, 3]}, {"rows": [100, 1500]}))
    done.run()
    assert {t.status for t in read_trials(SweepFolder(out), make_hit_rule())} == {"done"}


def test_an_entry_point_that_is_no_engine_says_whose_it_is(tmp_path: Path) -> None:
    install(tmp_path, "broken", "Engine = 7")
    sweep(tmp_path / "out", entry({}, {"b": [3]}, "broken")).run()
    trials = read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    assert (
        "the engine broken of others (broken:Engine) is not an engine: expected a subclass"
        in trials[0].reason
    )


def test_an_interpreter_that_cannot_host_an_engine_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no NumPy here\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(ConfigurationError, match=r"the process ended .*\(exit 1\): no NumPy here"):
        sweep(tmp_path / "out", entry(), IndexEntry("pretending", python=str(python)))
    assert not (tmp_path / "out").exists()


def test_what_an_earlier_trial_printed_is_not_the_reason_of_a_later_one(tmp_path: Path) -> None:
    index = RestartableIndex(
        IndexBuild("misbehaving", {}), "a", "l2", DATA.base, SweepFolder(tmp_path / "out"), QUICK
    )
    index.start(lambda hosted: None)
    for how, message in (("refuse", "ValueError: .* to my liking"), ("crash", r"\(killed by SIGSEGV\)$")):
        case = TrialCase(IndexBuild("misbehaving", {}), {"fails": how}, RequestMode("batch"))
        with pytest.raises(EngineError, match=message):
            run_pass(index, case, DATA.queries, 5, warmup=0, number=0)
    index.close()


@pytest.mark.parametrize("mode", ["batch", "single"])
def test_an_engine_that_quits_while_warming_up_leaves_no_answer_to_be_taken_for_another(
    tmp_path: Path, mode: str
) -> None:
    index = RestartableIndex(
        IndexBuild("misbehaving", {}), "a", "l2", DATA.base, SweepFolder(tmp_path / "out"), QUICK
    )
    index.start(lambda hosted: None)
    cases = [
        TrialCase(IndexBuild("misbehaving", {}), {"fails": how}, RequestMode(mode)) for how in ("quit", "")
    ]
    with pytest.raises(EngineError, match="SystemExit: enough for today"):
        run_pass(index, cases[0], DATA.queries, 5, warmup=1, number=0)
    assert len(run_pass(index, cases[1], DATA.queries, 5, warmup=1, number=0).ids) == len(DATA.queries)
    index.close()


def test_answers_to_fewer_queries_than_were_asked_cost_the_trial(tmp_path: Path) -> None:
    (tmp_path / "few.py").write_text(FEW)
    with open(tmp_path / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write("few = few:Few\n")
    request_modes = entry({}, {"lacks": [0, 1], "rows": [1500]}, "few")
    options = SweepOptions(repetitions=1, warmup=0, timeout=60)
    sweep(tmp_path / "out", request_modes, options=options, modes=("single", "batch")).run()
    trials = {
        (t.search["lacks"], t.mode): t for t in read_trials(SweepFolder(tmp_path / "out"), make_hit_rule())
    }
    assert [trials[0, mode].status for mode in ("single", "batch")] == ["done", "done"]
    assert [trials[1, mode].status for mode in ("single", "batch")] == ["failed", "failed"]
    assert "search returned shape (39, 5); expected positions of shape (40, 5)" in trials[1, "batch"].reason
    assert "search returned shape (0, 5); expected positions of shape (1, 5)" in trials[1, "single"].reason
