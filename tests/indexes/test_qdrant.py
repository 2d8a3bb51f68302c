"""Qdrant in process: the real graph of qdrant-edge-py. Its server is in test_indexes_contracts.py."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import EngineError
from assay.core.vectors import METRICS
from assay.indexes.engines.qdrant import Edge, has_unindexed
from assay.indexes.exact.distances import pair_distances
from assay.indexes.index import Setup

N, D, K = 3000, 24, 10


def rows(metric: str, n: int, seed: int) -> Any:
    values = np.random.default_rng(seed).standard_normal((n, D)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True) if metric == "cosine" else values


def recall(metric: str, queries: Any, base: Any, positions: Any) -> float:
    far = [pair_distances(metric, np.repeat(q[None], len(base), 0), base) for q in queries]
    truth = [set(np.argsort(row)[:K].tolist()) for row in far]
    return float(np.mean([len(t & set(f.tolist())) / K for t, f in zip(truth, positions, strict=True)]))


@pytest.fixture(autouse=True)
def edge() -> Any:
    return pytest.importorskip("qdrant_edge")


@pytest.mark.parametrize("metric", METRICS)
def test_it_finds_by_its_graph_and_exactly_when_told(metric: str, tmp_path: Path) -> None:
    base, queries = rows(metric, N, 1), rows(metric, 40, 2)
    index = Edge(Setup(metric, D, 1, tmp_path))
    index.build(base)
    index.set_search(**Edge.smallest_search)
    lowest = recall(metric, queries, base, index.search(queries, K))
    index.set_search(hnsw_ef=400)
    highest = recall(metric, queries, base, index.search(queries, K))
    index.set_search(exact=True)
    exact = recall(metric, queries, base, index.search(queries, K))
    index.close()
    assert lowest < 0.95 < highest <= exact
    assert exact == 1


def test_fewer_than_k_are_padded(tmp_path: Path) -> None:
    index = Edge(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2", 3, 1))
    positions = index.search(rows("l2", 3, 1), 5)
    index.close()
    assert positions[:, 0].tolist() == [0, 1, 2]
    assert (positions[:, 3:] == -1).all()


def test_what_is_saved_can_be_taken_up_again(tmp_path: Path) -> None:
    queries = rows("l2", 20, 2)
    first = Edge(Setup("l2", D, 1, tmp_path))
    first.build(rows("l2", 500, 1))
    positions = first.search(queries, K)
    first.save()
    first.close()
    second = Edge(Setup("l2", D, 1, tmp_path))
    second.load()
    assert (second.search(queries, K) == positions).all()
    second.close()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) > 500 * D * 4


def test_a_shard_that_stays_unindexed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Edge(Setup("l2", D, 1, tmp_path))
    real = index.edge.EdgeOptimizersConfig
    monkeypatch.setattr(
        index.edge, "EdgeOptimizersConfig", lambda **options: real(**options | {"indexing_threshold": 10**6})
    )
    with pytest.raises(EngineError, match=r"indexed 0 of 500 vectors; the others would be scanned"):
        index.build(rows("l2", 500, 1))
    index.close()


def test_a_rest_below_the_threshold_may_stay_unindexed() -> None:
    assert not has_unindexed(n=100, indexed=98, d=96, threshold=1)  # 768 bytes
    assert has_unindexed(n=100, indexed=97, d=96, threshold=1)  # 1,152 bytes
