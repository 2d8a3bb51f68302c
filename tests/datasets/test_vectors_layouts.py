"""Layouts of files byte by byte, and files of NumPy, PyArrow and h5py."""

import struct
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import FormatError
from assay.core.vectors import MappedVectors
from assay.datasets.vectors import read_metric, read_neighbors, read_vectors, write_neighbors, write_vectors


def test_fbin_is_two_numbers_and_the_rows(tmp_path: Path) -> None:
    (tmp_path / "x.fbin").write_bytes(struct.pack("<II6f", 2, 3, 1, 2, 3, 4, 5, 6))
    assert read_vectors(tmp_path / "x.fbin").to_matrix().tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(("ending", "code"), [("fvecs", "f"), ("bvecs", "B")])
def test_vecs_have_the_length_before_every_row(ending: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_bytes(struct.pack(f"<i2{code}", 2, 1, 2) + struct.pack(f"<i2{code}", 2, 3, 4))
    assert read_vectors(path).to_matrix().tolist() == [[1, 2], [3, 4]]
    assert read_vectors(path).take(np.array([1, 1, 0])).tolist() == [[3, 4], [3, 4], [1, 2]]


def test_idx_is_big_endian_and_flattened(tmp_path: Path) -> None:
    (tmp_path / "x.idx").write_bytes(
        struct.pack(">HBBIII", 0, 13, 3, 2, 1, 2) + struct.pack(">4f", 1, 2, 3, 4)
    )
    vectors = read_vectors(tmp_path / "x.idx")
    assert (vectors.to_matrix().tolist(), vectors.dtype.name) == ([[1, 2], [3, 4]], "float32")
    assert vectors.take(np.array([1])).tolist() == [[3, 4]]


def test_npy_is_mapped_in_either_byte_order(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=np.float64).reshape(2, 3)
    for name, dtype in (("little", "<f8"), ("big", ">f8")):
        np.save(tmp_path / f"{name}.npy", rows.astype(dtype))
        vectors = read_vectors(tmp_path / f"{name}.npy")
        assert isinstance(vectors, MappedVectors)
        assert vectors.dtype.isnative
        assert np.array_equal(vectors.to_matrix(), rows)


def test_parquet_of_pyarrow_is_read_as_lists_of_either_kind(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [[1.0, 2.0], [3.0, 4.0]]
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float32(), 2), pa.large_list(pa.float64())):
        parquet.write_table(
            pa.table({"id": [7, 8], "embedding": pa.array(rows, kind)}), tmp_path / "x.parquet"
        )
        assert read_vectors(tmp_path / "x.parquet").to_matrix().tolist() == rows


def test_a_column_of_parquet_must_be_given_if_there_are_several(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "x.parquet"
    pl.DataFrame({"title": [[1.0, 2.0]], "body": [[3.0]], "id": [1]}).write_parquet(path)
    assert read_vectors(f"{path}:body").to_matrix().tolist() == [[3]]
    assert read_vectors(path, part="title").to_matrix().tolist() == [[1, 2]]
    with pytest.raises(
        FormatError, match=r"expected one column .* found title, body: give one, as in .*:title"
    ):
        read_vectors(path)
    with pytest.raises(FormatError, match="no column 'text'; there are title, body, id"):
        read_vectors(f"{path}:text")
    with pytest.raises(FormatError, match="column 'id' is not a column of lists"):
        read_vectors(f"{path}:id")


def test_hdf5_gives_train_as_the_base_and_test_as_the_queries(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    train, test = np.random.default_rng(0).random((2, 40, 3), np.float32)
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["train"], file.attrs["distance"] = train, "angular"
        file.create_dataset("test", data=test, chunks=(7, 3), compression="gzip")
        file["deep/learn"] = test.astype(">f4")
    assert isinstance(read_vectors(tmp_path / "x.hdf5"), MappedVectors)
    assert np.array_equal(read_vectors(tmp_path / "x.hdf5").to_matrix(), train)
    queries = read_vectors(tmp_path / "x.hdf5", role="queries")
    assert np.array_equal(queries.to_matrix(), test)
    assert np.array_equal(queries.take(np.array([39, 0, 20])), test[[39, 0, 20]])
    assert np.array_equal(read_vectors(f"{tmp_path}/x.hdf5:deep/learn").to_matrix(), test)
    assert read_metric(tmp_path / "x.hdf5") == "cosine"
    with pytest.raises(FormatError, match="no dataset 'valid'; there are deep/learn, test, train"):
        read_vectors(f"{tmp_path}/x.hdf5:valid")


def test_hdf5_of_ann_benchmarks_is_written_part_by_part(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    from assay.core.vectors import InMemoryVectors, Neighbors
    from assay.datasets.vectors.hdf5 import write_datasets

    base, path = np.eye(3, dtype=np.float32), tmp_path / "x.hdf5"
    truth = Neighbors(np.array([[2, 0]]), np.array([[0.0, 1.5]]))
    write_vectors(base, f"{path}:train")
    write_vectors(base[2:], f"{path}:test")
    write_neighbors(truth, f"{path}:neighbors")
    write_datasets(
        tmp_path / "y.hdf5",
        metric="l2",
        vectors={"train": InMemoryVectors(base), "test": InMemoryVectors(base[2:])},
        neighbors=truth,
    )
    for file_path in (path, tmp_path / "y.hdf5"):
        with h5py.File(file_path) as file:
            assert sorted(file) == ["distances", "neighbors", "test", "train"]
            assert file["neighbors"][:].tolist() == [[2, 0]]
        assert np.array_equal(read_vectors(file_path, role="queries").to_matrix(), base[2:])
        assert read_neighbors(file_path).distances.tolist() == [[0.0, 1.5]]  # type: ignore[union-attr]
    assert (read_metric(path), read_metric(tmp_path / "y.hdf5")) == (None, "l2")


def test_hdf5_of_another_kind_is_refused_with_its_content(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["train"], file["test"], file.attrs["distance"] = np.arange(5), np.eye(2, dtype=bool), "jaccard"
        file["neighbors"] = np.zeros((3, 2), np.int32)
    with pytest.raises(FormatError, match="float64; neighbours are read with --neighbors"):
        read_vectors(f"{tmp_path}/x.hdf5:neighbors")
    with pytest.raises(FormatError, match=r"'/train' holds int64 of shape \(5,\)"):
        read_vectors(tmp_path / "x.hdf5")
    with pytest.raises(FormatError, match=r"'/test' holds bool of shape \(2, 2\)"):
        read_vectors(tmp_path / "x.hdf5", role="queries")
    with pytest.raises(FormatError, match="its distance is 'jaccard'; expected one of euclidean"):
        read_metric(tmp_path / "x.hdf5")
    (tmp_path / "x.hdf5").write_bytes((tmp_path / "x.hdf5").read_bytes()[:900])
    with pytest.raises(FormatError, match="cannot be used as HDF5"):
        read_vectors(tmp_path / "x.hdf5")
