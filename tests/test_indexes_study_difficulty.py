"""How hard queries are, without any index, and whether hard ones fail."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from assay.core.vectors import Held
from assay.indexes.exact.truth import truth
from assay.indexes.study.difficulty import difficulty, relations, spearman
from assay.indexes.sweeps.data import Data, data
from studies import asked, plane, stated


def gaussian(n: int = 2000, d: int = 6, queries: int = 60, metric: str = "l2", away: float = 0.0) -> Data:
    rng = np.random.default_rng(0)
    base = Held(rng.normal(0, 1, (n, d)).astype(np.float32))
    asks = rng.normal(0, 1, (queries, d)).astype(np.float32)
    asks[: queries // 2] += away
    return data(base, Held(asks), truth(base, Held(asks), 100, metric), metric, 10)


def test_features_of_a_line_are_those_computed_by_hand() -> None:
    found = difficulty(plane([[1, 2], [1, 0]], [[0.0], [1.0], [3.0]], [[1.5], [0.5]], k=2))
    assert found["relative_contrast"] == pytest.approx(
        [(1.5 + 0.5 + 1.5) / 3 / 1.5, (0.5 + 0.5 + 2.5) / 3 / 0.5]
    )
    assert found["lid"][0] == pytest.approx(1 / np.log(1.5 / 0.5))
    assert np.isnan(found["lid"][1])  # both are as near: how a neighbourhood grows is not to be told
    assert found["hubness"].tolist() == [0.5, 0.5]


def test_lid_is_the_dimension_of_what_the_base_fills() -> None:
    flat = gaussian(20_000, 2)
    wide = np.pad(flat.base.whole(), ((0, 0), (0, 8)))
    embedded = replace(flat, base=Held(wide), queries=Held(np.pad(flat.queries.whole(), ((0, 0), (0, 8)))))
    assert np.median(difficulty(embedded)["lid"]) == pytest.approx(2, rel=0.1)
    assert difficulty(embedded)["lid"] == pytest.approx(difficulty(flat)["lid"])


def test_queries_of_another_distribution_lie_outside() -> None:
    found = difficulty(gaussian(queries=800, away=4.0))
    outside, within = np.split(found["outlyingness"], 2)
    assert np.median(within) == pytest.approx(1, abs=0.05)
    assert np.mean(outside > 1.5) > 0.99
    far, near = np.split(found["relative_contrast"], 2)
    assert np.median(far) < 0.6 * np.median(near)


def test_directions_are_measured_by_how_far_the_base_goes_in_them() -> None:
    base = np.random.default_rng(0).normal(0, [10, 1], (4000, 2))
    found = difficulty(plane([[0]] * 2, base, [[10.0, 0.0], [0.0, 10.0]]))["outlyingness"]
    assert found[1] > 2.5 * found[0]


def test_under_cosine_lengths_do_not_matter() -> None:
    one = gaussian(metric="cosine")
    longer = replace(one, queries=Held(one.queries.whole() * 7))
    for name, values in difficulty(one).items():
        assert difficulty(longer)[name] == pytest.approx(values, rel=1e-5), name


def test_cosine_is_as_hard_as_the_distance_on_the_sphere() -> None:
    one = gaussian(metric="cosine")
    on_sphere = [
        Held(v.whole() / np.linalg.norm(v.whole(), axis=1, keepdims=True)) for v in (one.base, one.queries)
    ]
    same = replace(one, base=on_sphere[0], queries=on_sphere[1], metric="l2")
    for name, values in difficulty(one).items():
        assert difficulty(same)[name] == pytest.approx(values, rel=1e-3), name


def test_inner_products_of_unit_vectors_are_as_hard_as_their_distances() -> None:
    one = gaussian(metric="cosine")
    on_sphere = [
        Held(v.whole() / np.linalg.norm(v.whole(), axis=1, keepdims=True)) for v in (one.base, one.queries)
    ]
    ip, l2 = (replace(one, base=on_sphere[0], queries=on_sphere[1], metric=metric) for metric in ("ip", "l2"))
    for name, values in difficulty(l2).items():
        assert difficulty(ip)[name] == pytest.approx(values, rel=1e-3), name


def test_what_cannot_be_told_of_a_query_is_nan() -> None:
    found = difficulty(plane([[0, 1], [0, -1], [-1, -1]], [[0.0, 0.0], [0.0, 1.0]], k=2))
    assert found["relative_contrast"][0] == pytest.approx(0.5)
    assert np.isnan(found["relative_contrast"][1:]).all()
    assert np.isnan(found["lid"]).all()
    assert found["hubness"][:2].tolist() == [0.5, 1.0]
    assert np.isnan(found["hubness"][2])
    assert np.isnan(found["outlyingness"]).all()  # of two vectors nobody knows a distribution


def test_the_correlation_is_spearmans_and_its_interval_covers_it() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    y = np.clip(7 + 2 * x + rng.normal(0, 2, 400), 0, 10).round().astype(np.float64)
    x[:5] = np.nan
    (found,) = spearman([x], y)
    assert found.value == pytest.approx(spearmanr(x[5:], y[5:]).statistic)
    assert found.n == 395
    rows = rng.integers(5, 400, (1500, 395))
    low, high = np.quantile([spearmanr(x[some], y[some]).statistic for some in rows], [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


def test_failures_are_counted_in_quarters_of_a_feature() -> None:
    feature = np.arange(8.0)
    (found,) = relations(asked([9, 9, 9, 0, 9, 0, 0, 0]), {"lid": feature}, 0.1)
    assert found.feature == "lid"
    assert [share.value for share in found.quartiles] == [0.0, 0.5, 0.5, 1.0]
    assert [share.n for share in found.quartiles] == [2, 2, 2, 2]
    assert (found.correlation.value or 0) < -0.5


def test_equal_values_stay_in_one_quarter() -> None:
    (found,) = relations(asked([0, 9, 9, 9]), {"hubness": np.array([0.0, 0.0, 0.0, 5.0])}, 0.1)
    assert [share.n for share in found.quartiles] == [3, 0, 0, 1]
    assert [share.value for share in found.quartiles] == [pytest.approx(1 / 3), None, None, 0.0]


def test_what_is_constant_has_no_correlation() -> None:
    features = {"lid": np.array([1.0, 2.0, 3.0, 4.0]), "hubness": np.full(4, np.nan)}
    same, unknown = relations(asked([9, 9, 9, 9]), features, 0.1)
    assert same.correlation == (None, None, None, 0.95, 4)
    assert (unknown.correlation.n, unknown.quartiles[0].value) == (0, None)


def test_without_queries_or_features_nothing_is_related() -> None:
    assert relations(stated([1, 1]), {"lid": np.ones(2)}, 0.1) == []
    assert relations(asked([1, 1]), {}, 0.1) == []
