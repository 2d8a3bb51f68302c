"""Truth files in every layout."""

import struct
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import FORMATS, read_neighbors, read_vectors, write_neighbors

HDF5 = pytest.mark.skipif(not find_spec("h5py"), reason="h5py is not installed")
ENDINGS = [
    pytest.param(file_format.extensions[0], marks=HDF5 if file_format.name == "hdf5" else ())
    for file_format in FORMATS.values()
    if "neighbors" in file_format.contents
]
NONE = [".ivecs", ".npy"]  # cannot hold distances


def sample_neighbors(n: int, k: int, seed: int = 0) -> Neighbors:
    """Return neighbours of which some rows are short."""
    random = np.random.default_rng(seed)
    short = np.arange(k) >= random.integers(1, k + 1, n)[:, None]
    positions = np.where(short, -1, random.integers(0, 1000, (n, k)))
    distances = np.where(short, np.nan, random.integers(0, 100, (n, k)) / 4)
    return Neighbors(positions, distances)


@pytest.mark.parametrize("ending", ENDINGS)
@given(n=st.integers(1, 9), k=st.integers(1, 6), seed=st.integers(0, 99), distances=st.booleans())
@settings(max_examples=15, deadline=None)
def test_neighbours_survive_the_round_trip(ending: str, n: int, k: int, seed: int, distances: bool) -> None:
    original = sample_neighbors(n, k, seed)
    if ending in NONE or not distances:
        original = original._replace(distances=None)
    with tempfile.TemporaryDirectory() as folder:
        write_neighbors(original, Path(folder) / f"x{ending}")
        neighbors = read_neighbors(Path(folder) / f"x{ending}")
    longest = int((original.positions >= 0).sum(axis=1).max()) if ending == ".range" else k
    assert neighbors.positions.dtype == np.int64
    assert np.array_equal(neighbors.positions, original.positions[:, :longest])
    assert (neighbors.distances is None) == (original.distances is None)
    if original.distances is not None and neighbors.distances is not None:
        assert np.array_equal(neighbors.distances, original.distances[:, :longest], equal_nan=True)


def test_big_ann_truth_is_ids_and_then_distances(tmp_path: Path) -> None:
    path = tmp_path / "deep-10M"  # as it is published: without an extension
    path.write_bytes(struct.pack("<II4i4f", 2, 2, 7, 3, 0, -1, 0.5, 1.5, 2.0, 0.0))
    neighbors = read_neighbors(path)
    assert neighbors.positions.tolist() == [[7, 3], [0, -1]]
    assert np.array_equal(neighbors.distances, [[0.5, 1.5], [2, np.nan]], equal_nan=True)  # type: ignore[arg-type]


def test_ids_beyond_two_thousand_million_are_not_negative(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<III", 1, 1, 3_000_000_000))
    assert read_neighbors(tmp_path / "x.bin").positions.tolist() == [[3_000_000_000]]


def test_range_truth_is_padded(tmp_path: Path) -> None:
    counts, ids, distances = [2, 0, 1], [4, 5, 6], [0.5, 0.25, 2.0]
    (tmp_path / "x.bin").write_bytes(struct.pack("<II3I3I3f", 3, 3, *counts, *ids, *distances))
    neighbors = read_neighbors(tmp_path / "x.bin", format="range")
    assert neighbors.positions.tolist() == [[4, 5], [-1, -1], [6, -1]]
    expected = [[0.5, 0.25], [np.nan, np.nan], [2, np.nan]]
    assert np.array_equal(neighbors.distances, expected, equal_nan=True)  # type: ignore[arg-type]


def test_range_truth_is_detected_by_its_length(tmp_path: Path) -> None:
    counts = [1, 1, 1, 1, 3]
    (tmp_path / "x").write_bytes(struct.pack("<II5I7I7f", 5, 7, *counts, *range(7), *map(float, range(7))))
    assert read_neighbors(tmp_path / "x").positions[4].tolist() == [4, 5, 6]


def test_a_wrong_length_says_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<II", 10, 5) + bytes(77))
    expected = (
        "says 10 and 5: expected 200 bytes of ids after it, 400 with distances, or as range truth 60 or 80"
    )
    with pytest.raises(FormatError, match=rf"{expected}.*; found 77 bytes"):
        read_neighbors(tmp_path / "x.bin")


def test_cuvs_keeps_distances_in_a_separate_file(tmp_path: Path) -> None:
    (tmp_path / "groundtruth.neighbors.ibin").write_bytes(struct.pack("<II2i", 1, 2, 4, 9))
    assert read_neighbors(tmp_path / "groundtruth.neighbors.ibin").distances is None
    (tmp_path / "groundtruth.distances.fbin").write_bytes(struct.pack("<II2f", 1, 2, 0.5, 1.5))
    assert read_neighbors(tmp_path / "groundtruth.neighbors.ibin").distances.tolist() == [[0.5, 1.5]]  # type: ignore[union-attr]
    (tmp_path / "groundtruth.distances.fbin").write_bytes(struct.pack("<II1f", 1, 1, 0.5))
    with pytest.raises(
        FormatError, match=r"has distances of shape \(1, 1\), but the ids in .* are of shape \(1, 2\)"
    ):
        read_neighbors(tmp_path / "groundtruth.neighbors.ibin")


def test_ivecs_have_their_length_before_every_row(tmp_path: Path) -> None:
    (tmp_path / "x.ivecs").write_bytes(struct.pack("<iiiiii", 2, 7, 3, 2, 0, 1))
    assert read_neighbors(tmp_path / "x.ivecs").positions.tolist() == [[7, 3], [0, 1]]


def test_squares_and_inner_products_become_distances(tmp_path: Path) -> None:
    write_neighbors(Neighbors(np.array([[1, 2]]), np.array([[4.0, 9.0]])), tmp_path / "x.parquet")
    read = {
        convention: read_neighbors(tmp_path / "x.parquet", distances=convention)
        for convention in ("squared", "negated")
    }
    assert read["squared"].distances.tolist() == [[2, 3]]  # type: ignore[union-attr]
    assert read["negated"].distances.tolist() == [[-4, -9]]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="distances are plain, squared, negated"):
        read_neighbors(tmp_path / "x.parquet", distances="cubed")


def test_parquet_is_put_in_the_order_of_its_queries(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "neighbors.parquet"  # the columns of VectorDBBench
    pl.DataFrame({"id": [1, 0], "neighbors_id": [[5, 6], [7]]}).write_parquet(path)
    assert read_neighbors(path).positions.tolist() == [[7, -1], [5, 6]]
    pl.DataFrame({"id": [1, 1], "neighbors_id": [[5, 6], [7]]}).write_parquet(path)
    with pytest.raises(FormatError, match="'id' must hold each position from 0 to 1 once"):
        read_neighbors(path)
    pl.DataFrame({"found": [[5, 6]]}).write_parquet(path)
    with pytest.raises(FormatError, match=r"expected a column positions or .* found found"):
        read_neighbors(path)
    pl.DataFrame({"positions": [[5, 6]], "distances": [[0.5]]}).write_parquet(path)
    with pytest.raises(FormatError, match="lists of different lengths"):
        read_neighbors(path)


def test_distances_are_not_lost_silently(tmp_path: Path) -> None:
    for ending in NONE:
        with pytest.raises(InputError, match="cannot hold distances"):
            write_neighbors(sample_neighbors(2, 2), tmp_path / f"x{ending}")


def test_positions_that_are_too_large_are_refused(tmp_path: Path) -> None:
    large = Neighbors(np.array([[1 << 31]]))
    for ending in (".ivecs", ".bin", ".ibin"):
        with pytest.raises(InputError, match="position 2,147,483,648 is larger than 2,147,483,647"):
            write_neighbors(large, tmp_path / f"x{ending}")


@HDF5
@pytest.mark.parametrize("name", ["x.hdf5:neighbors", "x.hdf5:truth", "x.ibin"])
def test_old_distances_are_not_read_with_new_ids(tmp_path: Path, name: str) -> None:
    old, new = sample_neighbors(3, 4, 1), sample_neighbors(3, 4, 2)
    write_neighbors(old, tmp_path / name)
    assert np.array_equal(read_neighbors(tmp_path / name).positions, old.positions)
    write_neighbors(Neighbors(new.positions), tmp_path / name)
    neighbors = read_neighbors(tmp_path / name)
    assert np.array_equal(neighbors.positions, new.positions)
    assert neighbors.distances is None


def test_the_largest_unsigned_number_is_padding(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[7, 2**32 - 1]], np.uint32))
    assert read_neighbors(tmp_path / "x.npy").positions.tolist() == [[7, -1]]


def test_a_truth_without_neighbours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<II", 3, 0))
    with pytest.raises(FormatError, match="the number of neighbours is 0"):
        read_neighbors(tmp_path / "x.bin")


@pytest.mark.parametrize(
    ("positions", "distances", "problem"),
    [
        ([[1, 2, 3], [3, 4]], [[0.1, 0.2], [0.1, 0.2, 0.3]], "row 0 has lists of different lengths"),
        (
            [[1.9, 2.0], [3.0, 4.5]],
            [[0.1, 0.2], [0.1, 0.2]],
            "holds Float64; positions of neighbours are whole",
        ),
    ],
)
def test_lists_that_are_not_positions_are_refused(
    tmp_path: Path, positions: list[list[float]], distances: list[list[float]], problem: str
) -> None:
    pl.DataFrame({"positions": positions, "distances": distances}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(FormatError, match=problem):
        read_neighbors(tmp_path / "x.parquet")


def test_vectors_that_are_numbered_in_another_order_are_refused(tmp_path: Path) -> None:
    vectors = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for ids, taken in (([0, 1, 2], True), ([7, 3, 5], True), ([1, 0, 2], False)):
        pl.DataFrame({"id": ids, "emb": vectors}).write_parquet(tmp_path / "x.parquet")
        if taken:
            assert read_vectors(tmp_path / "x.parquet").to_matrix().tolist() == vectors
        else:
            with pytest.raises(FormatError, match="sort the rows by 'id'"):
                read_vectors(tmp_path / "x.parquet")
