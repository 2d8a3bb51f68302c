"""Differences of shares and binomial tests."""

import csv
from pathlib import Path

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

from assay.core.errors import InputError
from assay.stats.share_differences import METHODS, binomial_p, share_difference, wilson_ends

UDACITY = "abtest/Udacity-AB-Testing-Final-Project-Experiment-Results.csv"


def udacity_days(shared: Path) -> list[dict[str, int]]:
    """The days on which payments were counted."""
    rows = csv.DictReader((shared / UDACITY).read_text().splitlines())
    numbers = ({k: int(v) for k, v in row.items() if k != "date" and v} for row in rows)
    return [row for row in numbers if "payments_con" in row]


@pytest.mark.parametrize(
    ("name", "published", "wins", "p"),
    [
        ("enrollments", (-0.0206, -0.0291, -0.0120), 4, 0.0026),
        ("payments", (-0.0049, -0.0116, 0.0019), 10, 0.6776),
    ],
)
def test_udacitys_published_results_are_reproduced(
    shared: Path, name: str, published: tuple[float, ...], wins: int, p: float
) -> None:
    days = udacity_days(shared)
    totals = [sum(d[f"{k}_{arm}"] for d in days) for arm in ("con", "exp") for k in (name, "clicks")]
    result = share_difference(*totals, method="pooled")
    assert result.estimate[:3] == pytest.approx(published, abs=5.1e-5)
    rises = sum(d[f"{name}_exp"] / d["clicks_exp"] > d[f"{name}_con"] / d["clicks_con"] for d in days)
    assert (rises, len(days)) == (wins, 23)
    assert binomial_p(rises, len(days)) == pytest.approx(p, abs=5e-5)


def test_methods_are_those_of_statsmodels() -> None:
    hits, n, other, other_n = 48, 80, 56, 70
    names = {"newcombe": "newcomb", "agresti-caffo": "agresti-caffo"}
    for method, name in names.items():
        expected = confint_proportions_2indep(other, other_n, hits, n, method=name)
        result = share_difference(hits, n, other, other_n, method=method)
        assert result.estimate[1:3] == pytest.approx(expected)
    pooled = proportions_ztest([other, hits], [other_n, n])[1]
    assert share_difference(hits, n, other, other_n, method="pooled").p == pytest.approx(pooled)
    assert wilson_ends(hits, n) == pytest.approx(proportion_confint(hits, n, method="wilson"))


@pytest.mark.parametrize("method", METHODS)
def test_no_units_give_no_interval(method: str) -> None:
    result = share_difference(0, 0, 3, 10, method=method)
    assert (result.estimate.value, result.p) == (None, None)
    assert result.reason == "fewer than 2 units in an arm"


def test_no_hits_at_all_still_have_newcombes_interval() -> None:
    result = share_difference(0, 100, 0, 100)
    assert result.estimate.value == 0
    assert result.estimate[1:3] == pytest.approx((-0.037, 0.037), abs=1e-3)
    assert share_difference(0, 100, 0, 100, method="unpooled").reason.startswith("no variance")


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(InputError, match="found 5 of 3"):
        share_difference(5, 3, 1, 3)
    with pytest.raises(InputError, match="expected a method"):
        share_difference(1, 3, 1, 3, method="exact")
    assert binomial_p(0, 0) is None
