"""Puck, over a double of its Python module: it shows what the adapter says, not what Puck does.

The adapter was held against the real library at revision 6536a22. `tests/contracts/puck.json` says what was
as documented and what was not; the tests below hold the adapter to both.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.core.vectors import METRICS
from assay.indexes.engines.puck import Puck, _lift_to_unit_length, _refuse_few
from assay.indexes.index import Setup
from assay.indexes.registry import load_engine
from tests.contracts.contract import Contract
from tests.contracts.modules import PuckModule, install_puck
from tests.contracts.vectors import D, nearest, rows

N = 300  # more than the 256 values of a code


@pytest.fixture
def puck(monkeypatch: pytest.MonkeyPatch) -> PuckModule:
    return install_puck(monkeypatch)


@pytest.mark.parametrize("metric", METRICS)
def test_puck_is_told_by_flags_and_answers_by_positions(
    puck: PuckModule, metric: str, tmp_path: Path
) -> None:
    base, queries = rows(metric, N), rows(metric, 7, seed=2)
    index: Any = load_engine("puck")(
        Setup(metric, D, 2, tmp_path), coarse_cluster_count=5, fine_cluster_count=4
    )  # type: ignore[call-arg]
    index.build(base)
    assert index.search(queries, 5).tolist() == nearest(metric, queries, base, 5)
    assert puck.flags["whether_norm"] == ("true" if metric == "cosine" else "false")
    assert (puck.flags["ip2cos"], puck.flags["feature_dim"]) == ("0", str(D + 4 if metric == "ip" else D))
    assert (puck.flags["threads_count"], puck.flags["context_initial_pool_size"]) == ("2", "2")
    assert (puck.flags["coarse_cluster_count"], puck.flags["index_path"]) == ("5", str(tmp_path))
    assert not list(tmp_path.glob("train*"))


def test_pucks_search_parameters_are_read_when_it_is_opened(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2", N))
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
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2", N))
    puck.finds = 3
    assert index.search(rows("l2", 3), 5)[:, 3:].tolist() == [[-1, -1]] * 3


def test_puck_says_when_it_cannot_open(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    index.build(rows("l2", N))
    index.set_search(filter_topk=3)  # fewer than k: its own code refuses that
    with pytest.raises(EngineError, match=r"Puck could not open its index \(code -1\)"):
        index.search(rows("l2", 1), 5)
    puck.fails = True
    with pytest.raises(EngineError, match=r"Puck could not build its index \(code -1\)"):
        index.build(rows("l2", N))


def test_pucks_double_refuses_a_flag_that_is_not_documented(puck: PuckModule) -> None:
    with pytest.raises(AssertionError, match="quick"):
        puck.update_gflag("quick", "1")
    with pytest.raises(AssertionError, match="topk"):
        puck.update_gflag("topk", "many")
    with pytest.raises(AssertionError, match="contiguous"):
        puck.swig_ptr(np.zeros((4, 4), np.float32)[:, ::2])


def test_puck_without_a_version_says_where_it_comes_from(puck: PuckModule, tmp_path: Path) -> None:
    index = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    assert index.version() == "built from its sources"


def test_puck_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puck", None)
    message = "the engine puck needs puck, which is not installed: build it"
    with pytest.raises(MissingExtraError, match=message):
        load_engine("puck")(Setup("l2", D, 1, tmp_path))


def test_puck_is_said_to_be_held_against_a_revision_of_the_library() -> None:
    held_against = Contract("puck").facts["held_against"]
    assert (held_against["revision"], len(held_against["otherwise"])) == ("6536a22", 9)


@pytest.mark.parametrize(("d", "columns"), [(8, 4), (5, 3), (6, 2), (7, 1)])
def test_pucks_inner_product_is_converted_by_columns_up_to_a_multiple_of_four(d: int, columns: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(50, d)).astype(np.float32)
    lifted = _lift_to_unit_length(vectors, columns)
    assert np.allclose((lifted**2).sum(axis=1), 1, atol=1e-5)
    assert (lifted[:, d:] == lifted[:, d : d + 1]).all()
    query = np.pad(vectors[:1], ((0, 0), (0, columns)))
    order = np.argsort(((lifted - query) ** 2).sum(axis=1), kind="stable")
    assert order.tolist() == np.argsort(-(vectors @ vectors[0]), kind="stable").tolist()


@pytest.mark.parametrize(("n", "clusters"), [(256, None), (300, 300), (300, 400)])
def test_puck_with_too_few_vectors_is_refused_before_its_process_ends(
    puck: PuckModule, tmp_path: Path, n: int, clusters: int | None
) -> None:
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path), coarse_cluster_count=clusters)  # type: ignore[call-arg]
    with pytest.raises(
        InputError, match=f"expected more than {clusters or 256}, found {n}; set coarse_cluster"
    ):
        index.build(rows("l2", n))
    with pytest.raises(InputError, match="found 1; set coarse"):
        index.build(np.ones((1000, D), np.float32))


def test_tinker_needs_no_more_vectors_than_clusters_because_it_has_no_codes(tmp_path: Path) -> None:
    _refuse_few(rows("l2", 41), limit=40)


def test_the_clusters_of_puck_follow_from_the_number_of_vectors(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path), fine_cluster_count=9)  # type: ignore[call-arg]
    index.build(rows("l2", 400))
    assert (puck.flags["coarse_cluster_count"], puck.flags["fine_cluster_count"]) == ("20", "9")
    puck.flags.pop("coarse_cluster_count")
    again: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    again.load()
    assert puck.flags["coarse_cluster_count"] == "20"


def test_clusters_of_a_k_means_that_puck_abandoned_are_refused(puck: PuckModule, tmp_path: Path) -> None:
    puck.log = b"E1118 kmeans.cpp:267] kmeans: reassigned 1204 times, abandoning\n"
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    with pytest.raises(EngineError, match=r"abandoned k-means.*reassigned 1204 times, abandoning.*lower"):
        index.build(rows("l2", N))


def test_puck_serves_one_client_per_process() -> None:
    assert Puck.holds_gil


@pytest.mark.parametrize("d", [6, 31])
def test_puck_of_dimensions_without_a_divisor_needs_filter_nsq(
    puck: PuckModule, tmp_path: Path, d: int
) -> None:
    with pytest.raises(InputError, match=f"filter_nsq must be given for vectors of {d} dimensions"):
        load_engine("puck")(Setup("l2", d, 1, tmp_path))
    load_engine("puck")(Setup("l2", d, 1, tmp_path), filter_nsq=1)  # type: ignore[call-arg]
    load_engine("puck")(Setup("ip", d, 1, tmp_path))  # padded to a multiple of 4


def test_a_search_of_no_cluster_of_puck_is_refused(puck: PuckModule, tmp_path: Path) -> None:
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path))
    with pytest.raises(InputError, match="search_coarse_count must be 1 or more, found 0"):
        index.set_search(search_coarse_count=0)


@pytest.mark.parametrize(("index_type", "count"), [("puck", "200"), ("tinker", "20")])
def test_puck_and_tinker_have_their_own_number_of_searched_clusters(
    puck: PuckModule, tmp_path: Path, index_type: str, count: str
) -> None:
    load_engine("puck")(Setup("l2", D, 1, tmp_path), index_type=index_type)  # type: ignore[call-arg]
    assert puck.flags["search_coarse_count"] == count


@pytest.mark.parametrize(
    ("options", "is_stored"),
    [({}, False), ({"whether_pq": False}, True), ({"index_type": "tinker"}, True)],
)
def test_puck_keeps_the_vectors_only_if_it_searches_them(
    puck: PuckModule, tmp_path: Path, options: dict[str, Any], is_stored: bool
) -> None:
    index: Any = load_engine("puck")(Setup("l2", D, 1, tmp_path), **options)
    index.build(rows("l2", N))
    assert (tmp_path / "all_data.feat.bin").exists() == is_stored
    assert index.search(rows("l2", 1), 5).tolist() == nearest("l2", rows("l2", 1), rows("l2", N), 5)
