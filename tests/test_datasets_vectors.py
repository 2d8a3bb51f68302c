"""What is written is read again, in every format and type, by blocks, by positions and in other processes."""

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
from assay.core.vectors import TYPES, Held, Mapped, Vectors
from assay.core.vectors_digest import digest
from assay.datasets.vectors import FORMATS, metric_of, read_vectors, write_vectors
from assay.datasets.vectors.convert import Some

HDF5 = pytest.mark.skipif(not find_spec("h5py"), reason="h5py is not installed")
PAIRS = [
    pytest.param(ending, name, marks=HDF5 if made.name == "hdf5" else (), id=f"{ending}-{name}")
    for made in FORMATS.values()
    if "vectors" in made.holds
    for ending in made.extensions
    if ending not in (".pq", ".h5")
    for name in made.types
]
ENDINGS = list(dict.fromkeys(str(pair.values[0]) for pair in PAIRS))
EACH = [pytest.param(ending, marks=HDF5 if ending == ".hdf5" else ()) for ending in ENDINGS]


def some(n: int, d: int, dtype: str = "float32") -> NDArray[Any]:
    return np.random.default_rng(n + d).integers(0, 100, (n, d)).astype(dtype)


def fitting(ending: str) -> str:
    """A type that a format holds."""
    return next(made.types[0] for made in FORMATS.values() if ending in made.extensions)


def again(matrix: NDArray[Any], path: Path) -> Vectors:
    write_vectors(matrix, path)
    return read_vectors(path)


@pytest.mark.parametrize(("ending", "dtype"), PAIRS)
@given(n=st.integers(1, 40), d=st.integers(1, 12), seed=st.integers(0, 9999))
@settings(max_examples=15, deadline=None)
def test_what_is_written_is_read_again_bit_for_bit(
    ending: str, dtype: str, n: int, d: int, seed: int
) -> None:
    bits = np.random.default_rng(seed).bytes(n * d * np.dtype(dtype).itemsize)  # NaN and all
    matrix = np.frombuffer(bits, dtype).reshape(n, d)
    with tempfile.TemporaryDirectory() as folder:
        found = again(matrix, Path(folder) / f"x{ending}")
        assert (found.shape, found.dtype) == (matrix.shape, matrix.dtype)
        assert found.whole().tobytes() == bits


@pytest.mark.parametrize("ending", EACH)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_blocks_are_slices_and_taking_is_indexing(ending: str, data: st.DataObject) -> None:
    matrix = some(50, 7, fitting(ending))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 50), st.integers(0, 50))))
    positions = np.array(data.draw(st.lists(st.integers(0, 49), max_size=30)), np.int64)
    rows = data.draw(st.integers(1, 60))
    with tempfile.TemporaryDirectory() as folder:
        found = again(matrix, Path(folder) / f"x{ending}")
        assert np.array_equal(found.block(start, stop), matrix[start:stop])
        assert np.array_equal(found.take(positions), matrix[positions])
        assert np.array_equal(np.concatenate([block for _, block in found.blocks(rows)]), matrix)


@pytest.mark.parametrize("ending", EACH)
def test_vectors_of_a_file_are_pickled_by_its_path(ending: str, tmp_path: Path) -> None:
    matrix = some(20_000, 16, fitting(ending))
    found = again(matrix, tmp_path / f"x{ending}")
    found.whole()
    packed = pickle.dumps(found)
    assert len(packed) < 2000
    assert np.array_equal(pickle.loads(packed).block(19_000, 20_000), matrix[19_000:])


@pytest.mark.parametrize("dtype", TYPES)
def test_the_same_vectors_have_one_digest_in_every_format(dtype: str, tmp_path: Path) -> None:
    matrix = some(300, 9, dtype)
    digests = {digest(Held(matrix))}
    for ending, name in (map(str, pair.values) for pair in PAIRS):
        if name == dtype and (ending != ".hdf5" or find_spec("h5py")):
            digests.add(digest(again(matrix, tmp_path / f"x{ending}")))
    assert len(digests) == 1


def test_more_than_a_stretch_of_parquet_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.datasets.vectors.windows._STRETCH", 4000)
    matrix = some(1000, 10)
    found = again(matrix, tmp_path / "x.parquet")
    assert np.array_equal(np.concatenate([block for _, block in found.blocks(30)]), matrix)
    positions = np.array([999, 0, 500, 499, 0, 998])
    assert np.array_equal(found.take(positions), matrix[positions])


def test_writing_by_pieces_equals_writing_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = some(1000, 8)
    for ending in (".fbin", ".fvecs", ".npy", ".parquet", ".idx"):
        write_vectors(matrix, tmp_path / f"once{ending}")
    monkeypatch.setattr("assay.core.vectors_check.pieces.__defaults__", (100,))
    monkeypatch.setattr("assay.datasets.vectors.parquet._GROUP", 3200)
    for ending in (".fbin", ".fvecs", ".npy", ".parquet", ".idx"):
        write_vectors(matrix, tmp_path / f"parts{ending}")
        parts, once = (read_vectors(tmp_path / f"{name}{ending}") for name in ("parts", "once"))
        assert np.array_equal(parts.whole(), once.whole())


def test_narrow_types_are_widened_where_nothing_is_lost(tmp_path: Path) -> None:
    found = again(some(5, 3, "uint8"), tmp_path / "x.fbin")
    assert found.dtype == np.float32
    assert np.array_equal(found.whole(), some(5, 3, "uint8"))


def test_a_type_that_does_not_fit_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds float32, and the vectors are float64.*--dtype float32"):
        write_vectors(some(5, 3, "float64"), tmp_path / "x.fbin")
    write_vectors(some(5, 3, "float64") + 0.1, tmp_path / "x.fbin", dtype="float32")
    assert np.array_equal(read_vectors(tmp_path / "x.fbin").whole(), np.float32(some(5, 3, "float64") + 0.1))


@pytest.mark.parametrize(
    ("value", "dtype"), [(0.5, "uint8"), (256, "uint8"), (-1, "uint8"), (128, "int8"), (1e6, "float16")]
)
def test_a_number_without_room_is_named_and_nothing_is_left(value: float, dtype: str, tmp_path: Path) -> None:
    matrix = np.ones((8, 2), np.float32)
    matrix[5, 1] = value
    with pytest.raises(InputError, match=f"row 5 holds .*, which {dtype} has no room for"):
        write_vectors(matrix, tmp_path / "x.npy", dtype=dtype)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_when_writing_fails(tmp_path: Path) -> None:
    class Broken(Held):
        def block(self, start: int, stop: int) -> NDArray[Any]:
            raise InputError("no more")

    for ending in (".fbin", ".fvecs", ".npy", ".idx", ".parquet"):
        path = tmp_path / f"x{ending}"
        write_vectors(some(4, 2), path)
        with pytest.raises(InputError, match="no more"):
            write_vectors(Broken(some(9, 2)), path)
        assert len(read_vectors(path)) == 4
    assert len(list(tmp_path.iterdir())) == 5


def test_rows_may_be_chosen(tmp_path: Path) -> None:
    matrix = some(30, 4)
    part = Some(again(matrix, tmp_path / "x.fbin"), 10, 20)
    assert np.array_equal(part.whole(), matrix[10:20])
    assert np.array_equal(part.take(np.array([9, 0])), matrix[[19, 10]])
    with pytest.raises(InputError, match="rows between 0 and 30, found 20 to 31"):
        Some(Held(matrix), 20, 31)


def test_names_of_big_ann_crops_and_of_mnist_are_known(tmp_path: Path) -> None:
    write_vectors(some(3, 2), tmp_path / "x.fbin")
    (tmp_path / "x.fbin").rename(tmp_path / "base.1B.fbin.crop_nb_3")
    assert read_vectors(tmp_path / "base.1B.fbin.crop_nb_3").shape == (3, 2)
    write_vectors(some(3, 2, "uint8"), tmp_path / "t10k-images-idx3-ubyte.gz")
    assert (tmp_path / "t10k-images-idx3-ubyte.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert np.array_equal(read_vectors(tmp_path / "t10k-images-idx3-ubyte.gz").whole(), some(3, 2, "uint8"))


def test_a_file_without_a_telling_name_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    for ending in (".npy", ".parquet", ".idx"):
        write_vectors(some(3, 2), tmp_path / f"x{ending}")
        (tmp_path / f"x{ending}").rename(tmp_path / "unknown")
        assert np.array_equal(read_vectors(tmp_path / "unknown").whole(), some(3, 2))


def test_a_named_format_wins_over_the_extension(tmp_path: Path) -> None:
    write_vectors(some(3, 2), tmp_path / "x.dat", format="fvecs")
    assert isinstance(read_vectors(tmp_path / "x.dat", format="fvecs"), Mapped)
    assert metric_of(tmp_path / "x.dat") is None


def test_mnist_is_read_as_it_is_published(shared: Path) -> None:
    found = read_vectors(shared / "mnist" / "t10k-images-idx3-ubyte.gz")
    assert (found.shape, found.dtype.name) == ((10_000, 784), "uint8")
    assert round(found.whole().mean() / 255, 4) == 0.1325  # the mean that is published for its test set


def test_every_format_stands_in_the_guide() -> None:
    guide = (Path(__file__).parent.parent / "docs" / "vectors.md").read_text(encoding="utf-8")
    for made in FORMATS.values():
        assert any(f"`{ending}`" in guide for ending in made.extensions), made.name
