"""The engines of examples/engines follow the protocol, and the guide shows the code of the smallest.

The libraries themselves are tried only if ASSAY_EXAMPLE_ENGINES is set.
"""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.parameters import keyword_parameters
from assay.core.vectors import METRICS, InMemoryVectors, MappedVectors, Positions
from assay.indexes.hosting.hosted import HostedIndex
from assay.indexes.index import Index
from assay.indexes.registry import ENGINES, load_engine, plugins
from tests.indexes.engines import EXAMPLE_TRIALS, TRIALS
from tests.indexes.example_engines import ENTRY_POINTS, FOLDER, PROJECT, TRIES_LIBRARIES, install_examples

LIBRARIES = {
    "nmslib": "nmslib",
    "pynndescent": "pynndescent",
    "symphonyqg": "rabitqlib",
    "vectorlite": "vectorlite_py",
    "voyager": "voyager",
    "zvec": "zvec",
}
GUIDE = Path(__file__).parents[2] / "docs" / "write-an-engine.md"
N, D = 800, 31
ROWS = np.random.default_rng(3).normal(size=(N, D)).astype(np.float32)
EQUAL = np.concatenate([ROWS[:100], np.repeat(ROWS[100:101], 300, axis=0), ROWS[400:]])
on_request = pytest.mark.skipif(not TRIES_LIBRARIES, reason="set ASSAY_EXAMPLE_ENGINES to try the libraries")


@pytest.fixture(autouse=True)
def examples(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    install_examples(tmp_path_factory.mktemp("installed"), monkeypatch)


def search(
    engine: str,
    build: dict[str, Any],
    search_parameters: dict[str, Any],
    k: int = 20,
    *,
    rows: Any = ROWS,
    mode: str = "batch",
) -> Positions:
    """Return what an engine finds for the first vectors of the base."""
    with HostedIndex(engine, build, metric="l2", d=rows.shape[1], timeout=60) as index:
        index.build(InMemoryVectors(rows))
        return index.search(InMemoryVectors(rows[:50]), k, search_parameters, mode).positions


def test_every_example_has_an_entry_point_and_none_has_the_name_of_an_engine_of_assay() -> None:
    files = {path.stem for path in (FOLDER / "assay_example_engines").glob("*.py")} - {"__init__"}
    assert files == set(ENTRY_POINTS) == set(LIBRARIES) | {"sample"}
    assert set(ENTRY_POINTS) & set(ENGINES) == set()
    assert set(EXAMPLE_TRIALS) == set(LIBRARIES)
    assert {name: plugins()[name] for name in ENTRY_POINTS} == dict.fromkeys(
        ENTRY_POINTS, f"{PROJECT['name']} {PROJECT['version']}"
    )


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_example_follows_the_protocol_if_its_library_is_installed(name: str) -> None:
    if name in LIBRARIES:
        pytest.importorskip(
            LIBRARIES[name], reason=f"{LIBRARIES[name]} is not installed", exc_type=ImportError
        )
    engine, trial = load_engine(name), (TRIALS | EXAMPLE_TRIALS)[name]
    assert issubclass(engine, Index)
    assert set(engine.metrics) <= set(METRICS)
    assert engine.package
    assert engine.load is not Index.load
    search_parameters = keyword_parameters(engine.set_search)
    assert set(engine.smallest_search) <= set(search_parameters)
    assert set(trial.build) <= set(keyword_parameters(engine.__init__))
    assert {*trial.poor, *trial.generous} <= set(search_parameters)


def test_an_example_without_its_library_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "voyager", None)
    monkeypatch.delitem(sys.modules, "assay_example_engines.voyager", raising=False)
    with pytest.raises(
        EngineError, match=r"engine voyager of assay-example-engines .* cannot be loaded: .*voyager"
    ):
        load_engine("voyager")


def test_the_guide_shows_the_code_and_the_entry_point_of_the_smallest_example() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?class Sample.*?)```", text, re.S)
    assert code == (FOLDER / "assay_example_engines" / "sample.py").read_text(encoding="utf-8")
    assert f'sample = "{ENTRY_POINTS["sample"]}"' in text


REFUSED = [
    (
        "voyager",
        {"storage_data_type": "f32"},
        {},
        "storage_data_type must be one of Float32, .*, found 'f32'",
    ),
    ("nmslib", {}, {"efSearch": -1}, "efSearch must be 1 or more, found -1"),
    ("symphonyqg", {}, {"ef": 0}, "ef must be 1 or more, found 0"),
    ("zvec", {"m": 0}, {}, "m must be 1 or more, found 0"),
    ("zvec", {}, {"ef": 2049}, "ef must be between 1 and 2048 in zvec, found 2049"),
]


@on_request
@pytest.mark.parametrize(("engine", "build", "parameters", "message"), REFUSED)
def test_a_value_that_a_library_would_misread_is_refused(
    engine: str, build: dict[str, Any], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        search(engine, build, parameters)


@on_request
def test_what_a_library_refuses_is_passed_on() -> None:
    with pytest.raises(AssayError, match="max_degree must be a positive multiple of 32"):
        search("symphonyqg", {"max_degree": 31}, {})


@on_request
@pytest.mark.parametrize("mode", ["batch", "single"])
@pytest.mark.parametrize("engine", ["symphonyqg", "zvec"])
def test_a_graph_with_many_equal_vectors_returns_valid_lists(engine: str, mode: str) -> None:
    positions = search(engine, {}, {}, k=N, rows=EQUAL, mode=mode)
    assert (np.diff((positions >= 0).astype(int), axis=1) <= 0).all()
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in positions)
    assert positions.max() < N


@on_request
def test_voyager_with_fewer_candidates_than_k_returns_k() -> None:
    assert (search("voyager", {}, {"query_ef": 1}) >= 0).all()


@on_request
def test_voyager_which_needs_writable_arrays_accepts_vectors_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "base").write_bytes(ROWS.tobytes())
    base = MappedVectors(str(tmp_path / "base"), ROWS.shape, np.dtype(np.float32))
    with HostedIndex("voyager", {}, metric="l2", d=D, timeout=60) as index:
        index.build(base)
        positions = index.search(InMemoryVectors(ROWS[:50]), 1, {"query_ef": 100}).positions
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.95
    assert (tmp_path / "base").read_bytes() == ROWS.tobytes()


@on_request
def test_nmslib_with_fewer_candidates_than_k_returns_a_short_list() -> None:
    positions = search("nmslib", {"M": 4}, {"efSearch": 1}, k=300, rows=ROWS[:600])
    lengths = (positions >= 0).sum(axis=1)
    assert lengths.min() > 0
    assert lengths.max() < 300
    assert all((row[length:] == -1).all() for row, length in zip(positions, lengths, strict=True))


@on_request
@pytest.mark.parametrize("d", [2, 8, 63, 64, 65])
def test_symphonyqg_accepts_vectors_with_fewer_dimensions_than_its_rotation(d: int) -> None:
    rows = np.random.default_rng(d).normal(size=(300, d)).astype(np.float32)
    positions = search("symphonyqg", {}, {"ef": 100}, k=1, rows=rows)
    assert (positions[:, 0] == np.arange(len(positions))).mean() >= 0.95
