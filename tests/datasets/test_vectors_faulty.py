"""Truncated, corrupt and other files are refused with what was expected and found."""

import re
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import read_neighbors, read_vectors, write_neighbors, write_vectors

ROWS = np.arange(40, dtype=np.float32).reshape(10, 4)


def write_file(path: Path, size: int | None = None, extra: bytes = b"") -> Path:
    """Write a file of ten rows, truncated to a size or followed by extra bytes."""
    write_vectors(ROWS, path)
    path.write_bytes(path.read_bytes()[:size] + extra)
    return path


def assert_refused(path: Path | str, problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as error:
        read_vectors(path).to_matrix()
    assert str(path).split(":")[0] in str(error.value)


def test_a_short_fbin_says_which_row_it_ends_in(tmp_path: Path) -> None:
    promise = r"the header says 10 rows of 4 float32, 168 bytes in all; found 100 bytes: it ends in row 5"
    assert_refused(write_file(tmp_path / "x.fbin", 100), promise)
    assert_refused(write_file(tmp_path / "x.fbin", 5), "has 5 bytes; expected at least 8")


def test_a_long_fbin_is_refused(tmp_path: Path) -> None:
    assert_refused(write_file(tmp_path / "x.fbin", extra=b"more"), "found 172 bytes, 4 too many")


@pytest.mark.parametrize("name", ["truth.parquet", "truth.npy", "truth.hdf5"])
def test_neighbours_are_not_read_as_vectors(tmp_path: Path, name: str) -> None:
    distances = None if name.endswith("npy") else np.ones((3, 2))
    write_neighbors(Neighbors(np.arange(6).reshape(3, 2), distances), tmp_path / name)
    assert_refused(tmp_path / name, "neighbours are read with --neighbors")


def test_a_column_of_other_numbers_is_reported_with_its_type(tmp_path: Path) -> None:
    pl.DataFrame({"v": [[1, 2], [3, 4]], "name": ["a", "b"]}).write_parquet(tmp_path / "x.parquet")
    assert_refused(
        tmp_path / "x.parquet",
        r"expected one column of lists of .*, found v \(List\(Int64\)\), name \(String\)",
    )
    assert_refused(
        f"{tmp_path}/x.parquet:v", r"column 'v' is not a column of lists of .*; found v \(List\(Int64\)\)"
    )


def test_python_objects_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([["a", None]], object), allow_pickle=True)
    assert_refused(tmp_path / "x.npy", "holds Python objects; expected numbers")


def test_an_fbin_of_another_type_is_detected_by_its_length(tmp_path: Path) -> None:
    path = tmp_path / "x.fbin"
    path.write_bytes(struct.pack("<II", 3, 5) + bytes(15))
    assert_refused(path, r"the length fits u8bin or i8bin: give the format \(--from, in Python format=\)")
    assert read_vectors(path, format="u8bin").shape == (3, 5)


def test_a_header_without_dimensions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.fbin").write_bytes(struct.pack("<II", 3, 0))
    assert_refused(tmp_path / "x.fbin", "0 dimensions")


def test_short_vecs_say_which_row_they_end_in(tmp_path: Path) -> None:
    assert_refused(
        write_file(tmp_path / "x.fvecs", 90), "ends in row 4: each row of 4 float32 takes 20 bytes, found 10"
    )
    assert_refused(write_file(tmp_path / "x.fvecs", 0), "has 0 bytes; expected at least one row")


def test_a_row_of_another_length_is_reported_when_it_is_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.fvecs")
    data = bytearray(path.read_bytes())
    data[7 * 20 : 7 * 20 + 4] = struct.pack("<i", 3)
    path.write_bytes(data)
    vectors = read_vectors(path)
    assert np.array_equal(vectors.block(0, 7), ROWS[:7])
    with pytest.raises(FormatError, match="row 7 has 3 numbers according to its prefix, and the first row 4"):
        vectors.block(5, 9)
    with pytest.raises(FormatError, match="row 7 has 3 numbers according to its prefix"):
        vectors.take(np.array([1, 7]))


@pytest.mark.parametrize("first", [0, -1, 1 << 24])
def test_vecs_with_an_invalid_length_are_refused(first: int, tmp_path: Path) -> None:
    (tmp_path / "x.fvecs").write_bytes(struct.pack("<i", first) + bytes(16))
    assert_refused(
        tmp_path / "x.fvecs",
        re.escape(f"the first row has {first:,} numbers according to its prefix; expected 1 to 1,048,576"),
    )


def test_npy_that_is_short_or_not_contiguous_or_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    assert_refused(
        write_file(path, 200),
        "says 10 rows of 4 float32, 288 bytes in all; found 200 bytes: it ends in row 4",
    )
    np.save(path, np.asfortranarray(ROWS))
    assert_refused(path, "Fortran order")
    np.save(path, ROWS[0])
    assert_refused(path, r"array of shape \(4,\)")
    np.save(path, ROWS.astype(np.int64))
    assert_refused(path, "holds int64; vectors are of type float32")
    path.write_bytes(b"not at all")
    assert_refused(path, r"cannot be read as \.npy")


def test_idx_that_is_short_or_of_labels_is_refused(tmp_path: Path) -> None:
    assert_refused(
        write_file(tmp_path / "x.idx", 100), "says 10 × 4 float32, 172 bytes in all; found 100 bytes"
    )
    (tmp_path / "x.idx").write_bytes(struct.pack(">HBBI", 0, 8, 1, 3) + b"abc")
    assert_refused(tmp_path / "x.idx", r"is of shape \(3,\); vectors need 2 dimensions or more")
    (tmp_path / "x.idx").write_bytes(bytes([0, 0, 8, 3, 0, 0, 1]))
    assert_refused(tmp_path / "x.idx", "ends in its header, after 7 of 16 bytes")
    (tmp_path / "x.idx").write_bytes(b"GIF89a")
    assert_refused(tmp_path / "x.idx", "begins with 47 49 46 38; an idx file of vectors begins with 00 00")


def test_compressed_idx_of_another_length_is_refused(tmp_path: Path) -> None:
    import gzip

    path = write_file(tmp_path / "x.idx")
    (tmp_path / "x.idx.gz").write_bytes(gzip.compress(path.read_bytes()[:-4]))
    assert_refused(tmp_path / "x.idx.gz", "says 172 bytes, found 168 after decompression")


def test_truncated_parquet_is_refused(tmp_path: Path) -> None:
    assert_refused(write_file(tmp_path / "x.parquet", 300), "cannot be read as parquet")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([[1.0, 2.0], [3.0]], "row 1 of column 'v' has 1 numbers; expected 2"),
        ([[1.0, 2.0], None], "row 1 of column 'v' has nothing; expected 2"),
        ([[1.0, 2.0], [3.0, None]], "row 1 of column 'v' lacks number 1; expected 2"),
        ([None, [1.0]], "no first row"),
        ([], "no first row"),
    ],
)
def test_lists_of_parquet_must_exist_and_have_one_length(
    rows: list[object], problem: str, tmp_path: Path
) -> None:
    import polars as pl

    frame = pl.DataFrame({"v": rows}, schema={"v": pl.List(pl.Float32)})
    frame.write_parquet(tmp_path / "x.parquet")
    assert_refused(tmp_path / "x.parquet", problem)


@pytest.mark.parametrize("ending", [".fbin", ".fvecs", ".npy", ".idx", ".idx.gz", ".parquet"])
@given(
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=4),
    size=st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_any_file_is_read_or_refused(ending: str, changes: list[tuple[int, int]], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_file(Path(folder) / f"x{ending}")
        data = bytearray(path.read_bytes())
        for at, byte in changes:
            data[at % len(data)] = byte
        path.write_bytes(data[:size])
        with suppress(FormatError):
            vectors = read_vectors(path)
            assert vectors.block(0, min(len(vectors), 2)).shape[1] == vectors.d > 0


def test_a_missing_file_a_folder_and_a_compressed_file_are_refused(tmp_path: Path) -> None:
    for ending in ("fbin", "fvecs", "npy", "parquet", "idx"):
        assert_refused(tmp_path / f"none.{ending}", "cannot be read: No such file")
    (tmp_path / "folder.fbin").mkdir()
    assert_refused(tmp_path / "folder.fbin", "cannot be read: Is a directory")
    (tmp_path / "x.fbin").write_bytes(b"\x1f\x8b\x08\x00 and so on")
    assert_refused(tmp_path / "x.fbin", "is compressed, so its rows cannot be mapped: decompress it first")


def test_a_file_of_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.dat").write_bytes(b"\x01\x02\x03\x04" * 9)
    assert_refused(
        tmp_path / "x.dat", "the format is not known from the name or the first bytes: give its format"
    )
    with pytest.raises(InputError, match="no format 'csv' of vectors; choose one of fbin"):
        read_vectors(tmp_path / "x.dat", format="csv")
    with pytest.raises(InputError, match=r"cannot be told from the name \(\.fbin"):
        write_vectors(ROWS, tmp_path / "y.dat")
    with pytest.raises(InputError, match="the role is one of base, queries, found 'learn'"):
        read_vectors(tmp_path / "x.dat", role="learn")


def test_vectors_and_neighbours_are_not_confused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"ivecs holds neighbours \(see read_neighbors\)"):
        read_vectors(tmp_path / "x.ivecs")
    with pytest.raises(FormatError, match=r"fvecs holds vectors \(see read_vectors\)"):
        read_neighbors(tmp_path / "x.fvecs")


@pytest.mark.parametrize("shape", [(3, 0), (0, 3)])
def test_empty_vectors_are_not_written(shape: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"nothing to write: {shape[0]} rows of {shape[1]} dimensions"):
        write_vectors(np.empty(shape, np.float32), tmp_path / "x.fbin")
