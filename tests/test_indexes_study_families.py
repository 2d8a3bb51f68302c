"""Families of indexes, and how many times as often one fails as another."""

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats.contingency import relative_risk

from assay.indexes.engines import ENGINES
from assay.indexes.study.families import FAMILIES, failure_ratio, family, family_of
from assay.indexes.study.ratios import ratio_of_sums
from assay.indexes.trials import Trial
from studies import asked, reported, stated

KNOWN = {
    "partition": "faiss.ivfflat faiss.ivfpq faiss.ivfsq faiss.fastscan faiss.rabitq scann puck "
    "pgvector.ivfflat lancedb.ivfpq",
    "tree": "annoy",
    "exact": "faiss.flat sqlite-vec",
}


def test_every_engine_has_a_family() -> None:
    expected = {name: kind for kind, names in KNOWN.items() for name in names.split()}
    assert expected.keys() <= ENGINES.keys()
    assert {name: family(name) for name in ENGINES} == {name: expected.get(name, "graph") for name in ENGINES}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("HNSW", "graph"), ("DiskANN", "graph"), ("Zilliz", "graph"), ("ZillizCloud", "graph"),
        ("IVFFlat", "partition"), ("ScaNN", "partition"), ("Puck", "partition"), ("faiss-ivf", "partition"),
        ("hnsw(faiss)", "graph"), ("Milvus-FLAT", "exact"), ("bruteforce-blas", "exact"), ("length", "other"),
    ],
)  # fmt: skip
def test_published_names_have_families_however_they_are_spelt(name: str, expected: str) -> None:
    assert {family(name), family(name.lower()), family(name.upper())} == {expected}
    assert expected in FAMILIES


def test_an_engine_of_many_indexes_is_of_the_family_of_what_it_built() -> None:
    kinds = {
        "IVF_FLAT": "partition",
        "SCANN": "partition",
        "DISKANN": "graph",
        "FLAT": "exact",
        "AUTOINDEX": "graph",
    }
    assert {name: family_of(Trial("a", "milvus", {"index_type": name})) for name in kinds} == kinds
    assert family_of(Trial("a", "lancedb.hnsw", {"index_type": "IVF_HNSW_SQ"})) == "graph"
    assert family_of(Trial("a", "puck", {"index_type": "tinker"})) == "partition"
    assert family_of(Trial("a", "adaptive", {"inner": "faiss.ivfflat;nlist=64"})) == "partition"


def test_histograms_are_compared_as_two_shares() -> None:
    """HNSW and IVFFlat on Text-to-Image-10M at δ = .1, as published: 2,445 against 138 of 100,000."""
    found = failure_ratio(stated([2445, 97555]), stated([138, 99862]), 1.0)
    other = relative_risk(2445, 100_000, 138, 100_000)
    low, high = other.confidence_interval(0.95)
    assert found.ratio[:3] == pytest.approx((other.relative_risk, low, high), rel=1e-9)
    assert (found.first.value, found.second.value, found.ratio.n) == (0.02445, 0.00138, 100_000)


def test_the_same_queries_are_drawn_together() -> None:
    """Where both fail on the same queries, their ratio is sure; apart it would not be."""
    hits = [0] * 20 + [10] * 80
    together = failure_ratio(asked(hits), asked(hits, "faiss.ivfflat"), 0.1)
    assert together.ratio == (1.0, 1.0, 1.0, 0.95, 100)
    apart = failure_ratio(asked(hits), stated([20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 80]), 0.1).ratio
    assert apart.value == 1.0
    assert (apart.low or 1) < 0.7 < 1.4 < (apart.high or 1)


def test_whether_two_fail_alike_is_told_by_the_queries_on_which_one_alone_fails() -> None:
    first, second = (
        [0] * 12 + [10] * 88,
        [10] * 9 + [0] * 5 + [10] * 86,
    )  # 9 on the first alone, 2 on the second
    found = failure_ratio(asked(first), asked(second, "faiss.ivfflat"), 0.1)
    assert found.p == pytest.approx(binomtest(2, 11).pvalue)


def test_the_bootstrap_agrees_with_drawing_queries_one_by_one() -> None:
    rng = np.random.default_rng(3)
    top = (rng.random(400) < 0.2).astype(int)
    bottom = (rng.random(400) < 0.1).astype(int) | (top & (rng.random(400) < 0.3))
    rows = rng.integers(0, 400, (20_000, 400))
    low, high = np.quantile(top[rows].sum(axis=1) / bottom[rows].sum(axis=1), [0.025, 0.975])
    found = ratio_of_sums(top, bottom)
    assert found[:3] == pytest.approx((top.sum() / bottom.sum(), low, high), rel=0.05)


def test_where_the_second_never_fails_the_least_ratio_is_told() -> None:
    """The second fails in less than 3/1000, by the rule of three."""
    found = failure_ratio(asked([0] * 50 + [9] * 950), asked([9] * 1000, "faiss.ivfflat"), 0.1)
    assert found.second.value == 0
    assert found.ratio.value is found.ratio.high is None
    assert found.ratio.low == pytest.approx((found.first.low or 0) / 0.003)


def test_where_the_first_never_fails_the_ratio_is_not_sure_to_be_0() -> None:
    found = failure_ratio(asked([9] * 1000), asked([0] * 50 + [9] * 950, "faiss.ivfflat"), 0.1).ratio
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.003 / 0.0381, rel=0.01)
    assert failure_ratio(asked([9]), asked([9]), 0.1).ratio[:3] == (None, None, None)


def test_shares_of_nobody_knows_how_many_have_a_ratio_without_an_interval() -> None:
    one, other = (reported({"Robustness(delta=0.1)@10": share}) for share in (0.9, 0.95))
    found = failure_ratio(one, other, 0.1).ratio
    assert found.value == pytest.approx(2)
    assert found.low is found.high is None
    assert failure_ratio(one, other, 0.5).ratio.value is None


def test_a_query_without_truth_counts_in_neither() -> None:
    one, other = asked([0, 9, 9]), asked([0, 0, 9], "faiss.ivfflat")
    assert one.hits is not None
    one.hits.out_of[0] = 0
    found = failure_ratio(one, other, 0.1)
    assert (found.first.value, found.second.value, found.ratio.value) == (0.0, 0.5, 0.0)
