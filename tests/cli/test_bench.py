"""assay bench: what a person sees who measures indexes of their own vectors, and what is kept."""

import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.progress import Progress
from assay.cli import call as run
from assay.cli.live_table import LiveTable
from assay.core.vectors import Neighbors
from assay.datasets.vectors import read_neighbors, write_vectors
from assay.workflows.bench import BenchRequest
from assay.workflows.bench_settings import parse_index
from assay.workflows.benchmark import Benchmark
from tests.benches import install_test_engines, make_clusters
from tests.cli.terminals import Terminal

BASE, QUERIES = make_clusters()
DATA = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2", "-k", "5"]
QUICK = [*DATA, "--repetitions", "2", "--warmup", "3"]
BENCH = """
[data]
base = "base.fbin"
queries = "queries.fbin"
metric = "l2"
k = 5

[run]
repetitions = 2
warmup = 3

[[index]]
engine = "misbehaving"
search = { rows = [100, 1500] }

[[index]]
engine = "pretending"
"""


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with vectors, a benchmark of them, and somebody's engines."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        install_test_engines(folder, patch)
        patch.chdir(folder)
        write_vectors(BASE, "base.fbin")
        write_vectors(QUERIES, "queries.fbin")
        Path("bench.toml").write_text(BENCH)
        Path("tables.toml").write_text(
            BENCH.replace("[data]", "[[data]]").replace('metric = "l2"\nk = 5', "")
        )
        yield folder


def call_bench(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["bench", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def pass_times(folder: str) -> dict[str, int]:
    return {
        str(p.relative_to(folder)): p.stat().st_mtime_ns for p in Path(folder).rglob("repetition-*.parquet")
    }


def test_an_index_beside_a_file_has_the_threads_of_the_file() -> None:
    Path("two.toml").write_text(BENCH.replace("warmup = 3", "warmup = 3\nthreads = 2"))
    for option, threads in (None, 2), (3, 3):
        request = BenchRequest(file="two.toml", indexes=["hnswlib"], threads=option)
        assert [entry.threads for entry in request.benchmark().entries] == [threads] * 3


@pytest.fixture(scope="module")
def swept(place: Path) -> tuple[str, subprocess.CompletedProcess[str]]:
    """What `bench.toml` gives, where nobody watches."""
    return "swept", subprocess.run(
        command("bench.toml", "-o", "swept"), capture_output=True, text=True, check=True
    )


def command(*argv: str) -> list[str]:
    return [sys.executable, "-c", "from assay.cli import main; main()", "bench", *argv]


Swept = tuple[str, subprocess.CompletedProcess[str]]


def test_a_file_is_measured_and_told_in_plain_lines_where_nobody_watches(swept: Swept) -> None:
    _, done = swept
    assert "\033" not in done.stderr
    lines = done.stderr.splitlines()
    assert sorted(line.rpartition(": R@5")[0] for line in lines[:6]) == [
        f"done: {label} ({mode})"
        for label in ("misbehaving / rows=100", "misbehaving / rows=1500", "pretending")
        for mode in ("batch", "single")
    ]
    assert lines[-1] == "6 trials in swept; all answers are stored: assay bench show swept"
    assert done.stdout.startswith("One query at a time (closed loop)\n")
    assert re.search(r"^pretending .* not indexed$", done.stdout, re.M)
    assert "- not indexed: pretending missed nothing" in done.stdout


def test_what_is_kept_has_the_documented_columns(swept: Swept) -> None:
    folder, _ = swept
    assert sorted(path.name.partition("-")[0] for path in Path(folder).iterdir()) == [
        ".lock", "sweep.json", "trials", "trials.parquet", "truth",
    ]  # fmt: skip
    single = pl.read_parquet(f"{folder}/trials.parquet").filter(pl.col("mode") == "single")
    assert single.filter(pl.col("search.rows") == 1500)["measures.R@5"].to_list() == [1.0]
    frame = pl.read_parquet(f"{folder}/trials/{single['key'][0]}/repetition-0.parquet")
    assert frame.columns == ["query", "latency_ns", "hits", "ids"]
    assert frame["ids"].list.len().unique().to_list() == [5]
    assert frame["latency_ns"].min() > 0  # type: ignore[operator]


def test_the_same_command_again_runs_nothing(swept: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    before = pass_times("swept")
    code, out, err = call_bench(capsys, "bench.toml", "-o", "swept")
    assert code == 0
    assert len(before) == 12
    assert pass_times("swept") == before
    assert err.count("done before: ") == 6
    assert out == swept[1].stdout


def test_options_stand_in_place_of_what_the_file_says(
    swept: Swept, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        "bench.toml",
        "-o",
        "swept",
        "--mode",
        "batch",
        "--repetitions",
        "1",
        "--index",
        "misbehaving seed=2",
    ]
    code, out, err = call_bench(capsys, *made, "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert {t["mode"] for t in found["trials"]} == {"batch"}
    assert [t["build"] for t in found["trials"] if t["build"]] == [{"seed": 2}]
    assert err.count("done before: ") == 3
    assert found["options"]["repetitions"] == 1
    assert found["data"]["queries"] == 40


def test_results_are_scored_anew_from_anywhere(
    swept: Swept, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(Path(swept[0]).absolute())
    monkeypatch.chdir(tmp_path)
    code, out, _ = call_bench(capsys, "show", folder, "-k", "1", "--ties", "strict", "--format", "json")
    found = json.loads(out)["trials"]
    assert code == 0
    assert {(t["k"], t["policy"]) for t in found} == {(1, "strict")}
    poor = next(t for t in found if t["search"] == {"rows": 100})
    results = SweepFolder(folder)
    (truth,) = Path(folder).glob("truth-*.parquet")
    first = results.read_pass(poor["key"], 0).ids[:, 0] == read_neighbors(truth).positions[:, 0]
    assert poor["measures"]["R@1"]["value"] == first.mean()


def test_more_neighbours_than_were_asked_for_are_not_scored(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*QUICK, "-o", "mixed", "--mode", "batch", "--index", "misbehaving"]
    assert call_bench(capsys, *argv)[0] == 0
    code, _, err = call_bench(capsys, "show", "mixed", "-k", "6")
    assert code == 2
    assert "mixed: at most 5 neighbours were searched for, so that hits among 6 cannot be scored" in err
    assert call_bench(capsys, *argv, "-k", "6")[0] == 0
    found = json.loads(call_bench(capsys, "show", "mixed", "--format", "json")[1])["trials"]
    short, scored = sorted(found, key=lambda t: len(t["measures"]))
    assert (short["note"], short["measures"]) == ("5 neighbors were requested: no score at 6", {})
    assert short["qps"]["median"] > 0
    assert scored["measures"]["R@6"]["value"] == 1.0


@pytest.mark.parametrize("style", ["table", "csv", "md", "html"])
def test_every_format_shows_every_engine(
    swept: Swept, capsys: pytest.CaptureFixture[str], style: str
) -> None:
    _, out, _ = call_bench(capsys, "show", "swept", "--format", style)
    assert "misbehaving" in out
    assert "pretending" in out


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ([], "expected a benchmark in TOML, or --base with --index; see assay bench --help"),
        (["none.toml"], "none.toml: cannot be read"),
        (DATA, "expected an index to measure, found none: [[index]] in the file, or --index"),
        ([*DATA, "--index", "misbehavin"], "there is no engine 'misbehavin'; did you mean misbehaving?"),
        ([*DATA, "--index", "misbehaving sed=1"], "build.sed: there is no such parameter; did you mean"),
        ([*DATA, "--index", "puck"], "puck: the engine puck needs puck, which is not installed"),
        ([*DATA, "--index", "annoy", "--objective", "p99"], "milliseconds, such as p99=10; found 'p99'"),
        ([*DATA, "--index", "annoy", "--objective", "p99=0"], "such as p99=10; found 'p99=0'"),
        ([*DATA, "--index", "annoy", "--rate", "-5"], "run.rates: expected queries per second, above 0"),
        ([*DATA, "--index", "annoy / search_k=1..9"], "a range needs a target recall to search for"),
        ([*DATA, "--index", "annoy", "--recall", "0.9"], "a target recall (--recall) needs"),
        ([*DATA, "--index", "annoy", "--recall", "2"], "run.recall: expected a share above 0 and at most 1"),
        ([*DATA, "--index", "annoy M=8 /ef=4"], "needs spaces around it; found 'annoy M=8 /ef=4'"),
        (["tables.toml"], "data: expected a table, found [{'base': 'base.fbin', 'queries': 'queries.fbin'}]"),
        ([*DATA, "--index", "annoy", "-o", "/proc/none"], "which cannot be written (No such file"),
        ([*DATA, "--index", "annoy", "--limit", "0"], "data.limit: expected a whole number of at least 1"),
        ([*DATA, "--index", "annoy", "--save", " "], "--save expects a name, found none"),
        ([*DATA, "--index", "annoy", "-o", "bench.toml"], "in a folder, and bench.toml is a file"),
        (["show", "none"], "none is not the folder of a sweep: there is no sweep.json in it; `assay bench …"),
        (["import", "bench.toml", "-o", "none"], "none is not the folder of a sweep"),
        (["engines", "misbehavin"], "there is no engine 'misbehavin'; did you mean misbehaving?"),
        (["engines", "annoy", "--python", "none/python"], "there is no Python interpreter none/python"),
    ],
)  # fmt: skip
def test_wrong_use_is_told_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], argv: list[str], problem: str
) -> None:
    options = [] if argv[:1] in (["show"], ["import"], ["engines"]) or "-o" in argv else ["-o", "wrong"]
    code, out, err = call_bench(capsys, *argv, *options)
    assert (code, out) == (2, "")
    assert err.startswith("assay bench: ")
    assert problem in err
    assert not Path("wrong").exists()
    assert not Path("none").exists()


def test_rates_and_objectives_are_asked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*DATA, "-o", "asked", "--repetitions", "1", "--index", "misbehaving", "--seconds", "0.1"]
    code, out, err = call_bench(
        capsys, *argv, "--rate", "2000", "--clients", "2", "--objective", "p50=1000", "--format", "json"
    )
    opened, capacity = json.loads(out)["trials"]
    assert code == 0
    assert (opened["mode"], opened["offered"], opened["asking"]["clients"]) == ("open", 2000.0, 2)
    assert opened["samples"] == 1000  # enough for a p99, though a tenth of a second has fewer
    assert (capacity["mode"], capacity["asking"]["within_ms"]) == ("capacity", 1000.0)
    assert capacity["capacity"]["median"] > 0
    way = "capacity percentile=50 within_ms=1000 clients=2"
    assert len(re.findall(rf"passing: misbehaving \({way}\): pass 1 at [\d,.]+/s\n", err)) >= 2


def test_a_range_is_searched_for_each_recall(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*QUICK, "-o", "matched", "--mode", "batch", "--index", "misbehaving / rows=100..1500"]
    code, out, err = call_bench(capsys, *argv, "--recall", "0.5", "--recall", "0.9", "--format", "json")
    found = json.loads(out)["trials"]
    assert code == 0
    recalls = [one["measures"]["R@5"]["value"] for one in found]
    assert recalls == [pytest.approx(0.5, abs=0.01), pytest.approx(0.9, abs=0.01)]
    assert found[0]["search"]["rows"] < found[1]["search"]["rows"]
    told = re.findall(
        r"matched: misbehaving / rows=100..1500 \(batch\): rows=(\d+) after \d+ searches: ", err
    )
    assert [int(value) for value in told] == [t["search"]["rows"] for t in found]
    assert "nearest in 100..1500 to R@5 = 0.9" in call_bench(capsys, "show", "matched")[1]


def test_a_trial_whose_value_is_looked_for_takes_its_name_when_it_is_found() -> None:
    bench = Benchmark(
        "base.fbin", "queries.fbin", metric="l2", k=5, entries=(parse_index("misbehaving / rows=9..1500"),)
    )
    sweep = replace(bench, recall=(0.5, 0.9)).prepare_sweep("renamed")
    live = LiveTable(sweep, io.StringIO())
    seen: set[str] = set()

    def watch(event: Progress) -> None:
        live(event)
        seen.update(live.states.values())

    sweep.run(watch)
    assert {"waiting", "building", "matching", "matched", "pass 1", "1/3"} < seen
    assert live.states == dict.fromkeys((planned.key for planned in sweep.planned_trials), "done")
    assert all(planned.case.range_parameter is None for planned in sweep.planned_trials)


def test_a_failure_is_told_and_run_again_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*QUICK, "-o", "failing", "--mode", "batch", "--index", "misbehaving / fails=exit,refuse"]
    code, out, err = call_bench(capsys, *argv)
    assert code == 1
    assert (
        "failed: misbehaving / fails=exit (batch): the process ended during warm_up (exit 7): no licence"
        in err
    )
    assert "- misbehaving / fails=refuse (batch) failed: ValueError: the parameter is not to my liking" in out
    assert err.endswith("failed trials are not run again without --retry\n")
    code, _, err = call_bench(capsys, *argv)
    assert code == 1
    assert err.count("failed before: ") == 2
    assert "failed before: misbehaving / fails=refuse (batch): ValueError: the parameter is not" in err
    _, _, err = call_bench(capsys, *argv, "--retry")
    assert "failed before" not in err


def test_a_folder_of_other_data_is_left_alone(swept: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path("swept").rglob("*")}
    code, _, err = call_bench(capsys, "bench.toml", "-o", "swept", "--limit", "7")
    assert code == 2
    assert "swept holds trials of other data: not the same queries; name another folder (-o)" in err
    assert {path: path.stat().st_mtime_ns for path in Path("swept").rglob("*")} == before


def test_trials_are_remembered_as_experiments(swept: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["bench.toml", "-o", "swept", "--mode", "batch", "--save", "nightly", "--store", "store"]
    code, _, err = call_bench(capsys, *argv)
    assert code == 0
    names = re.findall(r"^saved (.*) as \w+ in ", err, re.M)
    assert sorted(names) == [
        f"nightly/{label} (batch)"
        for label in ("misbehaving / rows=100", "misbehaving / rows=1500", "pretending")
    ]
    assert run(["experiments", "list", "--store", "store"]) == 0
    assert "nightly/misbehaving" in capsys.readouterr().out


def test_results_of_others_stand_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    from tests.imported_files import fill

    assert call_bench(capsys, *QUICK, "-o", "beside", "--mode", "batch", "--index", "misbehaving")[0] == 0
    (path,) = Path("beside").glob("truth-*.parquet")
    truth: Neighbors = read_neighbors(path)
    for name, rows in (("theirs.hdf5", 40), ("other.hdf5", 11)):
        with h5py.File(name, "w") as file:
            ids, far = truth.positions[:rows, :5], truth.distances[:rows, :5]  # type: ignore[index]
            fill(file, ids.tolist(), far.tolist(), count=5)
    code, out, _ = call_bench(capsys, "import", "theirs.hdf5", "-o", "beside", "--format", "json")
    (found,) = json.loads(out)["trials"]
    assert (code, found["source"]) == (0, "ann-benchmarks")
    assert (found["measures"]["R@5"]["value"], found["reported"]["recall"]) == (1.0, 1.0)
    assert len(pl.read_parquet("beside/trials.parquet")) == 2
    code, _, err = call_bench(capsys, "import", "other.hdf5", "-o", "beside")
    assert code == 2
    assert "other.hdf5: has 11 queries" in err
    assert call_bench(capsys, "show", "beside")[0] == 0
    assert "at most 5 neighbours were searched for" in call_bench(capsys, "show", "beside", "-k", "6")[2]


def test_every_query_counts_once_in_what_is_told_of_an_open_loop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--rate", "2000", "--seconds", "0.1", "--repetitions", "1", "--warmup", "0", "--limit", "37"]
    _, out, err = call_bench(
        capsys, *DATA, *asked, "-o", "weighed", "--index", "misbehaving / rows=300", "--format", "json"
    )
    (found,) = json.loads(out)["trials"]
    assert found["samples"] == 1000  # no multiple of 37
    assert f"(open rate=2000): R@5 {found['measures']['R@5']['value']:.4f}, " in err


def test_answers_to_other_queries_are_refused_before_anything_is_written(
    swept: Swept, capsys: pytest.CaptureFixture[str]
) -> None:
    h5py = pytest.importorskip("h5py")
    from tests.imported_files import fill

    with h5py.File("few.hdf5", "w") as file:
        fill(file, [[0, 1, 2, 3, 4]] * 3, [[0.0] * 5] * 3, count=5)
    before = SweepFolder("swept").trial_keys()
    code, _, err = call_bench(capsys, "import", "few.hdf5", "-o", "swept")
    assert code == 2
    assert "few.hdf5: answers 3 queries, but the truth has 40: it belongs to other data" in err
    assert SweepFolder("swept").trial_keys() == before


def test_engines_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_bench(capsys, "engines")
    assert re.search(r"^misbehaving +others 0\.1 +installed$", out, re.M)
    _, out, _ = call_bench(capsys, "engines", "misbehaving")
    assert re.search(r"^search +rows +int +1000000 +– +–$", out, re.M)


@pytest.mark.parametrize("engine", ["faiss.hnsw M=8 / efSearch=4,64", "hnswlib M=8 / ef=5,64"])
def test_a_real_engine_is_found_to_be_an_index(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    pytest.importorskip(re.split(r"\W", engine)[0])
    large = make_clusters(20_000, 32)[0]  # what its index takes is seen beside what Python frees
    write_vectors(large, "large.fbin")
    options = ["--metric", "l2", "-k", "5", "--mode", "single", "--index", engine, "--format", "json"]
    argv = ["--base", "large.fbin", "--queries", "large.fbin", *options]
    code, out, _ = call_bench(capsys, *argv, "-o", "real", "--repetitions", "1", "--warmup", "3")
    poor, good = json.loads(out)["trials"]
    assert code == 0
    assert (poor["indexed"], good["indexed"]) == (True, True)
    assert poor["measures"]["R@5"]["value"] < good["measures"]["R@5"]["value"]
    assert good["memory_bytes"] > 0
    assert good["disk_bytes"] > large.matrix.nbytes


@pytest.mark.parametrize("engine", ["vsag.hgraph"])
def test_engines_that_insist_on_arrays_to_write_to_take_vectors_from_a_file(
    capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    pytest.importorskip({"vsag.hgraph": "pyvsag"}.get(engine, engine))
    before = Path("base.fbin").read_bytes()
    code, _, err = call_bench(capsys, *QUICK, "-o", "writing", "--mode", "batch", "--index", engine)
    assert (code, err.startswith(f"done: {engine} (batch): R@5 ")) == (0, True)
    assert Path("base.fbin").read_bytes() == before


SLOW = [*DATA, "--repetitions", "2", "--warmup", "0", "--seconds", "0.1", "--rate", "2000"]
SLOW += ["--index", "misbehaving / rows=50,300,1500"]


def test_after_ctrl_c_the_same_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert call_bench(capsys, *SLOW, "-o", "whole")[0] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELD", f"{Path('halved').resolve()}:1")  # the second pass waits for what never comes
        terminal = Terminal(command(*SLOW, "-o", "halved"))
    screen = terminal.until(lambda rows: any(" 1/2 " in row for row in rows))
    assert re.fullmatch(r"0 of 3 trials, \d+ s", screen[0])
    assert screen[1].split() == ["engine", "build", "search", "mode", "state", "R@5", "QPS", "p50", "ms"]
    os.killpg(terminal.pid, signal.SIGINT)  # as a terminal does, but for what it has not shown yet
    code, screen = terminal.end()
    assert code == 128 + signal.SIGINT
    assert screen == [
        "finished trials are stored in halved: the same command continues from there",
        "interrupted",
        "",
    ]
    before = pass_times("halved")
    assert len(before) == 1
    assert call_bench(capsys, *SLOW, "-o", "halved")[0] == 0
    after = pass_times("halved")
    assert {name: after[name] for name in before} == before
    assert after.keys() == pass_times("whole").keys()
    for name in after:
        pair = [
            pl.read_parquet(f"{folder}/{name}", columns=["query", "ids", "hits"])
            for folder in ("whole", "halved")
        ]
        assert pair[0].equals(pair[1])
    assert sorted(path.name for path in Path("halved").iterdir()) == sorted(
        p.name for p in Path("whole").iterdir()
    )


def test_a_small_terminal_is_not_overrun_and_is_left_clean() -> None:
    argv = [*QUICK, "--mode", "batch", "--index", "misbehaving seed=1,2,3 / rows=50,100,200,1500"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELD", f"{Path('small').resolve()}:12")  # each of them has one pass then
        terminal = Terminal(command(*argv, "-o", "small", "--format", "csv"), 8, 60)
    screen = terminal.until(lambda rows: any(" 1/2 " in row for row in rows))
    assert len(screen) <= 8
    assert re.fullmatch(r"0 of 12 trials, \d+ s", screen[0])
    terminal.size = (8, 10_000)  # the results go to the same terminal, and are not cut
    Path("small.go").touch()
    code, screen = terminal.end()
    assert code == 0
    assert screen[0].startswith("key,engine,")
    assert len(screen) == 1 + 12 + 3


def test_a_sweep_goes_on_when_nobody_reads_its_log_any_more() -> None:
    program = shlex.join(command(*QUICK, "-o", "unread", "--index", "misbehaving / rows=50,300", "--index"))
    failing = shlex.quote("misbehaving / fails=refuse")
    script = f"{program} {failing} 2>&1 >/dev/null | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout.endswith("1\n")  # a trial failed
    assert len(list(Path("unread").glob("trials/*/repetition-*.parquet"))) == 2 * 2 * 2


def test_an_interrupted_build_leaves_no_process_behind() -> None:
    argv = [*QUICK, "-o", "hanging", "--index", "misbehaving fails=hang"]
    mark = f"bench-{time.monotonic_ns()}"
    process = subprocess.Popen(
        command(*argv), env={**os.environ, "WATCHED": mark}, start_new_session=True, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not list(Path("hanging").glob("indexes/*")) or len(marked_processes(mark)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=15)  # a process that is busy is not asked to close
    assert process.returncode == 128 + signal.SIGINT
    assert err.endswith(b"interrupted\n")
    deadline = time.monotonic() + 60
    while marked_processes(mark):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def marked_processes(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"WATCHED={mark}".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


def test_time_goes_by_in_the_table_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.cli.live_table._TICK_SECONDS", 0.01)
    entries = (parse_index("misbehaving"),)
    sweep = Benchmark("base.fbin", "queries.fbin", metric="l2", k=5, entries=entries).prepare_sweep("ticking")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream, LiveTable(sweep, stream) as live:
        live(Progress("building", sweep.planned_trials[0].key))
        shown = b""
        while shown.count(b"building") < 3:
            shown += os.read(ours, 65536)
    with suppress(OSError), os.fdopen(ours, "rb", 0) as rest:  # a closed terminal ends with an error
        while piece := rest.read(65536):
            shown += piece
    assert re.search(rb"\x1b\[4A\x1b\[J$", shown)


def test_robustness_is_shown_at_the_delta_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    index = ["--index", "misbehaving / rows=100,1500", "--mode", "single", "-o", "at-delta"]
    _, out, _ = call_bench(capsys, *QUICK, *index, "--delta", "0.4", "--format", "md")
    assert "| Robustness-0.4@5 |" in out
    _, out, _ = call_bench(capsys, "show", "at-delta", "--delta", "0.8", "--format", "json")
    assert "Robustness(delta=0.8)@5" in json.loads(out)["trials"][0]["measures"]
    _, out, _ = call_bench(capsys, "show", "at-delta", "--delta", "0.8")
    assert "Robustness-0.8@5" in out
    assert "Robustness-0.9@5" in call_bench(capsys, "show", "at-delta")[1]


def test_a_delta_that_no_recall_has_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_bench(capsys, "show", "at-delta", "--delta", "0")
    assert (code, out) == (2, "")
    assert "--delta: expected a recall above 0, at most 1, found 0" in err
