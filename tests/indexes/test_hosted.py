"""An engine in its own process: what goes wrong there ends there."""

import os
import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from assay.bench.sweeps.brute_force import make_hard_queries, uses_index
from assay.bench.sweeps.cases import IndexEntry, RequestMode, plan_cases
from assay.bench.sweeps.engine_descriptions import describe_engines
from assay.core.errors import ConfigurationError, EngineError, InputError
from assay.core.processes import marked_processes
from assay.core.vectors import InMemoryVectors, MappedVectors, Positions
from assay.datasets.vectors import read_vectors, write_vectors
from assay.indexes.hosting.hosted import EngineProcess, HostedIndex
from assay.indexes.hosting.worker import Worker, map_rows
from assay.indexes.index import Index, Requests, Rows, Setup
from assay.indexes.registry import load_engine
from assay.indexes.vector_data import prepare_for_engines
from tests.benches import install_test_engines, make_clusters

BASE, QUERIES = make_clusters()


@pytest.fixture(autouse=True)
def install_other_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_test_engines(tmp_path, monkeypatch)


def open_hosted(fails: str = "", engine: str = "misbehaving", **more: object) -> HostedIndex:
    return HostedIndex(engine, {"fails": fails}, metric="l2", d=8, **more)  # type: ignore[arg-type]


def test_an_engine_of_somebody_else_is_built_and_searched_by_its_entry_point() -> None:
    with open_hosted() as index:
        result = index.build(BASE)
        answers = [index.search(QUERIES, 3, mode=mode) for mode in ("batch", "single")]
    nearest = ((BASE.matrix[None] - QUERIES.matrix[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    assert answers[0].positions[:, 0].tolist() == nearest.tolist()
    assert (answers[0].positions == answers[1].positions).all()
    assert re.fullmatch("0.1 source [0-9a-f]{8}", result.version)
    assert result.disk_bytes is not None
    assert result.disk_bytes > BASE.matrix.nbytes


def test_preparation_is_not_timed_and_not_done_to_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    class Compiled(Index):
        def prepare(self) -> None:
            calls.append("prepare")
            clock[0] += 100

        def build(self, vectors: Rows) -> None:
            calls.append("build")
            clock[0] += 2

        def load(self) -> None:
            calls.append("load")

    clock = [0.0]
    monkeypatch.setattr("assay.indexes.hosting.worker.time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("assay.indexes.hosting.worker.engine_version", lambda name, version: version)
    worker = Worker()
    worker.index = Compiled(Setup("l2", 8, 1, tmp_path))
    assert worker.build(BASE).seconds == 2
    worker.load()
    assert calls == ["prepare", "build", "load"]


def test_what_a_batch_is_made_of_has_no_latencies_and_single_queries_have() -> None:
    with open_hosted() as index:
        index.build(BASE)
        assert index.search(QUERIES, 3).latencies is None
        single = index.search(QUERIES, 3, mode="single").latencies
    assert single is not None
    assert (single > 0).all()


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        ("crash", r"the process ended during build \(killed by SIGSEGV\)"),
        ("exit", r"the process ended during build \(exit 7\): no licence found"),
        ("refuse", "ValueError: the parameter is not to my liking"),
    ],
)
def test_an_engine_that_dies_or_refuses_is_an_error_with_its_reason(fails: str, message: str) -> None:
    with open_hosted(fails) as index, pytest.raises(EngineError, match=message):
        index.build(BASE)


def test_an_engine_that_hangs_is_ended() -> None:
    with open_hosted("hang") as index:
        index.timeout = 0.5
        with pytest.raises(EngineError, match=r"build did not finish within 0\.5 s"):
            index.build(BASE)
        assert not index.is_alive


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="the system does not tell how much memory is held")
def test_an_engine_that_eats_memory_is_ended() -> None:
    with (
        open_hosted("memory", memory=300 << 20) as index,
        pytest.raises(EngineError, match=r"build used [\d,]+ MB of memory; the limit is 300 MB"),
    ):
        index.build(BASE)


def test_nothing_is_left_of_an_engine_that_is_closed() -> None:
    index = open_hosted()
    mark, pid = index.mark, index.process_ids()[0]
    assert pid in marked_processes(mark, pid)
    index.close()
    assert not os.path.exists(f"/proc/{pid}")
    assert marked_processes(mark, -1) == [-1]


def test_an_unknown_engine_metric_or_interpreter_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no engine 'misbehavin'; did you mean misbehaving\?"):
        open_hosted(engine="misbehavin")
    with pytest.raises(
        InputError, match="misbehaving does not support the metric hamming; it supports l2, ip, cosine"
    ):
        HostedIndex("misbehaving", {}, metric="hamming", d=8)
    with pytest.raises(InputError, match="there is no Python interpreter no-such-python: name one"):
        open_hosted(python="no-such-python")


def test_threads_are_pinned() -> None:
    with open_hosted(threads=1) as index:
        assert len(os.sched_getaffinity(index.process_ids()[0])) == 1


def test_libraries_are_told_how_many_threads_they_may_have() -> None:
    with open_hosted(threads=1) as index:
        environment = Path(f"/proc/{index.process_ids()[0]}/environ").read_bytes().split(b"\0")
    assert {b"OMP_NUM_THREADS=1", b"OPENBLAS_NUM_THREADS=1", b"MKL_NUM_THREADS=1"} <= set(environment)


def test_an_engine_is_ended_before_the_sweep_where_the_machine_has_no_memory_left() -> None:
    with open_hosted() as index:
        (of_engine, cpus_of_threads) = (
            int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in (index.process_ids()[0], "self")
        )
    assert (of_engine, cpus_of_threads < 1000) == (1000, True)


def test_what_is_no_python_is_told_with_what_is_expected() -> None:
    with pytest.raises(ConfigurationError, match=r"/bin/true cannot run an engine: expected Python 3\.11"):
        describe_engines(plan_cases([IndexEntry("hnswlib", python="/bin/true")], [RequestMode("batch")]))


def test_a_library_that_is_installed_and_does_not_load_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "annoy", None)
    monkeypatch.delitem(sys.modules, "assay.indexes.engines.annoy", raising=False)
    with pytest.raises(
        EngineError, match=r"^annoy [\d.]+ is installed but cannot be loaded: import of annoy"
    ):
        load_engine("annoy")


def test_a_file_is_mapped_and_not_held(tmp_path: Path) -> None:
    rows = np.zeros((100_000, 64), np.float32)
    rows.tofile(tmp_path / "rows")
    vectors = MappedVectors(str(tmp_path / "rows"), rows.shape, rows.dtype)
    with HostedIndex("misbehaving", {}, metric="l2", d=64) as index:
        result = index.build(vectors)
    assert result.memory_bytes is not None
    assert rows.nbytes * 0.9 < result.memory_bytes < rows.nbytes * 1.5  # its own copy, once


def test_brute_force_that_calls_itself_an_index_is_caught() -> None:
    hard = make_hard_queries(BASE, "l2")
    results = {}
    for engine in ("misbehaving", "pretending"):
        with open_hosted(engine=engine) as index:
            index.build(BASE)
            results[engine] = uses_index(index, hard)
    assert results == {"misbehaving": True, "pretending": False}


def test_a_small_or_flat_base_cannot_tell_an_index_from_brute_force() -> None:
    assert make_hard_queries(InMemoryVectors(BASE.matrix[:999]), "l2") is None
    assert make_hard_queries(InMemoryVectors(BASE.matrix[:, :2]), "l2") is None


def test_bytes_in_another_order_are_turned_before_an_engine_has_them(tmp_path: Path) -> None:
    write_vectors(BASE, tmp_path / "base.idx")
    swapped = read_vectors(tmp_path / "base.idx")
    assert np.array_equal(map_rows(swapped), BASE.matrix)
    assert np.array_equal(map_rows(prepare_for_engines(swapped, "l2", tmp_path / "taken")), BASE.matrix)


def test_questions_are_checked_in_the_process_of_the_engine() -> None:
    with EngineProcess(timeout=60) as process:
        results = process.call("problems", "misbehaving", {"fials": "x", "seed": "one"}, {"rows": 3})
    assert results == {
        "build.fials": "there is no such parameter; did you mean fails?",
        "build.seed": "expected int, found 'one'",
    }


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
def test_a_base_of_many_ties_cannot_tell_an_index_from_brute_force(metric: str) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (5000, 8)).astype(np.uint8)
    bits[:, 0] = 1  # nothing of length 0
    assert make_hard_queries(InMemoryVectors(bits), metric) is None
    assert make_hard_queries(InMemoryVectors(np.ones((2000, 8), np.float32)), metric) is None
    twice = np.repeat(rng.normal(0, 1, (1000, 8)).astype(np.float32), 2, axis=0)
    twice /= np.linalg.norm(twice, axis=1, keepdims=True)
    assert make_hard_queries(InMemoryVectors(twice), metric) is not None


BARE = """
import numpy as np
from assay.indexes.index import Index

class Bare(Index):
    def build(self, vectors):
        self.n = len(vectors)

    def search(self, queries, k):
        return np.zeros((len(queries), k), np.int64)
"""


def test_an_engine_that_names_no_package_has_the_version_of_its_distribution(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(BARE)
    with open(tmp_path / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write("bare = bare:Bare\n")
    with HostedIndex("bare", {}, metric="l2", d=8) as index:
        assert re.fullmatch("0.1 source [0-9a-f]{8}", index.build(BASE).version)
        assert index.search(QUERIES, 3).positions.shape == (len(QUERIES.matrix), 3)


def test_a_name_that_two_engines_have_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write("hnswlib = misbehaving:Misbehaving\n")
    with pytest.raises(
        InputError,
        match=r"hnswlib is the name of 2 engines, of Assay and of others \(misbehaving:Misbehaving\)",
    ):
        HostedIndex("hnswlib", {}, metric="l2", d=8)


def test_an_engine_that_writes_into_its_queries_does_not_spoil_those_to_come(tmp_path: Path) -> None:
    class Writing(Index):
        def search(self, queries: Rows, k: int) -> Positions:
            firsts.append(float(queries[0, 0]))
            queries[:] = 0
            return np.zeros((len(queries), k), np.int64)

    firsts: list[float] = []
    write_vectors(QUERIES, tmp_path / "queries.fbin")
    queries = read_vectors(tmp_path / "queries.fbin")
    worker = Worker()
    worker.index = Writing(Setup("l2", 8, 1, tmp_path))
    for _ in range(2):
        worker.warm_up(queries, 3, 1, batch=False)
        worker.search_batch(queries, 3)
        worker.prepare_requests(queries, np.arange(1), 3)
        worker.search_single()
    assert firsts == [float(QUERIES.matrix[0, 0])] * 6


def test_an_engine_that_lays_out_more_or_fewer_requests_than_queries_is_told(tmp_path: Path) -> None:
    class Sparing(Index):
        def requests(self, queries: Rows, k: int, clients: int) -> Requests:
            return Requests(self.search, list(queries[1:]))

    worker = Worker()
    worker.index = Sparing(Setup("l2", 8, 1, tmp_path))
    with pytest.raises(EngineError, match=r"requests\(\) returned 4 items for 5 queries"):
        worker.prepare_requests(QUERIES, np.arange(5), 3)


@pytest.mark.parametrize("clients", [1, 3])
def test_what_faiss_found_is_not_written_over_by_the_next_pass(clients: int, tmp_path: Path) -> None:
    worker = Worker()
    worker.open("faiss.flat", {}, Setup("l2", 8, 1, tmp_path))
    worker.build(BASE)
    n = len(QUERIES)
    worker.prepare_requests(QUERIES, np.arange(n), 3, clients)
    first = worker.search_single().positions
    before = first.copy()
    worker.prepare_requests(QUERIES, np.arange(n)[::-1], 3, clients)
    again = worker.search_single().positions
    assert (first == before).all()
    assert (again == before[::-1]).all()
    assert (before == worker.search_batch(QUERIES, 3).positions).all()


def test_a_process_that_is_gone_is_not_killed_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be another's by then."""
    index = open_hosted("")
    index.kill()
    killed: list[int] = []
    monkeypatch.setattr("os.kill", lambda pid, _: killed.append(pid))
    index.close()
    assert not killed


def test_a_question_after_the_one_that_ended_the_process_is_not_said_to_have_ended_it() -> None:
    with open_hosted("exit") as index:
        index.send("build", BASE)
        while index.is_alive:
            time.sleep(0.01)
        with pytest.raises(EngineError, match=r"the process ended during build \(exit 7\): no licence"):
            index.send("load")


def test_a_warm_up_is_as_long_as_asked_and_else_every_query_as_long_as_time_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting(Index):
        def search(self, queries: Rows, k: int) -> Positions:
            batches.append(queries[:, 0].tolist())
            return np.zeros((len(queries), k), np.int64)

    def warm_up_batches(
        n: int | None, min_seconds: float, max_seconds: float, batch: bool = False
    ) -> list[list[float]]:
        batches.clear()
        monkeypatch.setattr("assay.indexes.hosting.worker._WARM_UP_SECONDS", (min_seconds, max_seconds))
        worker.warm_up(QUERIES, 3, n, batch)
        return list(batches)

    batches: list[list[float]] = []
    worker = Worker()
    worker.index = Counting(Setup("l2", 8, 1, tmp_path))
    every = QUERIES.matrix[:, 0].tolist()
    firsts = [[first] for first in every]
    assert [warm_up_batches(n, 0, 600) for n in (0, 2, None)] == [[], firsts[:2], firsts]
    assert [warm_up_batches(n, 0, -1) for n in (2, None)] == [firsts[:2], []]
    begin = time.monotonic()
    again = warm_up_batches(None, 0.1, 600)  # they are soon through
    assert time.monotonic() - begin >= 0.1
    assert again[: len(firsts) + 1] == [*firsts, firsts[0]]
    assert warm_up_batches(len(every) + 2, 0, 600) == [*firsts, *firsts[:2]]
    assert warm_up_batches(10, 0, 600, batch=True) == [every[:10]]
    assert warm_up_batches(len(every) + 2, 0, 600, batch=True) == [every, every[:2]]
    growing = warm_up_batches(None, 0.1, 600, batch=True)
    assert growing[:3] == [every[:1], every[1:3], every[3:7]]
    assert every in growing


def test_batches_that_warm_up_grow_no_longer_than_there_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Taking(Index):
        def search(self, queries: Rows, k: int) -> Positions:
            sizes.append(len(queries))
            return np.zeros((len(queries), k), np.int64)

    sizes: list[int] = []
    clock = SimpleNamespace(monotonic=lambda: sum(sizes) * 0.01)  # seconds for each query
    monkeypatch.setattr("assay.indexes.hosting.worker.time", clock)
    worker = Worker()
    worker.index = Taking(Setup("l2", 8, 1, tmp_path))
    worker.warm_up(InMemoryVectors(np.zeros((5000, 8), np.float32)), 3, None, batch=True)
    assert sizes[:6] == [1, 2, 4, 8, 16, 32]
    assert 100 <= sum(sizes) <= 102  # a second


@pytest.mark.parametrize(("size", "tells"), [(1e30, True), (3e38, False)])
def test_a_base_of_huge_numbers_gives_queries_that_are_numbers(size: float, tells: bool) -> None:
    base = size * np.random.default_rng(1).uniform(-1, 1, (1000, 8))
    results = make_hard_queries(InMemoryVectors(base.astype(np.float32)), "l2")
    assert (results is not None) == tells
    assert results is None or np.isfinite(results.queries.to_matrix()).all()


def test_a_file_of_ones_own_that_is_named_as_a_library_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("numpy", "random", "misbehaving"):
        Path(f"{name}.py").write_text("raise RuntimeError('my script')")
    with open_hosted() as index:
        index.build(BASE)
        assert index.search(QUERIES, 3).positions.shape == (len(QUERIES.matrix), 3)
