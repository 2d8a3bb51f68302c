"""An engine in its own process: what goes wrong there ends there."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from assay.core.errors import ConfigurationError, EngineError, InputError
from assay.core.vectors import Held, Mapped, Positions
from assay.datasets.vectors import read_vectors, write_vectors
from assay.indexes.engines import load
from assay.indexes.hosting.hosted import Hosted, Process
from assay.indexes.hosting.processes import marked
from assay.indexes.hosting.worker import Worker, rows
from assay.indexes.index import Index, Requests, Rows, Setup
from assay.indexes.sweeps.data import as_engines_take
from assay.indexes.sweeps.described import describe
from assay.indexes.sweeps.guard import hard_queries, indexed
from assay.indexes.sweeps.plan import Asking, Entry, cases
from benches import clustered, install_others

BASE, QUERIES = clustered()


@pytest.fixture(autouse=True)
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_others(tmp_path, monkeypatch)


def hosted(fails: str = "", engine: str = "misbehaving", **more: object) -> Hosted:
    return Hosted(engine, {"fails": fails}, metric="l2", d=8, **more)  # type: ignore[arg-type]


def test_an_engine_of_somebody_else_is_built_and_searched_by_its_entry_point() -> None:
    with hosted() as index:
        built = index.build(BASE)
        answers = [index.search(QUERIES, 3, mode=mode) for mode in ("batch", "single")]
    nearest = ((BASE.matrix[None] - QUERIES.matrix[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    assert answers[0].positions[:, 0].tolist() == nearest.tolist()
    assert (answers[0].positions == answers[1].positions).all()
    assert built.version == "0.1"
    assert built.disk_bytes is not None
    assert built.disk_bytes > BASE.matrix.nbytes


def test_what_comes_before_building_is_not_timed_and_not_done_to_load(tmp_path: Path) -> None:
    done = []

    class Compiled(Index):
        def prepare(self) -> None:
            done.append("prepare")
            time.sleep(0.5)

        def build(self, vectors: Rows) -> None:
            done.append("build")

        def load(self) -> None:
            done.append("load")

    worker = Worker()
    worker.index = Compiled(Setup("l2", 8, 1, tmp_path))
    assert worker.build(BASE).seconds < 0.5
    worker.load()
    assert done == ["prepare", "build", "load"]


def test_what_a_batch_is_made_of_has_no_latencies_and_single_queries_have() -> None:
    with hosted() as index:
        index.build(BASE)
        assert index.search(QUERIES, 3).latencies is None
        single = index.search(QUERIES, 3, mode="single").latencies
    assert single is not None
    assert (single > 0).all()


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("crash", r"the process ended during build \(killed by SIGSEGV\)"),
        ("exit", r"the process ended during build \(exit 7\): no licence found"),
        ("refuse", "ValueError: the parameter is not to my liking"),
    ],
)
def test_an_engine_that_dies_or_refuses_is_an_error_with_its_reason(fails: str, said: str) -> None:
    with hosted(fails) as index, pytest.raises(EngineError, match=said):
        index.build(BASE)


def test_an_engine_that_hangs_is_ended() -> None:
    with hosted("hang") as index:
        index.timeout = 0.5
        with pytest.raises(EngineError, match=r"build did not end within 0\.5 s"):
            index.build(BASE)
        assert not index.alive


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="the system does not tell how much memory is held")
def test_an_engine_that_eats_memory_is_ended() -> None:
    with (
        hosted("memory", memory=300 << 20) as index,
        pytest.raises(EngineError, match=r"build took [\d,]+ MB of memory, and 300 MB are allowed"),
    ):
        index.build(BASE)


def test_nothing_is_left_of_an_engine_that_is_closed() -> None:
    index = hosted()
    mark, pid = index.mark, index.family()[0]
    assert pid in marked(mark, pid)
    index.close()
    assert not os.path.exists(f"/proc/{pid}")
    assert marked(mark, -1) == [-1]


def test_an_unknown_engine_metric_or_interpreter_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no engine 'misbehavin'; did you mean misbehaving\?"):
        hosted(engine="misbehavin")
    with pytest.raises(InputError, match="misbehaving has no metric hamming; it has l2, ip, cosine"):
        Hosted("misbehaving", {}, metric="hamming", d=8)
    with pytest.raises(InputError, match="there is no interpreter no-such-python: name one"):
        hosted(python="no-such-python")


def test_threads_are_pinned() -> None:
    with hosted(threads=1) as index:
        assert len(os.sched_getaffinity(index.family()[0])) == 1


def test_libraries_are_told_how_many_threads_they_may_have() -> None:
    with hosted(threads=1) as index:
        told = Path(f"/proc/{index.family()[0]}/environ").read_bytes().split(b"\0")
    assert {b"OMP_NUM_THREADS=1", b"OPENBLAS_NUM_THREADS=1", b"MKL_NUM_THREADS=1"} <= set(told)


def test_an_engine_is_ended_before_the_sweep_where_the_machine_has_no_memory_left() -> None:
    with hosted() as index:
        (of_engine, own) = (
            int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in (index.family()[0], "self")
        )
    assert (of_engine, own < 1000) == (1000, True)


def test_what_is_no_python_is_told_with_what_is_expected() -> None:
    with pytest.raises(
        ConfigurationError, match=r"/bin/true cannot host an engine: expected a Python of 3\.11"
    ):
        describe(cases([Entry("hnswlib", python="/bin/true")], [Asking("batch")]))


def test_a_library_that_is_installed_and_does_not_load_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "annoy", None)
    monkeypatch.delitem(sys.modules, "assay.indexes.engines.annoy", raising=False)
    with pytest.raises(
        EngineError, match=r"^annoy [\d.]+ is installed and cannot be loaded: import of annoy"
    ):
        load("annoy")


def test_a_file_is_mapped_and_not_held(tmp_path: Path) -> None:
    rows = np.zeros((100_000, 64), np.float32)
    rows.tofile(tmp_path / "rows")
    vectors = Mapped(str(tmp_path / "rows"), rows.shape, rows.dtype)
    with Hosted("misbehaving", {}, metric="l2", d=64) as index:
        built = index.build(vectors)
    assert built.memory_bytes is not None
    assert rows.nbytes * 0.9 < built.memory_bytes < rows.nbytes * 1.5  # its own copy, once


def test_brute_force_that_calls_itself_an_index_is_caught() -> None:
    hard = hard_queries(BASE, "l2")
    found = {}
    for engine in ("misbehaving", "pretending"):
        with hosted(engine=engine) as index:
            index.build(BASE)
            found[engine] = indexed(index, hard)
    assert found == {"misbehaving": True, "pretending": False}


def test_a_small_or_flat_base_cannot_tell_an_index_from_brute_force() -> None:
    assert hard_queries(Held(BASE.matrix[:999]), "l2") is None
    assert hard_queries(Held(BASE.matrix[:, :2]), "l2") is None


def test_bytes_in_another_order_are_turned_before_an_engine_has_them(tmp_path: Path) -> None:
    write_vectors(BASE, tmp_path / "base.idx")
    swapped = read_vectors(tmp_path / "base.idx")
    assert np.array_equal(rows(swapped), BASE.matrix)
    assert np.array_equal(rows(as_engines_take(swapped, "l2", tmp_path / "taken")), BASE.matrix)


def test_questions_are_checked_in_the_process_of_the_engine() -> None:
    with Process(timeout=60) as process:
        found = process.ask("problems", "misbehaving", {"fials": "x", "seed": "one"}, {"rows": 3})
    assert found == {
        "build.fials": "there is no such parameter; did you mean fails?",
        "build.seed": "expected int, found 'one'",
    }


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
def test_a_base_of_many_ties_cannot_tell_an_index_from_brute_force(metric: str) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (5000, 8)).astype(np.uint8)
    bits[:, 0] = 1  # nothing of length 0
    assert hard_queries(Held(bits), metric) is None
    assert hard_queries(Held(np.ones((2000, 8), np.float32)), metric) is None
    twice = np.repeat(rng.normal(0, 1, (1000, 8)).astype(np.float32), 2, axis=0)
    twice /= np.linalg.norm(twice, axis=1, keepdims=True)
    assert hard_queries(Held(twice), metric) is not None


BARE = """
import numpy as np
from assay.indexes.index import Index

class Bare(Index):
    def build(self, vectors):
        self.n = len(vectors)

    def search(self, queries, k):
        return np.zeros((len(queries), k), np.int64)
"""


def test_an_engine_that_names_no_package_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(BARE)
    with open(tmp_path / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write("bare = bare:Bare\n")
    with Hosted("bare", {}, metric="l2", d=8) as index:
        assert index.build(BASE).version == ""
        assert index.search(QUERIES, 3).positions.shape == (len(QUERIES.matrix), 3)


def test_a_name_that_two_engines_have_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "others-0.1.dist-info" / "entry_points.txt", "a") as file:
        file.write("hnswlib = misbehaving:Misbehaving\n")
    with pytest.raises(
        InputError, match=r"hnswlib names 2 engines, of Assay and of others \(misbehaving:Misbehaving\)"
    ):
        Hosted("hnswlib", {}, metric="l2", d=8)


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
        worker.warm(queries, 3, 1, batch=False)
        worker.batch(queries, 3)
        worker.ready(queries, np.arange(1), 3)
        worker.single()
    assert firsts == [float(QUERIES.matrix[0, 0])] * 6


def test_an_engine_that_lays_out_more_or_fewer_requests_than_queries_is_told(tmp_path: Path) -> None:
    class Sparing(Index):
        def requests(self, queries: Rows, k: int, clients: int) -> Requests:
            return Requests(self.search, list(queries[1:]))

    worker = Worker()
    worker.index = Sparing(Setup("l2", 8, 1, tmp_path))
    with pytest.raises(EngineError, match="5 queries were to be laid out; requests made 4"):
        worker.ready(QUERIES, np.arange(5), 3)


@pytest.mark.parametrize("clients", [1, 3])
def test_what_faiss_found_is_not_written_over_by_the_next_pass(clients: int, tmp_path: Path) -> None:
    worker = Worker()
    worker.open("faiss.flat", {}, Setup("l2", 8, 1, tmp_path))
    worker.build(BASE)
    n = len(QUERIES)
    worker.ready(QUERIES, np.arange(n), 3, clients)
    first = worker.single().positions
    before = first.copy()
    worker.ready(QUERIES, np.arange(n)[::-1], 3, clients)
    again = worker.single().positions
    assert (first == before).all()
    assert (again == before[::-1]).all()
    assert (before == worker.batch(QUERIES, 3).positions).all()


def test_a_process_that_is_gone_is_not_killed_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be another's by then."""
    index = hosted("")
    index.kill()
    killed: list[int] = []
    monkeypatch.setattr("os.kill", lambda pid, _: killed.append(pid))
    index.close()
    assert not killed


def test_a_question_after_the_one_that_ended_the_process_is_not_said_to_have_ended_it() -> None:
    with hosted("exit") as index:
        index.tell("build", BASE)
        while index.alive:
            time.sleep(0.01)
        with pytest.raises(EngineError, match=r"the process ended during build \(exit 7\): no licence"):
            index.tell("load")


def test_a_warm_up_is_as_long_as_asked_and_else_every_query_as_long_as_time_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting(Index):
        def search(self, queries: Rows, k: int) -> Positions:
            asked.append(queries[:, 0].tolist())
            return np.zeros((len(queries), k), np.int64)

    def warmed(n: int | None, least: float, most: float, batch: bool = False) -> list[list[float]]:
        asked.clear()
        monkeypatch.setattr("assay.indexes.hosting.worker._WARM", (least, most))
        worker.warm(QUERIES, 3, n, batch)
        return list(asked)

    asked: list[list[float]] = []
    worker = Worker()
    worker.index = Counting(Setup("l2", 8, 1, tmp_path))
    every = QUERIES.matrix[:, 0].tolist()
    firsts = [[first] for first in every]
    assert [warmed(n, 0, 600) for n in (0, 2, None)] == [[], firsts[:2], firsts]
    assert [warmed(n, 0, -1) for n in (2, None)] == [firsts[:2], []]
    begin = time.monotonic()
    again = warmed(None, 0.1, 600)  # they are soon through
    assert time.monotonic() - begin >= 0.1
    assert again[: len(firsts) + 1] == [*firsts, firsts[0]]
    assert warmed(len(every) + 2, 0, 600) == [*firsts, *firsts[:2]]
    assert warmed(10, 0, 600, batch=True) == [every[:10]]
    assert warmed(len(every) + 2, 0, 600, batch=True) == [every, every[:2]]
    growing = warmed(None, 0.1, 600, batch=True)
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
    worker.warm(Held(np.zeros((5000, 8), np.float32)), 3, None, batch=True)
    assert sizes[:6] == [1, 2, 4, 8, 16, 32]
    assert 100 <= sum(sizes) <= 102  # a second


@pytest.mark.parametrize(("size", "tells"), [(1e30, True), (3e38, False)])
def test_a_base_of_huge_numbers_gives_queries_that_are_numbers(size: float, tells: bool) -> None:
    base = size * np.random.default_rng(1).uniform(-1, 1, (1000, 8))
    found = hard_queries(Held(base.astype(np.float32)), "l2")
    assert (found is not None) == tells
    assert found is None or np.isfinite(found.queries.whole()).all()


def test_a_file_of_ones_own_that_is_named_as_a_library_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("numpy", "random", "misbehaving"):
        Path(f"{name}.py").write_text("raise RuntimeError('my script')")
    with hosted() as index:
        index.build(BASE)
        assert index.search(QUERIES, 3).positions.shape == (len(QUERIES.matrix), 3)
