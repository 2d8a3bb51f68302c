"""Qrels by a named rule."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError, UndecidableError
from assay.core.judgments import Judgments
from assay.core.tables import Qrels
from assay.datasets.judgment_files import read_judgments
from assay.judging.aggregation import Aggregation, Rule, aggregate
from assay.judging.aggregation.dawid_skene import fit_dawid_skene
from assay.judging.aggregation.votes import count_votes
from assay.judging.agreement.labels import Labels

NAN = np.nan


def judgments_of(table: Sequence[list[float]]) -> Judgments:
    """Judgments of a table with a row for each document and a column for each judge; -1: cannot be rated."""
    rows = [
        ("q", f"d{row}", f"j{column}", None if grade == -1 else grade)
        for row, grades in enumerate(table)
        for column, grade in enumerate(grades)
        if not np.isnan(grade)
    ]
    return Judgments.from_rows(rows)


def grades_by(table: Sequence[list[float]], rule: str, **options: object) -> list[float | None]:
    result = aggregate(judgments_of(table), Rule(rule, **options))  # type: ignore[arg-type]
    return result.pairs["grade"].to_list()


def web_crowd(folder: object) -> tuple[Judgments, np.ndarray]:
    """The labels of the crowd, and the truth of each pair: 0 where there is none."""
    judgments = read_judgments(f"{folder}/web_crowd/web_crowd.txt")
    truth = dict(np.loadtxt(f"{folder}/web_crowd/web_truth.txt", dtype=int).tolist())
    return judgments, np.array([truth.get(int(item), 0) for item in judgments.pairs["doc_id"]])


def error_rate(result: Aggregation, truth: np.ndarray) -> float:
    known = truth > 0
    return float((result.pairs["grade"].to_numpy()[known] != truth[known]).mean())


@pytest.mark.parametrize(
    ("rule", "ties", "expected"),
    [
        ("majority", "lower", [2, 0, 1, None]),
        ("majority", "higher", [2, 1, 1, None]),
        ("majority", "none", [2, None, 1, None]),
        ("unanimous", "", [None, None, 1, None]),
        ("mean", "lower", [1, 0, 1, None]),
        ("mean", "higher", [1, 1, 1, None]),
        ("mean", "none", [1, None, 1, None]),
        ("median", "lower", [2, 0, 1, None]),
        ("median", "higher", [2, 1, 1, None]),
    ],
)
def test_a_rule_makes_one_grade_of_several(rule: str, ties: str, expected: list[float | None]) -> None:
    table: list[list[float]] = [[2, 2, 0], [0, 1, -1], [1, 1, NAN], [-1, NAN, NAN]]
    assert grades_by(table, rule, ties=ties) == expected


def test_a_pair_that_nobody_could_rate_has_no_grade_by_any_rule() -> None:
    for rule in ("majority", "mean", "median", "unanimous", "dawid-skene"):
        result = aggregate(judgments_of([[-1, -1], [1, 1]]), Rule(rule))
        assert result.pairs["grade"].to_list() == [None, 1]
        assert result.qrels() == Qrels({"q": {"d1": 1}})
        assert (result.counts["unrated"], result.counts["unlabelled"]) == (2, 1)


def test_a_drawn_tie_depends_on_the_pair_and_the_seed_only() -> None:
    table = [[0.0, 1.0]] * 400
    first, second = grades_by(table, "majority"), grades_by(table, "majority", seed=1)
    assert first == grades_by(table, "majority")
    assert first != second
    assert 150 < sum(grade or 0 for grade in first) < 250
    assert grades_by(table[:7], "majority") == first[:7]


def test_the_majority_of_the_crowd_errs_as_published_when_ties_are_drawn(shared: object) -> None:
    judgments, truth = web_crowd(shared)
    votes = count_votes(Labels.from_judgments(judgments))
    is_best = votes == votes.max(axis=1, keepdims=True)
    known = np.flatnonzero(truth)
    right = is_best[known, truth[known] - 1] / is_best[known].sum(axis=1)
    assert 1 - right.mean() == pytest.approx(0.2693, abs=1e-4)  # the mean over all draws
    assert error_rate(aggregate(judgments, Rule("majority")), truth) == pytest.approx(0.2693, abs=0.006)


def test_the_model_of_dawid_and_skene_errs_as_published(shared: object) -> None:
    judgments, truth = web_crowd(shared)
    result = aggregate(judgments, Rule("dawid-skene"))
    assert error_rate(result, truth) == pytest.approx(0.1708, abs=5e-5)
    assert result.model is not None
    assert result.model.has_converged
    maximum = aggregate(judgments, Rule("dawid-skene", smoothing=0))
    assert error_rate(maximum, truth) == pytest.approx(0.1708, abs=0.006)


def test_the_model_recovers_the_tables_of_simulated_judges() -> None:
    random = np.random.default_rng(1)
    tables = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]])
    truth = (random.random(4000) < 0.3).astype(int)
    grades = np.stack([random.random(4000) < table[truth, 1] for table in tables], axis=1).astype(float)
    model = fit_dawid_skene(Labels.from_matrix(grades))
    assert model.prior[1] == pytest.approx(0.3, abs=0.05)
    assert np.abs(model.confusion - tables).max() < 0.06
    assert np.allclose(model.posterior.sum(axis=1), 1)
    assert np.allclose(model.confusion.sum(axis=2), 1)


def test_one_iteration_follows_the_equations() -> None:
    labels = Labels.from_matrix(np.array([[0, 0, 1], [1, 1, 1], [0, 1, NAN]]))
    model = fit_dawid_skene(labels, smoothing=0.5, most_iterations=1)
    shares = np.array([[2 / 3, 1 / 3], [0, 1], [0.5, 0.5]])
    prior = shares.mean(axis=0)
    counts = np.full((3, 2, 2), 0.5)
    for item, judge, code in zip(labels.item, labels.rater, labels.code, strict=True):
        counts[judge, :, code] += shares[item]
    tables = counts / counts.sum(axis=2, keepdims=True)
    expected = np.tile(prior, (3, 1))
    for item, judge, code in zip(labels.item, labels.rater, labels.code, strict=True):
        expected[item] *= tables[judge, :, code]
    assert model.log_likelihood == pytest.approx(np.log(expected.sum(axis=1)).sum())
    assert np.allclose(model.posterior, expected / expected.sum(axis=1, keepdims=True))
    assert not model.has_converged


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0, NAN]), min_size=3, max_size=3), min_size=1, max_size=6
    )
)
def test_every_rule_gives_a_grade_between_those_of_the_judges(table: list[list[float]]) -> None:
    rated = [[grade for grade in grades if grade >= 0] for grades in table]
    if not any(len(grades) > 1 for grades in rated):
        return
    judgments = judgments_of(table)
    for rule in ("majority", "mean", "median", "dawid-skene"):
        pairs = aggregate(judgments, Rule(rule)).pairs
        for doc, grade, confidence in pairs.select("doc_id", "grade", "confidence").rows():
            given_grades = rated[int(doc[1:])]
            assert (grade is None) == (not given_grades)
            if rule in ("mean", "median", "majority") and given_grades:
                assert min(given_grades) <= grade <= max(given_grades)
            assert confidence is None or 0 <= confidence <= 1


def adjudicated(rows: list[tuple[str, float | None]], **options: object) -> list[tuple[object, ...]]:
    table = judgments_of([[0, 2], [1, 1], [0, 1]])
    decisions = Judgments.from_rows([("q", doc, "adjudicator dee", grade) for doc, grade in rows])
    joined = Judgments(pl.concat([table.frame, decisions.frame]))
    result = aggregate(joined, Rule("adjudicated", **options))  # type: ignore[arg-type]
    return result.pairs.select("grade", "by").rows()


def test_the_adjudicator_wins_and_other_pairs_fall_to_another_rule_or_to_none() -> None:
    assert adjudicated([("d0", 1)]) == [(1, "adjudicated"), (None, ""), (None, "")]
    decided = [(1, "adjudicated"), (1, "unanimous"), (None, "")]
    assert adjudicated([("d0", 1)], fallback="unanimous") == decided
    assert adjudicated([("d0", 1)], fallback="majority", ties="lower")[2] == (0, "majority")
    assert adjudicated([("d0", 1)], adjudicators=["j0"])[0] == (0, "adjudicated")


def test_a_pair_that_the_adjudicator_could_not_rate_has_no_label() -> None:
    assert adjudicated([("d0", None)], fallback="majority", ties="lower")[0] == (None, "")


def test_two_adjudicators_who_differ_are_refused() -> None:
    rows = [("q", "d", "adjudicator a", 1), ("q", "d", "adjudicator b", 2), ("q", "d", "c", 0)]
    with pytest.raises(InputError, match=r"two adjudicators, one of them 'adjudicator .', gave document 'd'"):
        aggregate(Judgments.from_rows(rows), Rule("adjudicated"))
    with pytest.raises(InputError, match="expected judgments of an adjudicator"):
        aggregate(judgments_of([[1, 2]]), Rule("adjudicated"))
    with pytest.raises(InputError, match="there is no judge 'x' among j0, j1"):
        aggregate(judgments_of([[1, 2]]), Rule("adjudicated", adjudicators=["x"]))


def test_a_judge_is_compared_with_the_label() -> None:
    result = aggregate(judgments_of([[0, 0, 1], [1, 1, 1], [0, 0, -1]]), Rule("majority"))
    judge = result.to_dict()["judges"][2]
    assert (judge["labels"], judge["unrated"], judge["agreement"]["value"]) == (2, 1, 0.5)
    assert judge["confusion"] == [[0, 1], [0, 1]]
    assert result.grades == {"0": 2, "1": 1}


def test_wrong_rules_and_data_that_decide_nothing_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"expected one of majority, .* found 'mayority'; did you mean majority"
    ):
        Rule("mayority")
    with pytest.raises(InputError, match="as the rule for ties, found 'up'"):
        Rule("majority", "up")
    with pytest.raises(InputError, match="expected another rule"):
        Rule("adjudicated", fallback="adjudicated")
    with pytest.raises(UndecidableError, match="pairs that two judges rated, found none"):
        grades_by([[1, NAN], [NAN, 1]], "dawid-skene")
    with pytest.raises(UndecidableError, match="only pairs that could not be rated"):
        grades_by([[-1, -1]], "majority")
    with pytest.raises(InputError, match="of at least 0 as the smoothing, found -1"):
        grades_by([[1, 1]], "dawid-skene", smoothing=-1)
    with pytest.raises(InputError, match=r"qrels hold whole grades, and document 'd0' of query 'q' has 0.5"):
        aggregate(judgments_of([[0.5, 0.5]]), Rule("majority")).qrels()
    with pytest.raises(UndecidableError, match="no pair has a grade"):
        aggregate(judgments_of([[0, 1]]), Rule("unanimous")).qrels()


def test_a_recipe_records_what_the_rule_used() -> None:
    assert Rule("majority").to_dict() == {"rule": "majority", "ties": "random", "seed": 0}
    assert Rule("mean").to_dict() == {"rule": "mean", "ties": "higher"}
    assert Rule("unanimous").to_dict() == {"rule": "unanimous"}
    assert Rule("dawid-skene", smoothing=1).to_dict() == {"rule": "dawid-skene", "smoothing": 1}


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("majority", {"fallback": "mean"}),
        ("majority", {"smoothing": 3.0}),
        ("mean", {"adjudicators": ["ann"]}),
        ("unanimous", {"ties": "lower"}),
    ],
)
def test_a_parameter_that_the_rule_does_not_use_is_refused(name: str, option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"is a parameter of the rule .*, found the rule {name}"):
        Rule(name, **option)
