"""Vectors in every format and type: blocks, positions and other processes."""

import pickle
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vector_digest import digest_vectors
from assay.core.vectors import TYPES, InMemoryVectors, MappedVectors, Vectors
from assay.datasets.vectors import FORMATS, read_metric, read_vectors, write_vectors
from assay.datasets.vectors.convert import VectorSlice

HDF5 = pytest.mark.skipif(not find_spec("h5py"), reason="h5py is not installed")
PAIRS = [
    pytest.param(ending, name, marks=HDF5 if made.name == "hdf5" else (), id=f"{ending}-{name}")
    for made in FORMATS.values()
    if "vectors" in made.contents
    for ending in made.extensions
    if ending not in (".pq", ".h5")
    for name in made.types
]
ENDINGS = list(dict.fromkeys(str(pair.values[0]) for pair in PAIRS))
EACH = [pytest.param(ending, marks=HDF5 if ending == ".hdf5" else ()) for ending in ENDINGS]


def sample_matrix(n: int, d: int, dtype: str = "float32") -> NDArray[Any]:
    return np.random.default_rng(n + d).integers(0, 100, (n, d)).astype(dtype)


def supported_type(ending: str) -> str:
    """Return a type that a format supports."""
    return next(file_format.types[0] for file_format in FORMATS.values() if ending in file_format.extensions)


def write_and_read(matrix: NDArray[Any], path: Path) -> Vectors:
    write_vectors(matrix, path)
    return read_vectors(path)


@pytest.mark.parametrize(("ending", "dtype"), PAIRS)
@given(n=st.integers(1, 40), d=st.integers(1, 12), seed=st.integers(0, 9999))
@settings(max_examples=15, deadline=None)
def test_vectors_survive_the_round_trip_bit_for_bit(
    ending: str, dtype: str, n: int, d: int, seed: int
) -> None:
    bits = np.random.default_rng(seed).bytes(n * d * np.dtype(dtype).itemsize)  # including NaN
    matrix = np.frombuffer(bits, dtype).reshape(n, d)
    with tempfile.TemporaryDirectory() as folder:
        vectors = write_and_read(matrix, Path(folder) / f"x{ending}")
        assert (vectors.shape, vectors.dtype) == (matrix.shape, matrix.dtype)
        assert vectors.to_matrix().tobytes() == bits


@pytest.mark.parametrize("ending", EACH)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_block_slices_and_take_indexes(ending: str, data: st.DataObject) -> None:
    matrix = sample_matrix(50, 7, supported_type(ending))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 50), st.integers(0, 50))))
    positions = np.array(data.draw(st.lists(st.integers(0, 49), max_size=30)), np.int64)
    rows = data.draw(st.integers(1, 60))
    with tempfile.TemporaryDirectory() as folder:
        vectors = write_and_read(matrix, Path(folder) / f"x{ending}")
        assert np.array_equal(vectors.block(start, stop), matrix[start:stop])
        assert np.array_equal(vectors.take(positions), matrix[positions])
        assert np.array_equal(np.concatenate([block for _, block in vectors.blocks(rows)]), matrix)


@pytest.mark.parametrize("ending", EACH)
def test_vectors_of_a_file_are_pickled_by_its_path(ending: str, tmp_path: Path) -> None:
    matrix = sample_matrix(20_000, 16, supported_type(ending))
    vectors = write_and_read(matrix, tmp_path / f"x{ending}")
    vectors.to_matrix()
    packed = pickle.dumps(vectors)
    assert len(packed) < 2000
    assert np.array_equal(pickle.loads(packed).block(19_000, 20_000), matrix[19_000:])


@pytest.mark.parametrize("dtype", TYPES)
def test_the_same_vectors_have_one_digest_in_every_format(dtype: str, tmp_path: Path) -> None:
    matrix = sample_matrix(300, 9, dtype)
    digests = {digest_vectors(InMemoryVectors(matrix))}
    for ending, name in (map(str, pair.values) for pair in PAIRS):
        if name == dtype and (ending != ".hdf5" or find_spec("h5py")):
            digests.add(digest_vectors(write_and_read(matrix, tmp_path / f"x{ending}")))
    assert len(digests) == 1


def test_more_than_a_window_of_parquet_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.datasets.vectors.windowed._WINDOW_BYTES", 4000)
    matrix = sample_matrix(1000, 10)
    vectors = write_and_read(matrix, tmp_path / "x.parquet")
    assert np.array_equal(np.concatenate([block for _, block in vectors.blocks(30)]), matrix)
    positions = np.array([999, 0, 500, 499, 0, 998])
    assert np.array_equal(vectors.take(positions), matrix[positions])


def test_writing_by_blocks_equals_writing_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sample_matrix(1000, 8)
    for ending in (".fbin", ".fvecs", ".npy", ".parquet", ".idx"):
        write_vectors(matrix, tmp_path / f"once{ending}")
    monkeypatch.setattr("assay.core.vector_faults.row_blocks.__defaults__", (100,))
    monkeypatch.setattr("assay.datasets.vectors.parquet._ROW_GROUP_BYTES", 3200)
    for ending in (".fbin", ".fvecs", ".npy", ".parquet", ".idx"):
        write_vectors(matrix, tmp_path / f"parts{ending}")
        parts, at_once = (read_vectors(tmp_path / f"{name}{ending}") for name in ("parts", "once"))
        assert np.array_equal(parts.to_matrix(), at_once.to_matrix())


def test_narrow_types_are_widened_without_loss(tmp_path: Path) -> None:
    vectors = write_and_read(sample_matrix(5, 3, "uint8"), tmp_path / "x.fbin")
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors.to_matrix(), sample_matrix(5, 3, "uint8"))


def test_a_lossy_conversion_is_refused_unless_requested(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can hold float32, but the vectors are float64.*--dtype float32"):
        write_vectors(sample_matrix(5, 3, "float64"), tmp_path / "x.fbin")
    write_vectors(sample_matrix(5, 3, "float64") + 0.1, tmp_path / "x.fbin", dtype="float32")
    assert np.array_equal(
        read_vectors(tmp_path / "x.fbin").to_matrix(), np.float32(sample_matrix(5, 3, "float64") + 0.1)
    )


@pytest.mark.parametrize(
    ("value", "dtype"), [(0.5, "uint8"), (256, "uint8"), (-1, "uint8"), (128, "int8"), (1e6, "float16")]
)
def test_a_number_out_of_range_is_reported_and_no_file_is_left(
    value: float, dtype: str, tmp_path: Path
) -> None:
    matrix = np.ones((8, 2), np.float32)
    matrix[5, 1] = value
    with pytest.raises(InputError, match=f"row 5 holds .*, which {dtype} cannot hold"):
        write_vectors(matrix, tmp_path / "x.npy", dtype=dtype)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_if_writing_fails(tmp_path: Path) -> None:
    class Broken(InMemoryVectors):
        def block(self, start: int, stop: int) -> NDArray[Any]:
            raise InputError("no more")

    for ending in (".fbin", ".fvecs", ".npy", ".idx", ".parquet"):
        path = tmp_path / f"x{ending}"
        write_vectors(sample_matrix(4, 2), path)
        with pytest.raises(InputError, match="no more"):
            write_vectors(Broken(sample_matrix(9, 2)), path)
        assert len(read_vectors(path)) == 4
    assert len(list(tmp_path.iterdir())) == 5


def test_a_slice_has_some_of_the_rows(tmp_path: Path) -> None:
    matrix = sample_matrix(30, 4)
    part = VectorSlice(write_and_read(matrix, tmp_path / "x.fbin"), 10, 20)
    assert np.array_equal(part.to_matrix(), matrix[10:20])
    assert np.array_equal(part.take(np.array([9, 0])), matrix[[19, 10]])
    with pytest.raises(InputError, match="rows between 0 and 30, found 20 to 31"):
        VectorSlice(InMemoryVectors(matrix), 20, 31)


def test_names_of_big_ann_crops_and_of_mnist_are_known(tmp_path: Path) -> None:
    write_vectors(sample_matrix(3, 2), tmp_path / "x.fbin")
    (tmp_path / "x.fbin").rename(tmp_path / "base.1B.fbin.crop_nb_3")
    assert read_vectors(tmp_path / "base.1B.fbin.crop_nb_3").shape == (3, 2)
    write_vectors(sample_matrix(3, 2, "uint8"), tmp_path / "t10k-images-idx3-ubyte.gz")
    assert (tmp_path / "t10k-images-idx3-ubyte.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert np.array_equal(
        read_vectors(tmp_path / "t10k-images-idx3-ubyte.gz").to_matrix(), sample_matrix(3, 2, "uint8")
    )


def test_a_file_without_an_extension_is_detected_by_its_first_bytes(tmp_path: Path) -> None:
    for ending in (".npy", ".parquet", ".idx"):
        write_vectors(sample_matrix(3, 2), tmp_path / f"x{ending}")
        (tmp_path / f"x{ending}").rename(tmp_path / "unknown")
        assert np.array_equal(read_vectors(tmp_path / "unknown").to_matrix(), sample_matrix(3, 2))


def test_a_given_format_takes_precedence_over_the_extension(tmp_path: Path) -> None:
    write_vectors(sample_matrix(3, 2), tmp_path / "x.dat", format="fvecs")
    assert isinstance(read_vectors(tmp_path / "x.dat", format="fvecs"), MappedVectors)
    assert read_metric(tmp_path / "x.dat") is None


def test_mnist_is_read_as_it_is_published(shared: Path) -> None:
    vectors = read_vectors(shared / "mnist" / "t10k-images-idx3-ubyte.gz")
    assert (vectors.shape, vectors.dtype.name) == ((10_000, 784), "uint8")
    assert round(vectors.to_matrix().mean() / 255, 4) == 0.1325  # the published mean of the test set


def test_every_format_is_documented() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")
    for file_format in FORMATS.values():
        assert any(f"`{ending}`" in guide for ending in file_format.extensions), file_format.name
