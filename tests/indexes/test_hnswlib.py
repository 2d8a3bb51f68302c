"""What is particular to hnswlib, on a stand-in for its module: what is looked at is the adapter."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.indexes.index import Setup

ADAPTER = "assay.indexes.engines.hnswlib"


class Standin:
    """An index in which only the first three vectors are reached."""

    def knn_query(self, queries: Any, k: int) -> tuple[Any, Any]:
        """The first k, or an error as hnswlib's."""
        if queries.shape[-1] != 4:
            raise RuntimeError("Wrong dimensionality of the vectors")
        if k > 3:
            raise RuntimeError("Cannot return the results in a contiguous 2D array.")
        return np.arange(k, dtype=np.uint64)[None], None


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setitem(sys.modules, "hnswlib", SimpleNamespace(Index=type("Index", (), {})))
    monkeypatch.delitem(sys.modules, ADAPTER, raising=False)
    yield import_module(ADAPTER)
    del sys.modules[ADAPTER]


def test_the_module_that_chroma_puts_in_its_place_is_refused(adapter: Any, tmp_path: Path) -> None:
    adapter.hnswlib.Index.persist_dirty = None
    with pytest.raises(InputError, match="chroma-hnswlib has replaced the module hnswlib: pip uninstall"):
        adapter.HNSW(Setup("l2", 4, 1, tmp_path))


def test_a_query_that_reaches_fewer_than_k_gets_a_short_list(adapter: Any, tmp_path: Path) -> None:
    index = adapter.HNSW(Setup("l2", 4, 1, tmp_path))
    index.index = Standin()
    positions = index.search(np.zeros((2, 4), np.float32), 5)
    assert positions.dtype == np.int64
    assert positions.tolist() == [[0, 1, 2, -1, -1]] * 2


def test_another_error_of_a_search_is_not_taken_for_a_short_list(adapter: Any, tmp_path: Path) -> None:
    index = adapter.HNSW(Setup("l2", 4, 1, tmp_path))
    index.index = Standin()
    with pytest.raises(RuntimeError, match="Wrong dimensionality"):
        index.search(np.zeros((2, 5), np.float32), 5)
