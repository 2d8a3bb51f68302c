"""Puck, over a double of its documented Python module: it shows what the adapter says, not what Puck does."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import EngineError, MissingExtraError
from assay.core.vectors import METRICS
from assay.indexes.engines import load
from assay.indexes.index import Setup
from contracts.modules import PuckModule, installed
from contracts.vectors import D, nearest, rows


@pytest.fixture
def puck(monkeypatch: pytest.MonkeyPatch) -> PuckModule:
    return installed(monkeypatch)


@pytest.mark.parametrize("metric", METRICS)
def test_puck_is_told_by_flags_and_answers_by_positions(
    puck: PuckModule, metric: str, tmp_path: Path
) -> None:
    base, queries = rows(metric), rows(metric, 7, seed=2)
    index: Any = load("puck")(Setup(metric, D, 2, tmp_path), coarse_cluster_count=5, fine_cluster_count=4)  # type: ignore[call-arg]
    index.build(base)
    assert index.search(queries, 5).tolist() == nearest(metric, queries, base, 5)
    assert puck.flags["whether_norm"] == ("true" if metric == "cosine" else "false")
    assert puck.flags["ip2cos"] == ("1" if metric == "ip" else "0")
    assert (puck.flags["threads_count"], puck.flags["context_initial_pool_size"]) == ("2", "2")
    assert (puck.flags["coarse_cluster_count"], puck.flags["index_path"]) == ("5", str(tmp_path))
    assert not list(tmp_path.glob("train*"))


def test_pucks_search_parameters_are_read_when_it_is_opened(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load("puck")(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2"))
    index.set_search(search_coarse_count=3, filter_topk=9)
    index.search(rows("l2", 1), 5)
    assert (puck.opened["search_coarse_count"], puck.opened["filter_topk"]) == ("3", "9")
    assert (puck.opened["topk"], puck.opened["tinker_search_range"]) == ("5", "25")
    before = puck.opens
    index.search(rows("l2", 1), 5)
    assert puck.opens == before
    index.search(rows("l2", 1), 6)
    assert (puck.opens, puck.opened["topk"]) == (before + 1, "6")
    index.set_search(search_coarse_count=7)
    index.search(rows("l2", 1), 6)
    assert (puck.opens, puck.opened["search_coarse_count"]) == (before + 2, "7")


def test_where_puck_finds_fewer_they_are_padded(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load("puck")(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2", 3))
    assert index.search(rows("l2", 3), 5)[:, 3:].tolist() == [[-1, -1]] * 3


def test_puck_says_when_it_cannot_open(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load("puck")(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2"))
    index.set_search(filter_topk=3)  # fewer than k: its own code refuses that
    with pytest.raises(EngineError, match=r"Puck could not open its index \(code -1\)"):
        index.search(rows("l2", 1), 5)
    puck.fails = True
    with pytest.raises(EngineError, match=r"Puck could not build its index \(code -1\)"):
        index.build(rows("l2"))


def test_pucks_double_refuses_a_flag_that_is_not_documented(puck: PuckModule) -> None:
    with pytest.raises(AssertionError, match="quick"):
        puck.update_gflag("quick", "1")
    with pytest.raises(AssertionError, match="topk"):
        puck.update_gflag("topk", "many")
    with pytest.raises(AssertionError, match="contiguous"):
        puck.swig_ptr(np.zeros((4, 4), np.float32)[:, ::2])


def test_puck_without_a_version_says_where_it_comes_from(puck: PuckModule, tmp_path: Path) -> None:
    index = load("puck")(Setup("l2", D, 1, tmp_path))
    assert index.version() == "built from its sources"


def test_puck_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puck", None)
    said = "the engine puck needs puck, which is not installed: build it"
    with pytest.raises(MissingExtraError, match=said):
        load("puck")(Setup("l2", D, 1, tmp_path))
