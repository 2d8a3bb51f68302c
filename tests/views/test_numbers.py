"""Intervals as text: marked if they may be too narrow, with fewer decimals if they were resampled."""

import re

import numpy as np

from assay.core.tables import Scores
from assay.evaluation.compare import compare_scores
from assay.stats import Estimate
from assay.views.compare import render_comparison
from assay.views.numbers import NARROW_NOTE, end_digits, format_interval, format_signed, narrow_notes

EXACT = Estimate(0.5, 0.25, 0.75, 0.95, 30)


def test_an_interval_that_may_be_too_narrow_is_marked() -> None:
    marked = EXACT._replace(is_narrow=True)
    assert (format_interval(EXACT), format_interval(marked)) == ("0.2500 … 0.7500", "0.2500 … 0.7500 *")
    assert (narrow_notes([EXACT]), narrow_notes([EXACT, marked])) == ([], [NARROW_NOTE])


def test_resampled_ends_have_two_decimals() -> None:
    assert (end_digits(EXACT), end_digits(EXACT._replace(is_resampled=True))) == (4, 2)
    assert (format_signed(-0.123, 2), format_signed(0.001, 2)) == ("−0.12", "0.00")


def test_a_comparison_says_what_its_marks_mean() -> None:
    ids, rng = [f"q{i}" for i in range(60)], np.random.default_rng(0)
    before = Scores(ids, {"nDCG@10": rng.random(60), "Quantile(nDCG@10)": rng.random(60)})
    few = Scores(ids, {name: np.minimum(v + (np.arange(60) < 3) / 2, 1) for name, v in before.values.items()})
    text = render_comparison(compare_scores(before, {"new": few}), "table")
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert " * " in rows["nDCG@10"]
    assert re.search(r"\d\.\d\d … \+?\d\.\d\d ", rows["Quantile(nDCG@10)"])
    assert f"- {NARROW_NOTE}" in text
    other = Scores(ids, {"nDCG@10": before["nDCG@10"][::-1]})
    calm = render_comparison(compare_scores(before, {"new": other}), "table")
    assert NARROW_NOTE not in calm
