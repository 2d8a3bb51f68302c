"""assay dataset: what it writes, shows and finds, and how it leaves."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from assay.cli import call as run
from assay.core.vectors import Neighbors
from assay.datasets.generate import generate
from assay.datasets.vectors import read_neighbors, read_vectors, write_neighbors, write_vectors


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call_dataset(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["dataset", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_base_and_queries_are_made_from_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rows", "500", "-d", "8", "--count", "20", "--seed", "4", "--queries", "queries.npy"]
    code, out, err = call_dataset(capsys, "generate", "hubs", "base.fbin", *options)
    assert (code, out) == (0, "")
    assert err == "base.fbin: 500 rows of 8 float32\nqueries.npy: 20 rows of 8 float32\n"
    made = generate("hubs", 500, 8, queries=20, seed=4)
    assert np.array_equal(read_vectors("base.fbin").to_matrix(), made.base.to_matrix())
    assert np.array_equal(read_vectors("queries.npy").to_matrix(), made.queries.to_matrix())


def test_vectors_are_exported_whole_or_by_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.arange(30, dtype=np.uint8).reshape(10, 3)
    write_vectors(rows, "a.u8bin")
    assert call_dataset(capsys, "export", "a.u8bin", "b.parquet")[0] == 0
    code, _, err = call_dataset(capsys, "export", "b.parquet", "c.fvecs", "--rows", "4:")
    assert (code, err) == (0, "c.fvecs: 6 rows of 3 float32\n")
    assert call_dataset(capsys, "export", "c.fvecs", "d.dat", "--to", "i8bin", "--dtype", "int8")[0] == 0
    assert np.array_equal(read_vectors("d.dat", format="i8bin").to_matrix(), rows[4:])


def test_neighbours_are_exported(capsys: pytest.CaptureFixture[str]) -> None:
    write_neighbors(Neighbors(np.array([[1, 2]]), np.array([[4.0, 9.0]])), "t.bin")
    code, _, err = call_dataset(
        capsys, "export", "t.bin", "t.parquet", "--neighbors", "--distances", "squared"
    )
    assert (code, err) == (0, "t.parquet: 2 neighbours of 1 queries\n")
    assert read_neighbors("t.parquet").distances.tolist() == [[2, 3]]  # type: ignore[union-attr]
    code, _, err = call_dataset(capsys, "export", "t.parquet", "t.ivecs", "--neighbors")
    assert err.startswith("note: ivecs cannot hold distances")
    assert read_neighbors("t.ivecs").positions.tolist() == [[1, 2]]


def test_what_cannot_be_exported_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.eye(3), "a.npy")
    for argv, problem in (
        (["a.npy", "b.fbin"], "can hold float32, but the vectors are float64"),
        (["a.npy", "b.npy", "--rows", "all"], "--rows expects START:STOP, such as 0:1000, found 'all'"),
        (["a.npy", "b.npy", "--rows", "0:4"], "expected rows between 0 and 3, found 0 to 4"),
        (["a.npy", "b.npy", "--neighbors", "--rows", "0:2"], "--dtype and --rows are for vectors"),
        (["a.npy", "b.xyz"], "cannot be told from the name"),
        (["none.npy", "b.npy"], "none.npy: cannot be read: No such file"),
    ):
        code, out, err = call_dataset(capsys, "export", *argv)
        assert (code, out) == (2, "")
        assert problem in err
    assert sorted(path.name for path in Path().iterdir()) == ["a.npy"]


def test_files_are_shown_with_shape_and_type(capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.eye(3, dtype=np.float16), "a.f16bin")
    write_neighbors(Neighbors(np.array([[1, 2]])), "t.ivecs")
    code, out, _ = call_dataset(capsys, "show", "a.f16bin", "t.ivecs", "--format", "json", "--digest")
    vectors, neighbors = json.loads(out)["files"]
    assert code == 0
    assert (vectors["rows"], vectors["columns"], vectors["dtype"]) == (3, 3, "float16")
    assert len(vectors["digest"]) == 32
    assert (neighbors["holds"], neighbors["rows"], neighbors["columns"]) == ("neighbors", 1, 2)
    _, out, _ = call_dataset(capsys, "show", "a.f16bin", "t.ivecs", "--format", "csv")
    assert out.splitlines()[1] == "a.f16bin,vectors,f16bin,3,3,float16,"


@pytest.mark.skipif(not find_spec("h5py"), reason="h5py is not installed")
def test_an_hdf5_file_is_shown_with_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.eye(3), "a.hdf5:train")
    write_vectors(np.eye(3)[:2], "a.hdf5:test")
    _, out, _ = call_dataset(capsys, "show", "a.hdf5", "a.hdf5:test")
    assert "parts\n- a.hdf5 has test, train" in out
    assert call_dataset(capsys, "check", "a.hdf5", "a.hdf5")[1].splitlines()[2].split()[:3] == [
        "a.hdf5",
        "2",
        "3",
    ]


def test_hdf5_without_its_library_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    code, _, err = call_dataset(capsys, "show", "a.hdf5")
    assert code == 2
    assert "HDF5 needs h5py, which is not installed: pip install 'assay-search[hdf5]'" in err


def test_sound_vectors_pass_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.eye(3), "a.npy")
    code, out, _ = call_dataset(capsys, "check", "a.npy", "--metric", "cosine")
    assert code == 0
    assert out.endswith("problems\n- no problem found\n")


def test_faults_are_found_and_leave_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    bad = np.ones((5, 3), np.float32)
    bad[2], bad[4, 0] = 0, np.nan
    write_vectors(bad, "a.npy")
    write_vectors(np.eye(2, dtype=np.float32), "q.npy")
    code, out, _ = call_dataset(capsys, "check", "a.npy", "q.npy", "--metric", "cosine", "--format", "json")
    made = json.loads(out)
    assert code == 2
    assert made["files"][0]["not_finite"] == {"number": 1, "first": 4}
    assert made["files"][0]["zero"] == {"number": 1, "first": 2}
    assert made["problems"] == ["base and queries have 3 and 2 dimensions"]
    bad[4, 0] = 1
    write_vectors(bad, "a.npy")
    assert call_dataset(capsys, "check", "a.npy", "--metric", "ip")[0] == 0


def test_what_has_no_distance_does_not_pass_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    for rows, problem in (
        (np.full((2, 3), 1e300), "2 of 2 rows hold numbers above 1e+150, the first at position 0"),
        (np.ones((0, 3)), "there are no rows"),
        (np.full((2, 3), 1e-170), "2 of 2 rows hold no number of 1e-140 or more, the first at position 0"),
    ):
        np.save("a.npy", rows)
        code, out, _ = call_dataset(capsys, "check", "a.npy", "--metric", "cosine")
        assert code == 2
        assert problem in out


def test_the_queries_beside_a_base_are_checked_too(capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File("both.hdf5", "w") as file:
        file["train"], file["test"] = np.eye(3), np.array([[1, np.nan, 0]])
    code, out, _ = call_dataset(capsys, "check", "both.hdf5", "--metric", "l2")
    assert code == 2
    assert "both.hdf5:test: 1 of 1 rows hold NaN" in out


def test_queries_are_not_written_over_their_base(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call_dataset(
        capsys, "generate", "clusters", "a.fbin", "--queries", "./a.fbin", "--rows", "9"
    )
    assert (code, Path("a.fbin").exists()) == (2, False)
    assert "./a.fbin is the file of the base: write the queries to another" in err


def test_the_type_that_is_told_is_that_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = call_dataset(
        capsys, "generate", "clusters", "a.fbin", "--rows", "9", "-d", "4", "--dtype", "uint8"
    )
    assert err == "a.fbin: 9 rows of 4 float32\n"


def test_every_command_has_examples_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("export", "generate", "show", "check"):
        code, out, _ = call_dataset(capsys, name, "--help")
        assert code == 0
        assert f"examples:\n  assay dataset {name} " in out


def test_every_style_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.zeros((2, 2)), "a.npy")
    for style in ("table", "json", "csv", "md", "html"):
        for action in ("show", "check"):
            code, out, _ = call_dataset(capsys, action, "a.npy", "--format", style)
            assert code == 0
            assert "a.npy" in out
