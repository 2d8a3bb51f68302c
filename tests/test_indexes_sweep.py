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

from assay.core.errors import ConfigurationError, EngineError, FormatError, InputError, StoreError
from assay.core.vectors import Held
from assay.indexes.hits import Judge
from assay.indexes.hosting.hosted import Hosted
from assay.indexes.hosting.timing import Timed
from assay.indexes.sweeps import running
from assay.indexes.sweeps.living import Living
from assay.indexes.sweeps.plan import Asking, Build, Case, Entry, cases, name_of
from assay.indexes.sweeps.results import Repetition, Results
from assay.indexes.sweeps.running import run
from assay.indexes.sweeps.summary import scored, trial, trials
from assay.indexes.sweeps.sweep import Event, Options, Sweep, _fits
from assay.stats.intervals import wilson
from benches import OTHERS, install_others, small

DATA = small()
QUICK = Options(repetitions=2, warmup=3, timeout=60)
MORE = replace(QUICK, warmup=4)


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_others(tmp_path, monkeypatch)


def entry(
    build: dict[str, Any] | None = None, search: dict[str, Any] | None = None, name: str = "misbehaving"
) -> Entry:
    return Entry(name, build or {}, search or {"rows": [100, 1500]})


def sweep(
    folder: Path, *entries: Entry, options: Options = QUICK, modes: tuple[str, ...] = ("batch",)
) -> Sweep:
    planned = cases(entries or [entry()], [Asking(mode) for mode in modes])
    return Sweep(DATA, planned, folder, options)


def judge(k: int = 5, policy: str = "strict") -> Judge:
    return Judge(DATA.truth, k, DATA.base, DATA.queries, DATA.metric, policy)


def by_search(folder: Path) -> dict[str, Any]:
    return {str(dict(t.search)): t for t in trials(Results(folder), judge())}


def parts(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("repetition-*.parquet")}


def test_every_choice_of_parameters_is_a_trial_in_the_words_it_was_given(tmp_path: Path) -> None:
    made = cases([entry({"seed": [1, 2]}, {"rows": [10, 20]})], [Asking("single"), Asking("batch")])
    assert len(made) == 8
    assert made[0].build == Build("misbehaving", {"seed": 1})
    assert made[0].search == {"rows": 10}


def test_names_of_settings_do_not_collide() -> None:
    given: list[dict[str, Any]] = [{"a": 0.1}, {"a": [0, 1]}, {"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.0}]
    assert len({name_of(one) for one in given}) == len(given)


def test_a_sweep_measures_and_keeps_every_answer(tmp_path: Path) -> None:
    sweep(tmp_path / "out", modes=("single", "batch")).run()
    results = Results(tmp_path / "out")
    found = trials(results, judge())
    assert [t.status for t in found] == ["done"] * 4
    exact = [t for t in found if t.search == {"rows": 1500}]
    assert [t.recall.value for t in exact if t.recall] == [1.0, 1.0]
    assert [t.indexed for t in found] == [True] * 4
    one = next(t for t in exact if t.mode == "single")
    assert (one.samples, one.errors, one.zero_hits) == (80, 0, 0)
    kept = results.repetition(one.key, 0)
    assert (np.sort(kept.ids) == np.sort(DATA.truth.positions[:, :5])).all()
    assert one.qps is not None
    assert one.qps.repetitions == 2
    assert next(t for t in exact if t.mode == "batch").latency == {}


def test_a_later_measure_is_a_re_score(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    results = Results(tmp_path / "out")
    poor = next(t for t in trials(results, judge()) if t.search == {"rows": 100})
    again = trial(results, poor.key, judge(k=1))
    assert again.k == 1
    ids = results.repetition(poor.key, 0).ids
    assert again.recall is not None
    assert again.recall.value == (ids[:, 0] == DATA.truth.positions[:, 0]).mean()


def test_a_finished_trial_is_never_run_twice(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    before = parts(tmp_path / "out")
    seen: list[Event] = []
    sweep(tmp_path / "out").run(seen.append)
    assert parts(tmp_path / "out") == before
    assert [event.what for event in seen] == ["known", "known"]


def test_the_interpreter_of_an_engine_is_kept(tmp_path: Path) -> None:
    theirs = Entry("misbehaving", {}, {"rows": [1500]}, python=sys.executable)
    sweep(tmp_path / "out", theirs, entry({}, {"rows": [1500]})).run()
    results = Results(tmp_path / "out")
    kept = {(results.trial(key) or {})["python"] for key in results.keys()}  # noqa: SIM118
    assert kept == {None, sys.executable}


def test_where_no_parameter_names_a_file_nothing_of_files_is_in_the_key(tmp_path: Path) -> None:
    made = sweep(tmp_path / "out", entry({"seed": [1]}, {"rows": [9]}))
    (planned,) = made.planned
    same = {**DATA.identity(), "version": "", "machine": made.machine}
    assert planned.key == name_of(same | planned.case.identity())


def test_more_repetitions_add_to_those_there_are(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    before = parts(tmp_path / "out")
    sweep(tmp_path / "out", options=Options(repetitions=3, warmup=0)).run()
    after = parts(tmp_path / "out")
    assert len(after) == len(before) + 2
    assert {name: after[name] for name in before} == before


def test_other_data_are_other_trials(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    other = small(k=3)
    Sweep(other, cases([entry()], [Asking("batch")]), tmp_path / "out", QUICK).run()
    assert len(Results(tmp_path / "out").keys()) == 4


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("crash", "SIGSEGV"),
        ("exit", "no licence found"),
        ("hang", "did not end within"),
        ("refuse", "to my liking"),
    ],
)
def test_a_search_that_fails_costs_one_trial(
    tmp_path: Path, how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Hosted.answer

    def impatient(self: Hosted, name: str) -> Any:  # with searches alone: to start may take its time
        self.timeout = 5 if name == "batch" and how == "hang" else 60
        return answer(self, name)

    monkeypatch.setattr(Hosted, "answer", impatient)
    bad = entry({}, {"fails": ["", how], "rows": [1500]})
    options = Options(repetitions=2, warmup=0, timeout=60)
    sweep(tmp_path / "out", bad, options=options).run()
    good, failed = (by_search(tmp_path / "out")[str({"fails": f, "rows": 1500})] for f in ("", how))
    assert (good.status, good.recall.value) == ("done", 1.0)
    assert failed.status == "failed"
    assert said in failed.reason
    assert failed.recall is None


def test_a_build_that_fails_costs_its_own_trials(tmp_path: Path) -> None:
    options = Options(repetitions=1, warmup=0, memory=400 << 20, timeout=60)
    sweep(tmp_path / "out", entry({"fails": ["memory", "crash", ""]}), options=options).run()
    found = trials(Results(tmp_path / "out"), judge())
    states = sorted((t.build["fails"], t.status) for t in found)
    assert states == [("", "done")] * 2 + [("crash", "failed")] * 2 + [("memory", "failed")] * 2
    assert any("of memory, and 400 MB are allowed" in t.reason for t in found)


def test_a_failed_trial_is_run_again_only_when_asked(tmp_path: Path) -> None:
    bad = entry({}, {"fails": ["refuse"]})
    sweep(tmp_path / "out", bad).run()
    seen: list[Event] = []
    sweep(tmp_path / "out", bad).run(seen.append)
    assert [event.what for event in seen] == ["known"]
    sweep(tmp_path / "out", bad, options=Options(repetitions=1, retry=True)).run(seen.append)
    assert [event.what for event in seen[1:]] == ["building", "built", "passing", "failed"]


def test_a_failure_costs_one_pass_when_failed_trials_are_run_again(tmp_path: Path) -> None:
    seen: list[Event] = []
    options = Options(repetitions=3, warmup=0, retry=True)
    sweep(tmp_path / "out", entry({}, {"fails": ["refuse"]}), options=options).run(seen.append)
    assert [event.what for event in seen].count("failed") == 1


def test_a_trial_with_all_its_passes_is_done_even_if_nobody_came_to_say_so(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    results = Results(tmp_path / "out")
    key = results.keys()[0]
    results.put_trial(key, (results.trial(key) or {}) | {"status": "begun"})  # as a kill leaves it
    sweep(tmp_path / "out").run()
    assert (results.trial(key) or {})["status"] == "done"


def test_queries_that_were_never_asked_are_left_out() -> None:
    asked = np.arange(10)
    some = Repetition(asked, DATA.truth.positions[:10, :5], np.empty(0, np.int64), 1.0, 0, {})
    recall = scored(some, judge()).recall
    assert recall[:10].tolist() == [1.0] * 10
    assert np.isnan(recall[10:]).all()


def test_a_saved_index_that_is_damaged_is_built_again(tmp_path: Path) -> None:
    sweep(tmp_path / "out", options=Options(repetitions=1, keep=True)).run()
    saved = next((tmp_path / "out" / "indexes").glob("*/vectors.npy"))
    saved.write_bytes(b"torn")
    seen: list[Event] = []
    sweep(tmp_path / "out", options=Options(repetitions=2, keep=True)).run(seen.append)
    assert [event.what for event in seen].count("done") == 2


def test_an_engine_that_only_pretends_is_marked(tmp_path: Path) -> None:
    sweep(tmp_path / "out", entry(name="pretending", search={"rows": [10]})).run()
    found = trials(Results(tmp_path / "out"), judge())
    assert [(t.status, t.indexed) for t in found] == [("done", False)]


def test_repetitions_go_round_all_trials(tmp_path: Path) -> None:
    seen: list[Event] = []
    sweep(tmp_path / "out", entry({"seed": [1, 2]})).run(seen.append)
    passes = [event.number for event in seen if event.what == "passed"]
    assert passes == [1] * 4 + [2] * 4
    built = [event.what for event in seen].index("passed")
    assert "building" not in [event.what for event in seen[built:]]


def test_indexes_live_together_only_where_there_is_room(tmp_path: Path) -> None:
    seen: list[Event] = []
    options = Options(repetitions=2, warmup=0, room=1)
    sweep(tmp_path / "out", entry({"seed": [1, 2]}), options=options).run(seen.append)
    passes = [event.number for event in seen if event.what == "passed"]
    assert passes == [1, 1, 2, 2] * 2


def test_indexes_are_deleted_when_their_trials_are_done_and_kept_when_asked(tmp_path: Path) -> None:
    sweep(tmp_path / "a").run()
    sweep(tmp_path / "b", options=Options(repetitions=1, keep=True)).run()
    assert not (tmp_path / "a" / "indexes").exists()
    assert list((tmp_path / "b" / "indexes").glob("*/vectors.npy"))
    assert not (tmp_path / "b" / "vectors").exists()


@pytest.mark.parametrize("keep", [True, False])
def test_an_index_that_an_interruption_left_behind_goes_with_the_next_run_and_one_that_is_kept_stays(
    keep: bool, tmp_path: Path
) -> None:
    def interrupt(event: Event) -> None:
        if event.what == "done":
            raise KeyboardInterrupt

    two = entry({"seed": [1, 2]}, {"rows": [1500]})
    if keep:
        sweep(tmp_path / "out", two, options=replace(QUICK, keep=True)).run()
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
    class Opening(Hosted):
        def __init__(self, *given: Any, **named: Any) -> None:
            opened.append(self)
            if len(opened) == 1:
                raise EngineError("IOException: not enough bytes")
            super().__init__(*given, **named)

    sweep(tmp_path / "out", options=replace(QUICK, keep=True)).run()
    opened: list[Hosted] = []
    monkeypatch.setattr("assay.indexes.sweeps.living.Hosted", Opening)
    sweep(tmp_path / "out", options=replace(QUICK, repetitions=3)).run()
    assert len(opened) == 2
    assert {t.status for t in trials(Results(tmp_path / "out"), judge())} == {"done"}


def test_an_open_loop_says_what_was_offered_and_whether_it_kept_up(tmp_path: Path) -> None:
    asked = [Asking("open", rate=200, seconds=0.5), Asking("open", rate=1e6, seconds=0.001)]
    options = replace(QUICK, repetitions=3)  # a machine that stands still for a moment spoils one of them
    Sweep(DATA, cases([entry({}, {"rows": [1500]})], asked), tmp_path / "out", options).run()
    found = {t.offered: t for t in trials(Results(tmp_path / "out"), judge())}
    assert not found[200].saturated
    assert found[1e6].saturated
    assert found[1e6].latency["p99_ms"] > found[200].latency["p50_ms"]  # type: ignore[operator]
    assert found[200].samples == 3000  # enough for a p99


def test_clients_share_a_process_and_every_query_is_asked_once(tmp_path: Path) -> None:
    asked = [Asking("single", clients=3)]
    Sweep(DATA, cases([entry({}, {"rows": [1500]})], asked), tmp_path / "out", QUICK).run()
    found = trials(Results(tmp_path / "out"), judge())
    assert [(t.recall.value, t.samples, t.asking["clients"]) for t in found if t.recall] == [(1.0, 80, 3)]


@pytest.mark.parametrize(
    "asked", [Asking("single", clients=3), Asking("open", rate=500, clients=3, seconds=0.1)]
)
def test_clients_of_an_engine_that_keeps_its_process_to_itself_have_processes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Asking
) -> None:
    together, processes = running.merged, list[int]()

    def merged(parts: list[Timed]) -> Timed:
        processes.append(len(parts))
        return together(parts)

    monkeypatch.setattr(running, "merged", merged)
    Sweep(DATA, cases([Entry("holding", {}, {"rows": [1500]})], [asked]), tmp_path / "out", QUICK).run()
    (found,) = trials(Results(tmp_path / "out"), judge())
    assert (found.status, set(processes)) == ("done", {3})
    assert found.recall is not None
    assert found.recall.value == 1.0  # every answer is that of its own query
    assert (Results(tmp_path / "out").repetition(found.key, 0).latencies > 0).all()


def test_an_engine_that_can_be_had_once_only_is_not_asked_by_several(tmp_path: Path) -> None:
    planned = cases([Entry("unloadable")], [Asking("single", clients=2), Asking("single")])
    Sweep(DATA, planned, tmp_path / "out", QUICK).run()
    found = {t.asking["clients"]: t for t in trials(Results(tmp_path / "out"), judge())}
    assert found[1].status == "done"
    assert "unloadable serves one client in a process and cannot be loaded into a second" in found[2].reason


def test_everything_wrong_with_a_plan_is_said_at_once(tmp_path: Path) -> None:
    wrong = [entry({"sed": [1]}), entry({}, {"rows": ["many"]}), Entry("no-such-engine"), Entry("puck")]
    with pytest.raises(ConfigurationError) as raised:
        sweep(tmp_path / "out", *wrong)
    said = str(raised.value)
    assert "misbehaving build.sed: there is no such parameter; did you mean seed?" in said
    assert "misbehaving search.rows: expected int, found 'many'" in said
    assert "there is no engine 'no-such-engine'" in said
    assert "puck: the engine puck needs" in said
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_taken_away_ends_the_sweep(tmp_path: Path) -> None:
    def watch(event: Event) -> None:
        if event.what == "passing":
            shutil.rmtree(tmp_path / "out", ignore_errors=True)

    with pytest.raises(StoreError, match="out was taken away meanwhile, and what was kept in it is lost"):
        sweep(tmp_path / "out").run(watch)


def test_numbers_that_no_engine_takes_are_told(tmp_path: Path) -> None:
    huge = replace(DATA, base=Held(DATA.base.whole().astype(np.float64) * 1e60))
    with pytest.raises(InputError, match="engines take single precision, and there are numbers beyond"):
        Sweep(huge, cases([entry()], [Asking("batch")]), tmp_path / "out", QUICK).run()


def test_that_all_queries_are_alike_does_not_make_a_recall_sure(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    found = by_search(tmp_path / "out")[str({"rows": 1500})]
    assert found.recall == wilson(40, 40) == found.robustness(0.9)


def test_a_score_at_another_k_says_what_was_asked(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    notes = [{t.note for t in trials(Results(tmp_path / "out"), judge(k))} for k in (5, 3)]
    assert notes == [{""}, {"5 neighbours were asked for"}]


def test_two_sweeps_do_not_run_in_one_folder(tmp_path: Path) -> None:
    first = sweep(tmp_path / "out")
    with first.results.locked(), pytest.raises(InputError, match="another sweep runs in this folder"):
        sweep(tmp_path / "out").run()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    sweep(tmp_path / "out").run()
    some = next((tmp_path / "out").rglob("repetition-0.parquet"))
    some.write_bytes(b"PAR1")
    with pytest.raises(FormatError, match=r"repetition-0\.parquet: cannot be read"):
        trials(Results(tmp_path / "out"), judge())


@pytest.mark.parametrize("content", ["{}", "[]", "{"])
def test_a_damaged_trial_is_named_and_measured_anew_when_it_is_deleted(tmp_path: Path, content: str) -> None:
    sweep(tmp_path / "out").run()
    some = next((tmp_path / "out").rglob("trial.json"))
    some.write_text(content)
    with pytest.raises(FormatError, match=r"trial\.json: is damaged: .*; delete it, and run the sweep again"):
        sweep(tmp_path / "out").run()
    some.unlink()
    seen: list[Event] = []
    sweep(tmp_path / "out").run(seen.append)
    assert [event.what for event in seen if not event.what.startswith("pass")] == [
        "known",
        "building",
        "built",
        "done",
    ]
    assert [t.status for t in trials(Results(tmp_path / "out"), judge())] == ["done", "done"]


def test_a_damaged_sweep_file_is_named_and_made_anew_when_it_is_deleted(tmp_path: Path) -> None:
    made = sweep(tmp_path / "out")
    made.run()
    some = tmp_path / "out" / "sweep.json"
    before = some.read_text()
    some.write_text("{}")
    said = "it does not say its data and sources and options; delete it"
    with pytest.raises(FormatError, match=rf"sweep\.json: is damaged: {said}"):
        Results(tmp_path / "out").about()
    some.unlink()
    made.run()
    assert some.read_text() == before


def test_where_the_data_lie_is_kept_when_they_moved_and_nothing_is_measured(tmp_path: Path) -> None:
    planned, before = cases([entry()], [Asking("batch")]), {"base": "before.fbin"}
    Sweep(DATA, planned, tmp_path / "out", QUICK, before).run()
    for options, sources, kept in ((QUICK, {}, before), (MORE, {"base": "now.fbin"}, {"base": "now.fbin"})):
        Sweep(DATA, planned, tmp_path / "out", options, sources).run()
        about = Results(tmp_path / "out").about()
        assert (about["sources"], about["options"]["warmup"]) == (kept, QUICK.warmup)


KILLED = """
import os
import signal
import sys
from threading import Timer
sys.path[:0] = {paths!r}
from benches import small
from assay.indexes.sweeps.plan import Asking, Entry, cases
from assay.indexes.sweeps.sweep import Options, Sweep

what, _, pause = sys.argv[2].partition(":")

def watch(event):
    if event.what == what:
        Timer(float(pause), os.kill, (os.getpid(), signal.SIGKILL)).start()

entries = [Entry("misbehaving", {{"seed": [1, 2]}}, {{"rows": [50, 300, 1500]}})]
planned = cases(entries, [Asking("batch"), Asking("single")])
Sweep(small(), planned, sys.argv[1], Options(5, 3)).run(watch)
"""


def ended(out: Path, when: str = "") -> int:
    """How a sweep ended that was killed some seconds after the first event of a kind, or was not."""
    code = KILLED.format(paths=[str(OTHERS.parent)])
    source = str(Path(__file__).parents[1] / "src")
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
    assert ended(whole) == 0
    kept: dict[str, int] = {}
    between = 0  # kills after the first pass and before the last
    for when in KILLS:
        assert ended(killed, when) == -signal.SIGKILL
        now = parts(killed)
        assert {name: now[name] for name in kept} == kept  # what was finished is not touched again
        between += len(kept) < len(now) < len(parts(whole))
        kept = now
    assert between
    assert ended(killed) == 0
    assert parts(killed).keys() == parts(whole).keys()
    first, second = (trials(Results(folder), judge()) for folder in (whole, killed))
    assert [t.recall for t in first] == [t.recall for t in second]
    assert {t.status for t in second} == {"done"}
    for one in first:
        for number in range(5):
            pair = [Results(folder).repetition(one.key, number).ids for folder in (whole, killed)]
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
    (found,) = trials(Results(tmp_path / "out"), judge())
    assert (found.status, found.samples, found.errors) == ("done", 53, 27)


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
    (found,) = trials(Results(tmp_path / "out"), judge())
    asked = "asked whether it is an index, by 256 hard queries at its smallest search"
    assert found.reason == f"{asked}: the process ended during batch (exit 7)"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import ctypes; ctypes.string_at(0)", "the process ended during describe (killed by SIGSEGV)"),
        (
            "from assay.indexes.index import Index\nclass Engine(Index): build = print",
            "the engine broken of others (broken:Engine) has no search: "
            "expected build(vectors) and search(queries, k)",
        ),
        (
            "import no_such_library",
            "the engine broken of others (broken:Engine) cannot be loaded: "
            "ModuleNotFoundError: No module named 'no_such_library'",
        ),
    ],
)
def test_an_engine_that_fails_when_it_is_loaded_costs_its_own_trials(
    tmp_path: Path, code: str, said: str
) -> None:
    install(tmp_path, "broken", code)
    planned = entry({"a": [1, 2]}, {"b": [3]}, "broken"), entry({}, {"rows": [1500]})
    sweep(tmp_path / "out", *planned).run()
    found = trials(Results(tmp_path / "out"), judge())
    assert [(t.status, t.reason) for t in found if t.engine == "misbehaving"] == [("done", "")]
    assert [(t.status, t.reason) for t in found if t.engine == "broken"] == [("failed", said)] * 2


def test_a_full_disk_ends_the_sweep_and_is_no_fault_of_an_engine(small_disk: Path) -> None:
    ballast, out = small_disk / "ballast", small_disk / "out"
    for room in (2_000, 30_000, 90_000):  # for nothing, for the vectors, for an index
        used = shutil.disk_usage(small_disk)
        ballast.write_bytes(bytes(max(0, used.free - room)))
        with pytest.raises(StoreError, match=r"No space left on device|make room on the disk"):
            sweep(out, entry({"seed": [1, 2, 3]}, {"rows": [100, 1500]})).run()
        ballast.unlink()
        assert "failed" not in [t.status for t in trials(Results(out), judge())]
    done = sweep(out, entry({"seed": [1, 2, 3]}, {"rows": [100, 1500]}))
    done.run()
    assert {t.status for t in trials(Results(out), judge())} == {"done"}


def test_an_entry_point_that_is_no_engine_says_whose_it_is(tmp_path: Path) -> None:
    install(tmp_path, "broken", "Engine = 7")
    sweep(tmp_path / "out", entry({}, {"b": [3]}, "broken")).run()
    found = trials(Results(tmp_path / "out"), judge())
    assert "the engine broken of others (broken:Engine) is no engine: expected a class" in found[0].reason


def test_an_interpreter_that_cannot_host_an_engine_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no NumPy here\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(ConfigurationError, match=r"the process ended .*\(exit 1\): no NumPy here"):
        sweep(tmp_path / "out", entry(), Entry("pretending", python=str(python)))
    assert not (tmp_path / "out").exists()


def test_what_an_earlier_trial_printed_is_not_the_reason_of_a_later_one(tmp_path: Path) -> None:
    index = Living(Build("misbehaving", {}), "a", "l2", DATA.base, Results(tmp_path / "out"), QUICK)
    index.begin(lambda hosted: None)
    for how, said in (("refuse", "ValueError: .* to my liking"), ("crash", r"\(killed by SIGSEGV\)$")):
        case = Case(Build("misbehaving", {}), {"fails": how}, Asking("batch"))
        with pytest.raises(EngineError, match=said):
            run(index, case, DATA.queries, 5, warmup=0, number=0)
    index.close()


@pytest.mark.parametrize("mode", ["batch", "single"])
def test_an_engine_that_quits_while_warming_up_leaves_no_answer_to_be_taken_for_another(
    tmp_path: Path, mode: str
) -> None:
    index = Living(Build("misbehaving", {}), "a", "l2", DATA.base, Results(tmp_path / "out"), QUICK)
    index.begin(lambda hosted: None)
    cases = [Case(Build("misbehaving", {}), {"fails": how}, Asking(mode)) for how in ("quit", "")]
    with pytest.raises(EngineError, match="SystemExit: enough for today"):
        run(index, cases[0], DATA.queries, 5, warmup=1, number=0)
    assert len(run(index, cases[1], DATA.queries, 5, warmup=1, number=0).ids) == len(DATA.queries)
    index.close()


def test_answers_to_fewer_queries_than_were_asked_cost_the_trial(tmp_path: Path) -> None:
    (tmp_path / "few.py").write_text(FEW)
    with open(tmp_path / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write("few = few:Few\n")
    asked = entry({}, {"lacks": [0, 1], "rows": [1500]}, "few")
    options = Options(repetitions=1, warmup=0, timeout=60)
    sweep(tmp_path / "out", asked, options=options, modes=("single", "batch")).run()
    found = {(t.search["lacks"], t.mode): t for t in trials(Results(tmp_path / "out"), judge())}
    assert [found[0, mode].status for mode in ("single", "batch")] == ["done", "done"]
    assert [found[1, mode].status for mode in ("single", "batch")] == ["failed", "failed"]
    assert "search returned shape (39, 5); expected positions of shape (40, 5)" in found[1, "batch"].reason
    assert "search returned shape (0, 5); expected positions of shape (1, 5)" in found[1, "single"].reason
