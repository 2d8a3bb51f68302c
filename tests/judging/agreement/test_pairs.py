"""Agreement of two raters: published figures, scikit-learn, the paradox of κ and identical labels."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from assay.core.arrays import Floats
from assay.judging.agreement import Labels
from assay.judging.agreement.coefficients import gwet_coefficient
from assay.judging.agreement.copies import find_suspicious_pairs
from assay.judging.agreement.pairs import PairAgreements, compare_raters
from tests.judging.agreement.test_coefficients import tables

WEIGHTS = {"none": None, "linear": "linear", "quadratic": "quadratic"}


def read_grades(path: Path) -> dict[tuple[str, str], float]:
    rows = (line.split() for line in path.read_text().splitlines())
    return {(query, doc): float(grade) for query, _, doc, grade in rows}


def compare_files(first: Path, second: Path) -> PairAgreements:
    a, b = read_grades(first), read_grades(second)
    return compare_raters(Labels.from_matrix(np.array([[a[key], b[key]] for key in a if key in b])))


def test_kappa_of_rag25_is_the_published_one(shared: Path) -> None:
    folder = shared / "rag25_judgments"
    pairs = compare_files(folder / "qrels.rag25.test.txt", folder / "qrels.rag25.test-umbrela2.txt")
    values = [pairs.kappa[name].value[0] for name in WEIGHTS]
    assert np.round(values, 6).tolist() == [0.233316, 0.372877, 0.491811]
    assert round(float(pairs.agreement.value[0]), 4) == 0.4412


@pytest.mark.parametrize(
    ("model", "published"),
    [
        ("llm_dev_baseline_qrel_prompt_order__0123", 0.05333167325258126),
        ("llm_dev_baseline_qrel_prompt_order__3210", 0.11265538220194327),
        ("llm_dev_decomposed_relavance_qrel", 0.18298816171192678),
        ("llm_dev_sum_of_decomposed_prompts", 0.23486723484404193),
        ("llm_llm4eval_dev_qrel_exam_rubric", 0.13354480311171968),
    ],
)
def test_kappa_of_llmjudge_is_the_published_one(shared: Path, model: str, published: float) -> None:
    folder = shared / "llmjudge_dev"
    pairs = compare_files(folder / "llm4eval_dev_qrel_2024.txt", folder / f"{model}.txt")
    assert pairs.kappa["none"].value[0] == pytest.approx(published, abs=1e-12)


@given(tables())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning", "ignore::RuntimeWarning")
def test_kappa_of_each_two_raters_equals_that_of_scikit_learn(grades: Floats) -> None:
    steps = np.where(np.isin(grades, [-1.0, 0.0, 1.0, 2.0]), grades, np.nan)  # grades without a gap
    pairs = compare_raters(Labels.from_matrix(steps))
    for row in range(len(pairs)):
        both = steps[:, [pairs.first[row], pairs.second[row]]]
        first, second = both[~np.isnan(both).any(axis=1)].T.astype(int)
        assert pairs.n[row] == len(first)
        for name, weights in WEIGHTS.items():
            with np.errstate(all="ignore"):
                expected = cohen_kappa_score(first, second, labels=[-1, 0, 1, 2], weights=weights)
            assert pairs.kappa[name].value[row] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(tables())
def test_ac_of_two_raters_equals_that_of_all_if_there_are_only_two(grades: Floats) -> None:
    shared = grades[:, :2][~np.isnan(grades[:, :2]).any(axis=1)]
    labels = Labels.from_matrix(shared)
    pairs = compare_raters(labels)
    for name in WEIGHTS if len(pairs) else ():
        overall, own = gwet_coefficient(labels, name), pairs.gwet[name].estimate(0)
        assert own[:3] == pytest.approx(overall[:3], abs=1e-9)


def test_the_paradox_of_kappa_is_seen_in_ac1() -> None:
    grades = np.zeros((100, 2))
    grades[:5, 0] = grades[5:10, 1] = 1
    pairs = compare_raters(Labels.from_matrix(grades))
    kappa, ac1 = pairs.kappa["none"].estimate(0), pairs.gwet["none"].estimate(0)
    assert pairs.agreement.value[0] == 0.9
    assert kappa.value == pytest.approx(-0.05263158)
    assert ac1.value == pytest.approx(0.88950276)
    assert kappa.high is not None
    assert kappa.high > 0  # 5 % of two labels at random would often agree on none of 100 items


def test_pairs_of_raters_that_share_nothing_are_null() -> None:
    grades = np.array([[1.0, 0.0, np.nan], [0.0, 0.0, np.nan], [np.nan, np.nan, 1.0]])
    listed = compare_raters(Labels.from_matrix(grades, ["a", "b", "c"])).to_dicts()
    assert [(pair["a"], pair["b"], pair["n"]) for pair in listed] == [
        ("a", "b", 2),
        ("a", "c", 0),
        ("b", "c", 0),
    ]
    assert listed[1]["agreement"] is None
    assert listed[1]["kappa"] == {"value": None, "low": None, "high": None, "n": 0}


def test_two_raters_who_give_one_grade_only_have_no_kappa() -> None:
    pairs = compare_raters(Labels.from_matrix(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])))
    assert np.isnan([pairs.kappa[name].value[0] for name in WEIGHTS]).all()
    assert np.isnan([pairs.gwet[name].value[0] for name in WEIGHTS]).all()
    assert pairs.agreement.value[0] == 1.0


def test_perfect_agreement_has_a_lower_end_by_the_number_of_items() -> None:
    ends = []
    for items in (10, 100, 1000):
        grades = np.tile(np.arange(items) % 2, (2, 1)).T.astype(float)
        kappa = compare_raters(Labels.from_matrix(grades)).kappa["none"].estimate(0)
        assert (kappa.value, kappa.high) == (1.0, 1.0)
        ends.append(round(kappa.low or 0, 3))
    assert ends == [0.383, 0.928, 0.993]


@given(tables(), st.integers(1, 3))
def test_blocks_of_pairs_have_the_values_of_all_pairs_at_once(grades: Floats, most: int) -> None:
    labels = Labels.from_matrix(grades)
    expected = compare_raters(labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.judging.agreement.pairs._MOST_MARGINS", most)
        patch.setattr("assay.judging.agreement.pairs._MOST_CELLS", 0)
        patch.setattr("assay.judging.agreement.pairs._BLOCK", 2)
        found = compare_raters(labels)
    for name in WEIGHTS if len(expected) else ():
        assert np.allclose(found.kappa[name][:4], expected.kappa[name][:4], equal_nan=True)
        assert np.allclose(found.gwet[name][:4], expected.gwet[name][:4], equal_nan=True)


def copied(items: int, grades: int) -> Floats:
    own = np.random.default_rng(0).integers(0, grades, (items, 2)).astype(float)
    return own[:, [0, 0, 1]]


def test_a_copied_rater_is_suspicious() -> None:
    found = find_suspicious_pairs(compare_raters(Labels.from_matrix(copied(30, 4), ["a", "b", "c"])))
    assert [(pair.first, pair.second, pair.n) for pair in found] == [("a", "b", 30)]
    assert found[0].probability < 0.001


def test_few_or_unvaried_identical_labels_are_not_suspicious() -> None:
    for grades in (copied(3, 4), np.zeros((200, 2)), copied(5, 2)[:, :2]):
        assert not find_suspicious_pairs(compare_raters(Labels.from_matrix(grades)))


def test_identical_labels_are_expected_where_all_raters_agree() -> None:
    grades = np.tile(np.arange(60) % 2, (3, 1)).T.astype(float)
    grades[7, 2] = 1 - grades[7, 2]
    assert not find_suspicious_pairs(compare_raters(Labels.from_matrix(grades)))
