"""Coefficients of all raters: published figures, other libraries, missing labels and degenerate tables."""

from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from assay.core.arrays import Floats
from assay.judging.agreement import Labels
from assay.judging.agreement.coefficients import METRICS, krippendorff_alpha, measure_agreement
from assay.judging.agreement.coefficients import fleiss_kappa as assay_fleiss

NYT = {
    "relevance": (0.486828, 0.665129, 0.651236),
    "new_relevance": (0.675507, 0.831523, 0.825668),
}
NYT_GRADES = {"not_relevant": 0, "relevant": 1, "highly_relevant": 2}
WEB = (0.210421, 0.382770, 0.386867)


def alphas(grades: Floats) -> list[float | None]:
    labels = Labels.from_matrix(grades)
    return [krippendorff_alpha(labels, metric).value for metric in METRICS]


@st.composite
def tables(draw: st.DrawFn) -> Floats:
    """Grades of up to five raters for up to twelve items, some of them missing."""
    items, raters = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    grade = st.sampled_from([np.nan, 0.0, 1.0, 2.0, 4.0, -1.0, 0.5])
    cells = draw(st.lists(grade, min_size=items * raters, max_size=items * raters))
    return np.array(cells).reshape(items, raters)


@pytest.mark.parametrize("column", NYT)
def test_alpha_of_the_nyt_reviewers_is_the_published_one(shared: Path, column: str) -> None:
    file = shared / "nyt_reviewers" / "reviewers_independent_judgments_deidentified.csv"
    grades = pl.read_csv(file).with_columns(pl.col(column).replace_strict(NYT_GRADES))
    wide = grades.pivot(on="rater", index="unit_id", values=column).drop("unit_id")
    assert [round(value or 0, 6) for value in alphas(wide.to_numpy().astype(float))] == list(NYT[column])


def test_alpha_of_a_crowd_with_missing_labels_is_the_known_one(shared: Path) -> None:
    item, rater, grade = np.loadtxt(shared / "web_crowd" / "web_crowd.txt", dtype=int).T
    matrix = np.full((item.max() + 1, rater.max() + 1), np.nan)
    matrix[item, rater] = grade
    assert [round(value or 0, 6) for value in alphas(matrix)] == list(WEB)


@given(tables())
def test_alpha_equals_that_of_the_library_krippendorff(grades: Floats) -> None:
    for metric, value in zip(METRICS, alphas(grades), strict=True):
        try:
            with np.errstate(invalid="ignore"):
                expected = krippendorff.alpha(grades.T, level_of_measurement=metric)  # type: ignore[arg-type]
        except ValueError:  # the library refuses tables without variation
            expected = np.nan
        assert value == pytest.approx(None if np.isnan(expected) else expected, abs=1e-9)


@given(tables())
def test_fleiss_kappa_equals_that_of_statsmodels_on_complete_tables(grades: Floats) -> None:
    complete = grades[~np.isnan(grades).any(axis=1)]
    value = assay_fleiss(Labels.from_matrix(complete)).value
    if len(np.unique(complete)) < 2:
        assert value is None
    else:
        assert value == pytest.approx(fleiss_kappa(aggregate_raters(complete)[0]))


def reference_ac(grades: Floats, weights: Callable[[Floats, Floats], Floats]) -> float:
    """Gwet's coefficient, one item after the other, as in his formulas."""
    scale = np.unique(grades[~np.isnan(grades)])
    table = weights(scale[:, None], scale[None])
    counts = [np.array([(row == grade).sum() for grade in scale], float) for row in grades]
    counts = [row for row in counts if row.sum()]
    observed = [
        float(row @ (table @ row - 1)) / (row.sum() * (row.sum() - 1)) for row in counts if row.sum() > 1
    ]
    shares = np.mean([row / row.sum() for row in counts], axis=0)
    expected = table.sum() / (len(scale) * (len(scale) - 1)) * float((shares * (1 - shares)).sum())
    return float((np.mean(observed) - expected) / (1 - expected))


@given(tables())
def test_gwet_coefficients_follow_the_formulas(grades: Floats) -> None:
    agreement = measure_agreement(Labels.from_matrix(grades))
    labels = grades[~np.isnan(grades)]
    if len(np.unique(labels)) < 2 or not ((~np.isnan(grades)).sum(axis=1) > 1).any():
        assert agreement.ac1.value is None
        return
    spread = np.ptp(labels)
    found = [agreement.ac1.value, agreement.ac2["linear"].value, agreement.ac2["quadratic"].value]
    assert found == pytest.approx(
        [
            reference_ac(grades, lambda a, b: (a == b).astype(float)),
            reference_ac(grades, lambda a, b: 1 - np.abs(a - b) / spread),
            reference_ac(grades, lambda a, b: 1 - ((a - b) / spread) ** 2),
        ]
    )


def test_without_variation_every_coefficient_is_undefined() -> None:
    agreement = measure_agreement(Labels.from_matrix(np.ones((5, 3)))).to_dict()
    assert agreement["agreement"] == pytest.approx(
        {"value": 1.0, "low": 0.4782, "high": 1.0, "n": 5}, abs=1e-4
    )
    assert agreement["fleiss"] == agreement["ac1"] == {"value": None, "low": None, "high": None, "n": 5}
    assert {a["value"] for a in agreement["alpha"].values()} == {None}  # type: ignore[attr-defined]


@given(tables())
def test_an_interval_contains_its_value_and_ends_at_one(grades: Floats) -> None:
    agreement = measure_agreement(Labels.from_matrix(grades))
    for estimate in (agreement.fleiss, agreement.ac1, *agreement.alpha.values(), *agreement.ac2.values()):
        if estimate.low is not None and estimate.high is not None:
            assert estimate.value is not None
            assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_items_and_raters_does_not_matter(grades: Floats, random: object) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    shuffled = grades[rng.permutation(len(grades))][:, rng.permutation(grades.shape[1])]
    assert alphas(shuffled) == pytest.approx(alphas(grades), abs=1e-9)


def test_raters_without_a_shared_item_have_no_coefficient() -> None:
    agreement = measure_agreement(Labels.from_matrix(np.array([[1.0, np.nan], [np.nan, 0.0]])))
    assert {agreement.agreement.value, agreement.fleiss.value, agreement.alpha["ordinal"].value} == {None}
    assert agreement.agreement.n == 0
