"""assay truth: what it prints, writes and refuses, and how it leaves."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.cli import call as run
from assay.cli.truth_progress import TruthProgressLine
from assay.core.vectors import InMemoryVectors, Neighbors
from assay.datasets.vectors import read_neighbors, write_neighbors, write_vectors
from assay.indexes.exact.truth import truth

RNG = np.random.default_rng(3)
BASE = RNG.integers(0, 4, (300, 6)).astype(np.float32)
QUERIES = RNG.standard_normal((20, 6)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(BASE, "base.fbin")
    write_vectors(QUERIES, "queries.fvecs")
    return tmp_path


def call_truth(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["truth", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_neighbours_are_written_and_summed_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.ones((2, 6), np.float32), "ones.npy")
    code, out, err = call_truth(
        capsys, "base.fbin", "ones.npy", "-k", "5", "--metric", "l2", "-o", "t.parquet"
    )
    assert (code, err) == (0, "")
    assert out.startswith("base: 300 × 6, float32; queries: 2\nthe nearest 5 by l2, exact;")
    assert "2 of 2 queries have a tie at k: the next neighbour is as near as the last" in out
    assert out.endswith("written to t.parquet\n")
    expected = truth(InMemoryVectors(BASE), InMemoryVectors(np.ones((2, 6))), 5, "l2")
    assert np.array_equal(read_neighbors("t.parquet").positions, expected.positions)


def test_the_summary_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_truth(
        capsys,
        "base.fbin",
        "queries.fvecs",
        "-k",
        "300",
        "--metric",
        "ip",
        "--format",
        "json",
        "--block",
        "7",
    )
    made = json.loads(out)
    assert made.pop("seconds") > 0
    assert made == {
        "n": 300, "d": 6, "type": "float32", "queries": 20, "k": 300, "metric": "ip", "ties_at_k": 0,
        "output": None,
    }  # fmt: skip


def test_a_format_without_distances_gets_positions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = call_truth(
        capsys, "base.fbin", "queries.fvecs", "-k", "3", "--metric", "l2", "-o", "t.ivecs"
    )
    assert code == 0
    assert read_neighbors("t.ivecs").positions.shape == (20, 3)


def test_an_hdf5_file_brings_queries_and_metric(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File("set.hdf5", "w") as file:
        file["train"], file["test"], file.attrs["distance"] = BASE + 1, QUERIES, "angular"
    code, out, _ = call_truth(capsys, "set.hdf5", "-k", "3")
    assert code == 0
    assert "the nearest 3 by cosine" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["base.fbin", "queries.fvecs"], "base.fbin does not say its metric: give --metric l2|ip|cosine"),
        (["base.fbin"], "base.fbin: only an HDF5 file has both base and queries; give QUERIES as well"),
        (["base.fbin", "queries.fvecs", "--metric", "l2", "-k", "301"], "k must be at most 300"),
        (["base.fbin", "queries.fvecs", "--metric", "l2", "-o", "t.foo"], "t.foo: the format cannot be"),
        (["base.fbin", "queries.fvecs", "--metric", "l2", "--threads", "0"], "--threads must be 1 or more"),
        (["base.fbin", "base.fbin", "--metric", "cosine"], "queries: "),
    ],
)  # fmt: skip
def test_wrong_use_is_told_before_the_work(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    base = BASE.copy()
    base[4] = 0
    write_vectors(base, "base.fbin")
    code, out, err = call_truth(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"assay truth: {message}")


def write_spoilt_truth() -> None:
    """A truth with a duplicate in one row."""
    found = truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 4, "l2")
    positions = found.positions.copy()
    positions[7, 3] = positions[7, 0]
    write_neighbors(Neighbors(positions, found.distances), "spoilt.parquet")


def test_an_audit_says_what_is_wrong_and_leaves_with_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_spoilt_truth()
    code, out, _ = call_truth(
        capsys, "audit", "spoilt.parquet", "base.fbin", "queries.fvecs", "--metric", "l2"
    )
    assert code == 1
    assert out.startswith("spoilt.parquet: 1 problem\nthe nearest 4 of 300 × 6 for 20 queries, l2\n")
    assert "best reachable recall@4: 0.9875" in out
    assert "✗  duplicate ids " in out
    assert "1 of 20 queries  0.0500  query 7 names " in out
    assert "- duplicate ids: an id can be hit only once" in out
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize("style", ["json", "md", "html"])
def test_an_audit_in_other_formats(folder: Path, capsys: pytest.CaptureFixture[str], style: str) -> None:
    write_spoilt_truth()
    code, out, _ = call_truth(
        capsys, "audit", "spoilt.parquet", "base.fbin", "queries.fvecs", "--metric", "l2", "--format", style
    )
    assert code == 1
    if style == "json":
        made = json.loads(out)
        first = made["findings"][0]
        assert (made["clean"], made["reachable"], made["right"]) == (False, 0.9875, 19)
        assert (first["name"], first["cases"], first["share"]) == ("duplicate ids", 1, 0.05)
    else:
        assert "duplicate ids" in out


def test_an_audit_of_our_own_truth_is_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_truth(capsys, "base.fbin", "queries.fvecs", "-k", "9", "--metric", "ip", "-o", "t.parquet")
    code, out, _ = call_truth(capsys, "audit", "t.parquet", "base.fbin", "queries.fvecs", "--metric", "ip")
    assert code == 0
    assert out.startswith("t.parquet: no problem found\n")
    assert "20 of 20 recomputed queries have a correct row" in out


_INTERRUPTED = """
import os, signal
from assay.cli import main, truth
def interrupt(self, done, total):
    if done > total / 2:  # again with every block: the second comes while the first is seen to
        os.kill(os.getpid(), signal.SIGINT)
truth.TruthProgressLine.__call__ = interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
main()
"""


def test_after_an_interruption_the_same_command_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["base.fbin", "queries.fvecs", "-k", "5", "--metric", "l2", "-o", "t.parquet", "--parts", "10"]
    command = [sys.executable, "-c", _INTERRUPTED, "truth", *argv, "--block", "10"]
    left = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert left.returncode == 128 + signal.SIGINT
    assert "finished parts are in t.parquet.part: run the same command again to continue" in left.stderr
    assert len(list(Path("t.parquet.part").glob("*.npz"))) >= 4
    assert call_truth(capsys, *argv)[0] == 0
    expected = truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 5, "l2")
    assert np.array_equal(read_neighbors("t.parquet").positions, expected.positions)
    assert not Path("t.parquet.part").exists()


def test_a_file_where_parts_are_to_be_kept_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.parquet.part").touch()
    argv = ["base.fbin", "queries.fvecs", "-k", "5", "--metric", "l2", "-o", "p.parquet", "--parts", "3"]
    code, _, err = call_truth(capsys, *argv)
    assert code == 2
    assert (
        "cannot create the folder p.parquet.part for finished parts (File exists): move what is there" in err
    )


@pytest.mark.parametrize(
    ("output", "hint"), [("base.npy", ""), ("both.hdf5", r", or to a new dataset \./both\.hdf5:NAME")]
)
def test_what_is_read_is_not_written_over(
    folder: Path, capsys: pytest.CaptureFixture[str], output: str, hint: str
) -> None:
    write_vectors(BASE, "base.npy")
    write_vectors(BASE, "both.hdf5:train")
    write_vectors(QUERIES, "both.hdf5:test")
    before = Path(output).read_bytes()
    queries = [] if hint else ["queries.fvecs"]
    code, _, err = call_truth(capsys, output, *queries, "-k", "5", "--metric", "l2", "-o", f"./{output}")
    assert code == 2
    assert re.search(rf"\./{output} is also read, and would be lost: write to another file", err)
    assert bool(hint) == ("to a new dataset ./both.hdf5:NAME" in err)
    assert Path(output).read_bytes() == before
    assert run(["dataset", "export", output, f"./{output}"]) == 2
    assert Path(output).read_bytes() == before
    if hint:
        assert call_truth(capsys, output, "-k", "5", "--metric", "l2", "-o", "both.hdf5:neighbors")[0] == 0
        assert read_neighbors("both.hdf5").k == 5


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("none/t.parquet", "there is no folder 'none'; create it first"),
        ("held.parquet", "is a folder; give a file in it"),
    ],
)
def test_an_output_that_cannot_be_written_is_told_before_the_work(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    problem: str,
) -> None:
    Path("held.parquet").mkdir()
    monkeypatch.setattr("assay.workflows.truth.truth", lambda *_, **__: pytest.fail("it was computed"))
    code, _, err = call_truth(capsys, "base.fbin", "queries.fvecs", "-k", "5", "--metric", "l2", "-o", output)
    assert (code, err) == (2, f"assay truth: {output}: {problem}\n")
    assert sorted(os.listdir()) == ["base.fbin", "held.parquet", "queries.fvecs"]


@pytest.mark.parametrize("k", ["0", "-3"])
def test_at_least_one_neighbour_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], k: str
) -> None:
    code, _, err = call_truth(capsys, "base.fbin", "queries.fvecs", "-k", k, "--metric", "l2")
    assert (code, err) == (2, f"assay truth: -k must be 1 or more, found {k}\n")


def test_a_log_gets_whole_lines_on_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assay.cli.truth_progress._LOG_SECONDS", 0.0)
    line = TruthProgressLine()
    for done in (1, 50, 100):
        line(done, 100)
    line.clear()
    assert re.fullmatch(r"truth: 50 %, .* s left\ntruth: 100 %, .* 0 s left\n", capsys.readouterr().err)
