"""Families of indexes, and how many times as often one fails as another."""

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats.contingency import relative_risk

from assay.bench.studies.bootstrap_ratio import ratio_of_sums
from assay.bench.studies.families import FAMILIES, failure_ratio, family_of_engine, family_of_trial
from assay.bench.trials import Trial
from assay.indexes.registry import ENGINES
from assay.stats import Estimate
from tests.studies import trial_with_figures, trial_with_histogram, trial_with_hits

KNOWN = {
    "partition": "faiss.ivfflat faiss.ivfpq faiss.ivfsq faiss.fastscan faiss.rabitq scann puck "
    "pgvector.ivfflat lancedb.ivfpq",
    "tree": "annoy",
    "exact": "faiss.flat sqlite-vec",
}


def test_every_engine_has_a_family() -> None:
    expected = {name: kind for kind, names in KNOWN.items() for name in names.split()}
    assert expected.keys() <= ENGINES.keys()
    assert {name: family_of_engine(name) for name in ENGINES} == {
        name: expected.get(name, "graph") for name in ENGINES
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("HNSW", "graph"), ("DiskANN", "graph"), ("Zilliz", "graph"), ("ZillizCloud", "graph"),
        ("IVFFlat", "partition"), ("ScaNN", "partition"), ("Puck", "partition"), ("faiss-ivf", "partition"),
        ("hnsw(faiss)", "graph"), ("Milvus-FLAT", "exact"), ("bruteforce-blas", "exact"), ("length", "other"),
    ],
)  # fmt: skip
def test_published_names_have_families_however_they_are_spelt(name: str, expected: str) -> None:
    assert {family_of_engine(name), family_of_engine(name.lower()), family_of_engine(name.upper())} == {
        expected
    }
    assert expected in FAMILIES


def test_an_engine_of_many_indexes_is_of_the_family_of_what_it_built() -> None:
    kinds = {
        "IVF_FLAT": "partition",
        "SCANN": "partition",
        "DISKANN": "graph",
        "FLAT": "exact",
        "AUTOINDEX": "graph",
    }
    assert {name: family_of_trial(Trial("a", "milvus", {"index_type": name})) for name in kinds} == kinds
    assert family_of_trial(Trial("a", "lancedb.hnsw", {"index_type": "IVF_HNSW_SQ"})) == "graph"
    assert family_of_trial(Trial("a", "puck", {"index_type": "tinker"})) == "partition"
    assert family_of_trial(Trial("a", "adaptive", {"inner": "faiss.ivfflat;nlist=64"})) == "partition"


def test_histograms_are_compared_as_two_shares() -> None:
    """HNSW and IVFFlat on Text-to-Image-10M at δ = .1, as published: 2,445 against 138 of 100,000."""
    ratio = failure_ratio(trial_with_histogram([2445, 97555]), trial_with_histogram([138, 99862]), 1.0)
    reference = relative_risk(2445, 100_000, 138, 100_000)
    low, high = reference.confidence_interval(0.95)
    assert ratio.ratio[:3] == pytest.approx((reference.relative_risk, low, high), rel=1e-9)
    assert (ratio.first.value, ratio.second.value, ratio.ratio.n) == (0.02445, 0.00138, 100_000)


def test_the_same_queries_are_drawn_together() -> None:
    """Where both fail on the same queries, their ratio is sure; apart it would not be."""
    hits = [0] * 20 + [10] * 80
    together = failure_ratio(trial_with_hits(hits), trial_with_hits(hits, "faiss.ivfflat"), 0.1)
    assert together.ratio == Estimate(1.0, 1.0, 1.0, 0.95, 100)
    ratio = failure_ratio(
        trial_with_hits(hits), trial_with_histogram([20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 80]), 0.1
    ).ratio
    assert ratio.value == 1.0
    assert (ratio.low or 1) < 0.7 < 1.4 < (ratio.high or 1)


def test_whether_two_fail_alike_is_told_by_the_queries_on_which_one_alone_fails() -> None:
    first, second = (
        [0] * 12 + [10] * 88,
        [10] * 9 + [0] * 5 + [10] * 86,
    )  # 9 on the first alone, 2 on the second
    ratio = failure_ratio(trial_with_hits(first), trial_with_hits(second, "faiss.ivfflat"), 0.1)
    assert ratio.p == pytest.approx(binomtest(2, 11).pvalue)


def test_the_bootstrap_agrees_with_drawing_queries_one_by_one() -> None:
    rng = np.random.default_rng(3)
    top = (rng.random(400) < 0.2).astype(int)
    bottom = (rng.random(400) < 0.1).astype(int) | (top & (rng.random(400) < 0.3))
    rows = rng.integers(0, 400, (20_000, 400))
    low, high = np.quantile(top[rows].sum(axis=1) / bottom[rows].sum(axis=1), [0.025, 0.975])
    ratio = ratio_of_sums(top, bottom)
    assert ratio[:3] == pytest.approx((top.sum() / bottom.sum(), low, high), rel=0.05)


def test_where_the_second_never_fails_the_least_ratio_is_told() -> None:
    """The second fails in less than 3/1000, by the rule of three."""
    ratio = failure_ratio(
        trial_with_hits([0] * 50 + [9] * 950), trial_with_hits([9] * 1000, "faiss.ivfflat"), 0.1
    )
    assert ratio.second.value == 0
    assert ratio.ratio.value is ratio.ratio.high is None
    assert ratio.ratio.low == pytest.approx((ratio.first.low or 0) / 0.003)


def test_where_the_first_never_fails_the_ratio_is_not_sure_to_be_0() -> None:
    ratio = failure_ratio(
        trial_with_hits([9] * 1000), trial_with_hits([0] * 50 + [9] * 950, "faiss.ivfflat"), 0.1
    ).ratio
    assert (ratio.value, ratio.low) == (0.0, 0.0)
    assert ratio.high == pytest.approx(0.003 / 0.03734, rel=0.01)
    assert failure_ratio(trial_with_hits([9]), trial_with_hits([9]), 0.1).ratio[:3] == (None, None, None)


def test_shares_of_nobody_knows_how_many_have_a_ratio_without_an_interval() -> None:
    item, second = (trial_with_figures({"Robustness(delta=0.1)@10": share}) for share in (0.9, 0.95))
    ratio = failure_ratio(item, second, 0.1).ratio
    assert ratio.value == pytest.approx(2)
    assert ratio.low is ratio.high is None
    assert failure_ratio(item, second, 0.5).ratio.value is None


def test_a_query_without_truth_counts_in_neither() -> None:
    item, second = trial_with_hits([0, 9, 9]), trial_with_hits([0, 0, 9], "faiss.ivfflat")
    assert item.hits is not None
    item.hits.out_of[0] = 0
    ratio = failure_ratio(item, second, 0.1)
    assert (ratio.first.value, ratio.second.value, ratio.ratio.value) == (0.0, 0.5, 0.0)
