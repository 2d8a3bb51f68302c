"""Engines of one's own: named by module:Class, told apart by their source."""

import sys
from pathlib import Path

import pytest

from assay.core.errors import EngineError, InputError
from assay.indexes.registry import engine_version, load_engine

ENGINE = """
import numpy as np
from assay.indexes.index import Index
{extra}
class Own(Index):
    package = "{package}"
    family = "{family}"
    def build(self, vectors): self.n = len(vectors)
    def search(self, queries, k): return np.zeros((len(queries), k), np.int64)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def write_engine(name: str, extra: str = "", package: str = "", family: str = "graph") -> str:
    Path(f"{name}.py").write_text(ENGINE.format(extra=extra, package=package, family=family))
    return f"{name}:Own"


def reload_version(name: str) -> str:
    for module in (name.partition(":")[0], "beside"):
        sys.modules.pop(module, None)
    return engine_version(name)


def test_an_engine_is_named_by_its_module_and_class() -> None:
    assert load_engine(write_engine("own_named")).family == "graph"


def test_the_version_of_an_own_engine_changes_with_its_source() -> None:
    name = write_engine("own_changing")
    first = reload_version(name)
    assert first.startswith("source ")
    assert reload_version(name) == first
    write_engine("own_changing", extra="LIMIT = 2")
    assert reload_version(name) != first


def test_the_version_of_an_own_engine_changes_with_a_module_that_it_loads_from_its_folder() -> None:
    Path("beside.py").write_text("LIMIT = 1\n")
    name = write_engine("own_helped", extra="import beside")
    first = reload_version(name)
    Path("beside.py").write_text("LIMIT = 22\n")
    assert reload_version(name) != first


def test_the_version_of_an_own_engine_in_a_package_covers_all_its_files() -> None:
    Path("own_package").mkdir()
    Path("own_package/__init__.py").write_text("")
    write_engine("own_package/engine")
    first = engine_version("own_package.engine:Own")
    Path("own_package/later.py").write_text("LIMIT = 1\n")
    assert engine_version("own_package.engine:Own") != first


def test_the_version_of_an_own_engine_has_that_of_its_library() -> None:
    import numpy

    name = write_engine("own_library", package="numpy")
    assert engine_version(name).startswith(f"{numpy.__version__} source ")


def test_the_version_of_an_engine_of_assay_has_no_source() -> None:
    assert "source" not in engine_version("hnswlib")


def test_a_class_that_does_not_exist_is_refused_with_what_was_expected() -> None:
    with pytest.raises(
        InputError, match=r"own_missing:Own cannot be loaded: ModuleNotFoundError.*module:Class"
    ):
        load_engine("own_missing:Own")


def test_a_family_that_does_not_exist_is_refused() -> None:
    with pytest.raises(
        EngineError, match="declares the family 'grph': expected one of graph, partition, tree"
    ):
        load_engine(write_engine("own_family", family="grph"))
