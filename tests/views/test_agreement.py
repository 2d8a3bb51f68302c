"""Agreement of raters as tables and sentences."""

import numpy as np

from assay.core.arrays import Floats
from assay.core.judgments import Judgments
from assay.judging.agreement import AgreementReport, compute_agreement
from assay.judging.agreement.copies import SuspiciousPair
from assay.views.agreement import overlap_notes, render_agreement
from assay.views.agreement_notes import describe_suspicion


def report(grades: Floats) -> AgreementReport:
    rows = [
        (f"q{item % 7}", f"d{item}", f"r{rater}", None if np.isnan(grade) else float(grade))
        for (item, rater), grade in np.ndenumerate(grades)
    ]
    return compute_agreement(Judgments.from_rows(rows))


def simulated(items: int, raters: int, grades: int = 3) -> Floats:
    rng = np.random.default_rng(0)
    own = rng.integers(0, grades, (items, 1))
    return np.where(rng.random((items, raters)) < 0.8, own, rng.integers(0, grades, (items, raters))).astype(
        float
    )


def paradox() -> Floats:
    grades = np.zeros((100, 2))
    grades[:5, 0] = grades[5:10, 1] = 1
    return grades


def test_the_paradox_is_explained_with_ac1() -> None:
    text = render_agreement(report(paradox()), "md")
    assert "r0 and r1 agree on 90 % of 100 pairs, but κ is −0.05: 90.5 % would agree by chance" in text
    assert "95 % of all labels are 0. AC1, which prevalence moves less, is 0.89." in text


def test_kappa_is_compared_with_the_bar_of_the_guides() -> None:
    assert "is below 0.7, the bar that guides set" in render_agreement(report(simulated(200, 2, 4)), "md")
    equal = np.tile(np.arange(100) % 2, (2, 1)).T.astype(float)
    assert "κ 1.000 (0.928 … 1.000) is above 0.7, the bar that guides set\n" in (
        render_agreement(report(equal), "md") + "\n"
    )


def test_identical_labels_are_called_suspicious() -> None:
    assert describe_suspicion(SuspiciousPair("a", "b", 50, 0.8, 1.4e-5)) == (
        "suspicious: the labels of a and b are identical on all 50 pairs that both judged; raters who do not "
        "copy would agree on about 80 % and be identical with a chance of 1e-05. Check that both judged"
    )
    copied = simulated(60, 3)[:, [0, 0, 1]]
    assert "suspicious: the labels of r0 and r1 are identical" in render_agreement(report(copied), "md")


def test_without_variation_kappa_is_called_undefined() -> None:
    text = render_agreement(report(np.ones((5, 2))), "table")
    assert "κ is undefined: the labels do not vary" in text


def test_raters_without_a_shared_pair_get_a_note() -> None:
    grades = np.array([[1.0, np.nan], [np.nan, 0.0]])
    assert overlap_notes(report(grades))[0].startswith("agreement is undefined: no two raters judged")
    assert overlap_notes(report(paradox())) == []


def test_the_table_of_many_raters_is_short_and_fits_a_terminal() -> None:
    lines = render_agreement(report(simulated(50, 40)), "table").splitlines()
    assert len(lines) < 80
    assert max(map(len, lines)) <= 118
    assert any("780 pairs of raters share items" in line for line in lines)
    assert len(render_agreement(report(simulated(50, 40)), "csv").splitlines()) == 781


def test_a_report_is_rendered_in_every_style() -> None:
    found = report(simulated(50, 3))
    assert render_agreement(found, "csv").startswith("a,b,n,agreement,kappa,kappa_low,kappa_high")
    assert "<h1>Agreement of raters</h1>" in render_agreement(found, "html")
    assert "\\subsection*{raters two by two}" in render_agreement(found, "latex")


def test_many_grades_are_pointed_out() -> None:
    grades = np.random.default_rng(0).random((40, 2)).round(2)
    text = render_agreement(report(grades), "md")
    assert "different grades; κ without weights, nominal α and AC1 count any two as different" in text
