"""The report: raters, disagreements, slices and the order of systems."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

from assay import Documents, Qrels, Queries, Run, evaluate
from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.judging.agreement import compute_agreement
from assay.judging.agreement.labels import Labels
from assay.judging.agreement.system_order import MOST_RATERS, kendall_tau

GRADES = {  # (query, document): grades of ann, bob and cat
    ("q1", "a"): (2, 2, 0),
    ("q1", "b"): (1, 1, 1),
    ("q2", "a"): (0, 1, None),
    ("q2", "c"): (1, None, 1),
    ("q3", "a"): (0, 0, 0),
}


def judgments() -> Judgments:
    rows = [
        (query, doc, judge, grade)
        for (query, doc), grades in GRADES.items()
        for judge, grade in zip(("ann", "bob", "cat"), grades, strict=True)
    ]
    return Judgments.from_rows(rows)


def test_a_pair_that_could_not_be_rated_is_counted_and_no_label() -> None:
    counts = compute_agreement(judgments()).counts
    assert counts == {
        "queries": 3,
        "pairs": 5,
        "labels": 13,
        "could_not_rate": 2,
        "judged_twice": 5,
        "rater_pairs": 3,
        "rater_pairs_that_share": 3,
    }


def test_the_bias_of_a_rater_is_the_mean_difference_from_the_others() -> None:
    ann, bob, cat = compute_agreement(judgments()).rater_summaries
    assert ann.bias.value == pytest.approx(np.mean([1, 0, -1, 0, 0]))
    assert ann.bias.n == 5
    assert bob.bias.value == pytest.approx(np.mean([1, 0, 1, 0]))
    assert cat.bias.value == pytest.approx(np.mean([-2, 0, 0, 0]))
    assert (bob.labels, bob.unrated, bob.shared) == (4, 1, 4)
    assert [(share.grade, share.n) for share in ann.prevalence] == [(0.0, 2), (1.0, 2), (2.0, 1)]


def test_the_speed_of_a_rater_is_the_median_time_between_judgments() -> None:
    times = [f"2026-01-31T12:00:{second:02d}Z" for second in (0, 40, 10, 20)]
    frame = pl.DataFrame(
        {"query_id": "q", "doc_id": list("abcd"), "judge": "ann", "grade": [0, 1, 0, 1], "at": times}
    )
    others = frame.with_columns(judge=pl.lit("bob"), at=pl.lit(""))
    ann, bob = compute_agreement(Judgments(pl.concat([frame, others]))).rater_summaries
    assert (ann.seconds.value, ann.seconds.n) == (10.0, 3)
    assert (bob.seconds.value, bob.seconds.n) == (None, 0)


def test_disagreements_come_with_texts_the_most_severe_first() -> None:
    queries = Queries({"query_id": ["q1", "q2"], "text": ["reset password", "vpn"]})
    documents = Documents({"doc_id": ["a"], "title": ["Reset"], "text": ["Press it."]})
    found = compute_agreement(judgments(), queries, documents).disagreements
    assert (found.differing, found.judged_twice) == (2, 5)
    worst = found.worst[0]
    assert (worst.query_id, worst.doc_id, worst.spread) == ("q1", "a", 2.0)
    assert worst.grades == {"ann": 2.0, "bob": 2.0, "cat": 0.0}
    assert (worst.query, worst.document) == ("reset password", "Reset\nPress it.")
    assert found.worst[1].query_id == "q2"
    assert compute_agreement(judgments(), disagreements=1).disagreements.worst == [
        worst._replace(query=None, document=None)
    ]


def test_a_slice_has_the_agreement_of_its_own_queries() -> None:
    queries = Queries({"query_id": ["q1", "q2", "q3"], "kind": ["x", "y", "y"]})
    by_kind = compute_agreement(judgments(), queries, by=["kind"]).slices
    only_y = judgments().take(pl.col("query_id") != "q1")
    assert [(part.value, part.queries) for part in by_kind] == [("x", 1), ("y", 2)]
    expected = compute_agreement(only_y)
    assert by_kind[1].agreement.fleiss.value == pytest.approx(expected.agreement.fleiss.value)
    assert by_kind[1].pairs is not None
    assert by_kind[1].pairs.kappa["none"].value == pytest.approx(
        expected.pairs.kappa["none"].value, nan_ok=True
    )


def test_slices_of_other_queries_are_an_error() -> None:
    queries = Queries({"query_id": ["other"], "kind": ["x"]})
    with pytest.raises(InputError, match="has none of the judged queries: expected ids such as 'q1'"):
        compute_agreement(judgments(), queries, by=["kind"])


def test_one_rater_is_an_error_that_says_what_to_do() -> None:
    one = Judgments.from_rows([("q", "a", "ann", 1)])
    with pytest.raises(InputError, match="found only 'ann': give the file of a second rater"):
        compute_agreement(one)


def runs(count: int = 3) -> list[Run]:
    rng = np.random.default_rng(1)
    documents = [f"d{number}" for number in range(20)]
    scores = {f"r{at}": rng.random((12, 20)) for at in range(count)}
    return [
        Run(
            {f"q{q}": dict(zip(documents, values[q].tolist(), strict=True)) for q in range(12)},
            name=name,
        )
        for name, values in scores.items()
    ]


def random_judgments(raters: int = 2) -> Judgments:
    rng = np.random.default_rng(2)
    rows = [
        (f"q{q}", f"d{d}", f"rater{rater}", int(rng.integers(0, 3)))
        for q in range(12)
        for d in range(20)
        for rater in range(raters)
    ]
    return Judgments.from_rows(rows)


def test_runs_are_scored_by_the_labels_of_each_rater() -> None:
    order = compute_agreement(random_judgments(), runs=runs(), measure="RR@10").system_order
    assert order is not None
    comparison = order.comparisons[0]
    own = random_judgments().frame.filter(pl.col("judge") == comparison.first)
    expected = evaluate(Qrels(own), runs()[0], ["RR@10"]).estimates["RR@10"]
    assert comparison.scores["r0"][0] == expected
    assert (comparison.queries, comparison.pairs) == (12, 240)


def test_the_order_is_compared_on_the_pairs_that_both_judged() -> None:
    labels = random_judgments()
    unshared = pl.col("judge").eq("rater0") | pl.col("query_id").is_in(["q0", "q1"])
    order = compute_agreement(labels.take(unshared), runs=runs()).system_order
    assert order is not None
    assert (order.comparisons[0].queries, order.comparisons[0].pairs) == (2, 40)


def test_tau_equals_that_of_scipy_and_counts_the_swaps() -> None:
    order = compute_agreement(random_judgments(), runs=runs(6)).system_order
    assert order is not None
    comparison = order.comparisons[0]
    means = [[by.value or 0.0 for by in both] for both in comparison.scores.values()]
    assert comparison.tau.value == pytest.approx(kendalltau(*np.transpose(means)).statistic)
    assert len(comparison.swaps) == round((1 - (comparison.tau.value or 0)) / 2 * 15)
    swap = comparison.swaps[0]
    assert (swap.by_first_rater.value or 0) * (swap.by_second_rater.value or 0) < 0


def test_tau_with_ties_equals_that_of_scipy() -> None:
    first, second = np.array([[1.0, 1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 2.0, 0.0]])
    assert kendall_tau(first, second)[0] == pytest.approx(kendalltau(first[0], second[0]).statistic)
    assert np.isnan(kendall_tau(np.ones((1, 3)), np.ones((1, 3)))[0])


def test_of_many_raters_those_with_the_most_labels_score_the_runs() -> None:
    labels = random_judgments(MOST_RATERS + 2)
    fewer = pl.col("judge").ne("rater3") | pl.col("query_id").ne("q0")
    order = compute_agreement(labels.take(fewer), runs=runs(2)).system_order
    assert order is not None
    assert len(order.comparisons) == MOST_RATERS * (MOST_RATERS - 1) // 2
    assert "rater3" in order.left_out


def test_the_order_needs_two_runs_and_whole_grades() -> None:
    with pytest.raises(InputError, match="needs two runs or more"):
        compute_agreement(judgments(), runs=runs(1))
    decimal = Judgments.from_rows([("q", "a", "ann", 0.5), ("q", "a", "bob", 1)])
    with pytest.raises(InputError, match=r"needs whole grades, found 0\.5 of 'ann' for 'a' in 'q'"):
        compute_agreement(decimal, runs=runs())


def test_a_large_sparse_table_gives_the_same_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Labels.from_judgments(judgments())
    monkeypatch.setattr("assay.judging.agreement.labels._MOST_CELLS", 0)
    found = Labels.from_judgments(judgments())
    for name in ("item", "rater", "code", "scale"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert found.counts.count.tolist() == expected.counts.count.tolist()
