"""Parts of the work: kept through a kill, sent to a cluster, and searched in little memory."""

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.core.vectors import InMemoryVectors, MappedVectors, Neighbors
from assay.datasets.vectors import read_neighbors, write_vectors
from assay.indexes.exact.part_results import remove_part_results
from assay.indexes.exact.sharding import RayRunner
from assay.indexes.exact.truth import truth

RNG = np.random.default_rng(2)
BASE = RNG.standard_normal((4000, 12)).astype(np.float32)
QUERIES = RNG.standard_normal((30, 12)).astype(np.float32)
WHOLE = truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2")

_KILLED = """
import os, signal, sys
import numpy as np
from assay.core.vectors import InMemoryVectors
from assay.indexes.exact.truth import truth
base, queries = (InMemoryVectors(np.load(path)) for path in sys.argv[1:3])
def kill(done, total):
    if done > float(sys.argv[4]) * total:
        os.kill(os.getpid(), signal.SIGKILL)
truth(base, queries, 10, "l2", threads=1, block=100, parts=8, checkpoint=sys.argv[3], progress=kill)
"""
_LIMITED = """
import resource, sys
import numpy as np
from assay.core.vectors import InMemoryVectors, MappedVectors
from assay.indexes.exact.truth import truth
path, rows, spare = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
base = MappedVectors(path, (rows, 64), np.dtype(np.float32))
queries = InMemoryVectors(np.load(sys.argv[4]))
truth(InMemoryVectors(queries.matrix), queries, 2, "l2", threads=1)  # imports what is loaded on first use
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + spare, held + spare))
found = truth(base, queries, 10, "l2", threads=1)
np.save(sys.argv[5], found.positions)
"""


def same(left_result: Neighbors, other: Neighbors) -> bool:
    assert left_result.distances is not None
    assert other.distances is not None
    return np.array_equal(left_result.positions, other.positions) and np.array_equal(
        left_result.distances, other.distances
    )


def kill_at_share(folder: Path, share: float) -> int:
    """Start work in a process that kills itself on the way."""
    np.save(folder / "base.npy", BASE)
    np.save(folder / "queries.npy", QUERIES)
    places = (folder / "base.npy", folder / "queries.npy", folder / "kept")
    command = [sys.executable, "-c", _KILLED, *map(str, places), str(share)]
    return subprocess.run(command, check=False, timeout=60).returncode


def test_work_that_was_killed_again_and_again_ends_like_any_other(tmp_path: Path) -> None:
    for share in (0.1, 0.3, 0.6, 0.9):
        assert kill_at_share(tmp_path, share) == -signal.SIGKILL
    reports: list[int] = []
    result = truth(
        InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", parts=8, checkpoint=tmp_path / "kept",
        progress=lambda pairs, _: reports.append(pairs),
    )  # fmt: skip
    assert same(result, WHOLE)
    assert reports[0] == 7 * 500 * 30  # seven of eight parts were there


def test_parts_of_another_base_are_not_taken_up(tmp_path: Path) -> None:
    for base in (BASE, BASE + 1):
        result = truth(
            InMemoryVectors(base), InMemoryVectors(QUERIES), 10, "l2", parts=3, checkpoint=tmp_path
        )
        assert same(result, truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 10, "l2"))
    assert len(list(tmp_path.glob("*.npz"))) == 6


@pytest.mark.parametrize("size", [0, 3, 500])
def test_a_part_that_is_damaged_is_made_anew(tmp_path: Path, size: int) -> None:
    truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", parts=3, checkpoint=tmp_path)
    chosen_rows = next(tmp_path.glob("*.npz"))
    chosen_rows.write_bytes(chosen_rows.read_bytes()[:size])
    assert same(
        truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", parts=3, checkpoint=tmp_path), WHOLE
    )
    assert chosen_rows.stat().st_size > 500


def test_what_was_kept_is_forgotten_with_its_folder(tmp_path: Path) -> None:
    truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", parts=3, checkpoint=tmp_path / "kept")
    remove_part_results(tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []


def test_work_of_one_part_keeps_nothing(tmp_path: Path) -> None:
    truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", checkpoint=tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells what a process holds")
def test_a_base_larger_than_the_memory_is_searched(tmp_path: Path) -> None:
    """The file is 384 MB, most of it a hole; the process may take 96 MB beside what it holds."""
    rows, place = 1_500_000, tmp_path / "base"
    query_rows = np.full((25, 64), 70, np.float32) + np.arange(25, dtype=np.float32)[:, None]
    at = np.linspace(1, rows - 1, 25).astype(int)
    with open(place, "wb") as file:
        for row, position in zip(query_rows, at.tolist(), strict=True):
            file.seek(position * 256)
            file.write(row.tobytes())
    np.save(tmp_path / "queries.npy", query_rows)
    arguments = [place, rows, 96 << 20, tmp_path / "queries.npy", tmp_path / "found.npy"]
    command = [sys.executable, "-c", _LIMITED, *map(str, arguments)]
    subprocess.run(command, check=True, timeout=120, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    order = np.argsort(np.abs(np.arange(25)[:, None] - np.arange(25)), axis=1, kind="stable")[:, :10]
    assert np.array_equal(np.load(tmp_path / "found.npy"), at[order])
    assert place.stat().st_size > 96 << 20
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_rows_of_a_file_come_in_the_order_asked_for(tmp_path: Path) -> None:
    (tmp_path / "base").write_bytes(BASE.tobytes())
    mapped = MappedVectors(str(tmp_path / "base"), BASE.shape, BASE.dtype)
    chosen_rows = np.array([3999, 0, 17, 17, 2500])
    assert np.array_equal(mapped.take(chosen_rows), BASE[chosen_rows])
    assert mapped.take(np.array([], np.int64)).shape == (0, 12)


def test_two_workers_of_a_cluster_equal_one_process(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    write_vectors(InMemoryVectors(BASE), tmp_path / "base.fbin")
    write_vectors(InMemoryVectors(QUERIES), tmp_path / "queries.fbin")
    # by a process of its own: those that Ray starts may hang where other threads use gRPC
    command = [str(Path(sys.executable).with_name("assay")), "truth", "base.fbin", "queries.fbin", "-k", "10"]
    command += ["--metric", "l2", "--ray", "local", "--threads", "2", "--parts", "5", "-o", "truth.parquet"]
    for _ in range(3):  # Ray gives a busy machine half a minute to start it, whatever it is told
        reports = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        if "cannot use Ray (local)" not in reports.stderr:
            break
    assert reports.returncode == 0, reports.stderr
    assert same(read_neighbors(tmp_path / "truth.parquet"), WHOLE)


@pytest.mark.parametrize("error", [RuntimeError, ConnectionError, Exception])
def test_a_cluster_that_does_not_start_is_told(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")

    def late(**options: object) -> None:
        raise error("Timed out waiting for file")

    monkeypatch.setattr(ray, "init", late)
    with pytest.raises(EngineError, match=r"cannot use Ray \(local\): Timed out waiting for file"):
        truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", runner=RayRunner("local", 2))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nonsense", "expected the address of a Ray cluster, HOST:PORT, auto or local; found 'nonsense'"),
        (
            "127.0.0.1:66666",
            "expected the address of a Ray cluster, HOST:PORT, auto or local; found '127.0.0.1:66666'",
        ),
        ("127.0.0.1:1", "cannot reach a Ray cluster at 127.0.0.1:"),
    ],
    ids=["no address", "no port", "nobody there"],
)
def test_an_address_without_a_cluster_is_refused(address: str, message: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(InputError, match=re.escape(message)):
        RayRunner(address).part_count()


def test_a_missing_cluster_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'assay-search\[ray\]'"):
        truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, "l2", runner=RayRunner("local", 2))
