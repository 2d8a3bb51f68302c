"""How hard queries are, without any index, and whether hard ones fail."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from assay.bench.studies.difficulty import difficulty_relations, query_difficulty, spearman
from assay.core.vectors import InMemoryVectors
from assay.indexes.exact.truth import truth
from assay.indexes.vector_data import VectorData, build_vector_data
from assay.stats import Estimate
from tests.studies import make_data, trial_with_histogram, trial_with_hits


def gaussian(
    n: int = 2000, d: int = 6, queries: int = 60, metric: str = "l2", away: float = 0.0
) -> VectorData:
    rng = np.random.default_rng(0)
    base = InMemoryVectors(rng.normal(0, 1, (n, d)).astype(np.float32))
    asks = rng.normal(0, 1, (queries, d)).astype(np.float32)
    asks[: queries // 2] += away
    return build_vector_data(
        base, InMemoryVectors(asks), truth(base, InMemoryVectors(asks), 100, metric), metric, 10
    )


def test_features_of_a_line_are_those_computed_by_hand() -> None:
    features = query_difficulty(make_data([[1, 2], [1, 0]], [[0.0], [1.0], [3.0]], [[1.5], [0.5]], k=2))
    assert features["relative_contrast"] == pytest.approx(
        [(1.5 + 0.5 + 1.5) / 3 / 1.5, (0.5 + 0.5 + 2.5) / 3 / 0.5]
    )
    assert features["lid"][0] == pytest.approx(1 / np.log(1.5 / 0.5))
    assert np.isnan(features["lid"][1])  # both are as near: how a neighbourhood grows is not to be told
    assert features["hubness"].tolist() == [0.5, 0.5]


def test_lid_is_the_dimension_of_what_the_base_fills() -> None:
    flat = gaussian(20_000, 2)
    wide = np.pad(flat.base.to_matrix(), ((0, 0), (0, 8)))
    embedded = replace(
        flat,
        base=InMemoryVectors(wide),
        queries=InMemoryVectors(np.pad(flat.queries.to_matrix(), ((0, 0), (0, 8)))),
    )
    assert np.median(query_difficulty(embedded)["lid"]) == pytest.approx(2, rel=0.1)
    assert query_difficulty(embedded)["lid"] == pytest.approx(query_difficulty(flat)["lid"])


def test_queries_of_another_distribution_lie_outside() -> None:
    features = query_difficulty(gaussian(queries=800, away=4.0))
    outside, within = np.split(features["outlyingness"], 2)
    assert np.median(within) == pytest.approx(1, abs=0.05)
    assert np.mean(outside > 1.5) > 0.99
    far, nearby = np.split(features["relative_contrast"], 2)
    assert np.median(far) < 0.6 * np.median(nearby)


def test_directions_are_measured_by_how_far_the_base_goes_in_them() -> None:
    base = np.random.default_rng(0).normal(0, [10, 1], (4000, 2))
    features = query_difficulty(make_data([[0]] * 2, base, [[10.0, 0.0], [0.0, 10.0]]))["outlyingness"]
    assert features[1] > 2.5 * features[0]


def test_under_cosine_lengths_do_not_matter() -> None:
    data = gaussian(metric="cosine")
    longer = replace(data, queries=InMemoryVectors(data.queries.to_matrix() * 7))
    for name, values in query_difficulty(data).items():
        assert query_difficulty(longer)[name] == pytest.approx(values, rel=1e-5), name


def test_cosine_is_as_hard_as_the_distance_on_the_sphere() -> None:
    data = gaussian(metric="cosine")
    on_sphere = [
        InMemoryVectors(v.to_matrix() / np.linalg.norm(v.to_matrix(), axis=1, keepdims=True))
        for v in (data.base, data.queries)
    ]
    same = replace(data, base=on_sphere[0], queries=on_sphere[1], metric="l2")
    for name, values in query_difficulty(data).items():
        assert query_difficulty(same)[name] == pytest.approx(values, rel=1e-3), name


def test_inner_products_of_unit_vectors_are_as_hard_as_their_distances() -> None:
    data = gaussian(metric="cosine")
    on_sphere = [
        InMemoryVectors(v.to_matrix() / np.linalg.norm(v.to_matrix(), axis=1, keepdims=True))
        for v in (data.base, data.queries)
    ]
    ip, l2 = (
        replace(data, base=on_sphere[0], queries=on_sphere[1], metric=metric) for metric in ("ip", "l2")
    )
    for name, values in query_difficulty(l2).items():
        assert query_difficulty(ip)[name] == pytest.approx(values, rel=1e-3), name


def test_what_cannot_be_told_of_a_query_is_nan() -> None:
    features = query_difficulty(make_data([[0, 1], [0, -1], [-1, -1]], [[0.0, 0.0], [0.0, 1.0]], k=2))
    assert features["relative_contrast"][0] == pytest.approx(0.5)
    assert np.isnan(features["relative_contrast"][1:]).all()
    assert np.isnan(features["lid"]).all()
    assert features["hubness"][:2].tolist() == [0.5, 1.0]
    assert np.isnan(features["hubness"][2])
    assert np.isnan(features["outlyingness"]).all()  # of two vectors nobody knows a distribution


def test_the_correlation_is_spearmans_and_its_interval_covers_it() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    y = np.clip(7 + 2 * x + rng.normal(0, 2, 400), 0, 10).round().astype(np.float64)
    x[:5] = np.nan
    (estimate,) = spearman([x], y)
    assert estimate.value == pytest.approx(spearmanr(x[5:], y[5:]).statistic)
    assert estimate.n == 395
    rows = rng.integers(5, 400, (1500, 395))
    low, high = np.quantile([spearmanr(x[item], y[item]).statistic for item in rows], [0.025, 0.975])
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.02)


def test_failures_are_counted_in_quarters_of_a_feature() -> None:
    feature = np.arange(8.0)
    (relation,) = difficulty_relations(trial_with_hits([9, 9, 9, 0, 9, 0, 0, 0]), {"lid": feature}, 0.1)
    assert relation.feature == "lid"
    assert [share.value for share in relation.quartiles] == [0.0, 0.5, 0.5, 1.0]
    assert [share.n for share in relation.quartiles] == [2, 2, 2, 2]
    assert (relation.correlation.value or 0) < -0.5


def test_equal_values_stay_in_one_quarter() -> None:
    (relation,) = difficulty_relations(
        trial_with_hits([0, 9, 9, 9]), {"hubness": np.array([0.0, 0.0, 0.0, 5.0])}, 0.1
    )
    assert [share.n for share in relation.quartiles] == [3, 0, 0, 1]
    assert [share.value for share in relation.quartiles] == [pytest.approx(1 / 3), None, None, 0.0]


def test_what_is_constant_has_no_correlation() -> None:
    features = {"lid": np.array([1.0, 2.0, 3.0, 4.0]), "hubness": np.full(4, np.nan)}
    same, unknown = difficulty_relations(trial_with_hits([9, 9, 9, 9]), features, 0.1)
    assert same.correlation == Estimate(None, None, None, 0.95, 4)
    assert (unknown.correlation.n, unknown.quartiles[0].value) == (0, None)


def test_without_queries_or_features_nothing_is_related() -> None:
    assert difficulty_relations(trial_with_histogram([1, 1]), {"lid": np.ones(2)}, 0.1) == []
    assert difficulty_relations(trial_with_hits([1, 1]), {}, 0.1) == []
