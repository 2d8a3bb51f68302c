"""What must hold for every ranking."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.evaluation import evaluate
from tests.reference_measures import QrelsAndRun, QrelsDict, RunDict, qrels_and_runs, quick, rank_documents

ONE_IF_IDEAL = (
    *("nDCG", "nDCG@1", "nDCG@3", "nDCG@10", "nDCG(gain='exp')", "nDCG(gain='exp')@3", "RCap@1", "RCap@5"),
    *("AP", "RR", "RR@1", "R", "Rprec", "bpref", "Success@1", "IPrec@0.0", "IPrec@0.5", "IPrec@1.0", "11pt"),
    *("Judged", "Judged@5", "Robustness(delta=1.0)@20", "gmAP"),
)
NO_HELP = (
    *("P", "P@3", "R", "R@3", "RCap@3", "F", "F@3", "Success@3", "RR", "RR@3", "AP", "AP@3", "gmAP", "DCG"),
    *("DCG@3", "nDCG", "nDCG@3", "nDCG(gain='exp')@3", "Rprec", "bpref", "infAP", "ERR", "ERR@3", "RBP"),
    *("RBP@3", "RBP(rel=2)", "IPrec@0.3", "11pt", "Robustness(delta=0.3)@3"),
)
MONOTONE = ("nDCG", "nDCG@3", "AP", "RR", "P@3", "R@3", "DCG@3", "ERR", "RBP", "Rprec", "bpref")
TRAPS = ((50, 7), (50, 14), (50, 28), (100, 7), (100, 14), (100, 28), (100, 55), (100, 56))


def ideal(qrels: QrelsDict) -> RunDict:
    return {query: {doc: float(grade) for doc, grade in docs.items()} for query, docs in qrels.items()}


def with_hits(hits: list[int], k: int) -> QrelsAndRun:
    """Truth of k documents for each query, and a run of k with so many of them, mixed up."""
    rng = np.random.default_rng(k)
    qrels = {f"q{i}": {f"t{doc}": 1 for doc in range(k)} for i in range(len(hits))}
    run = {}
    for i, count in enumerate(hits):
        docs = [f"t{doc}" for doc in range(count)] + [f"other{doc}" for doc in range(k - count)]
        run[f"q{i}"] = {docs[place]: float(k - rank) for rank, place in enumerate(rng.permutation(k))}
    return qrels, run


@quick
@given(qrels_and_runs())
def test_the_ideal_ranking_scores_one(qrels_and_run: QrelsAndRun) -> None:
    qrels = {query: docs for query, docs in qrels_and_run[0].items() if max(docs.values()) > 0}
    assume(qrels)
    scores = evaluate(qrels, ideal(qrels), ONE_IF_IDEAL).scores
    for measure, values in scores.values.items():
        np.testing.assert_allclose(values, 1.0, rtol=1e-12, err_msg=measure)


@quick
@given(qrels_and_runs())
def test_no_ranking_beats_the_ideal_one(qrels_and_run: QrelsAndRun) -> None:
    qrels, run = qrels_and_run
    measures = ["nDCG", "nDCG@3", "DCG@5", "AP", "RR", "Rprec", "R@3", "P@3", "ERR", "RBP", "RCap@5"]
    best, result = evaluate(qrels, ideal(qrels), measures), evaluate(qrels, run, measures)
    for measure in measures:
        expected_values = ~np.isnan(result.scores[measure])
        assert (result.scores[measure] <= best.scores[measure] + 1e-12)[expected_values].all()


@quick
@given(qrels_and_runs(lowest=-1), st.integers(1, 8), st.booleans())
def test_an_irrelevant_tail_never_helps(qrels_and_run: QrelsAndRun, length: int, judged: bool) -> None:
    qrels, run = qrels_and_run
    tail = [f"tail{place}" for place in range(length)]
    if judged:
        qrels = {query: docs | dict.fromkeys(tail, 0) for query, docs in qrels.items()}
    longer = {query: docs | dict.fromkeys(tail, -9.0) for query, docs in run.items()}
    before, after = evaluate(qrels, run, NO_HELP), evaluate(qrels, longer, NO_HELP)
    for measure in NO_HELP:
        expected_values = ~np.isnan(before.scores[measure])
        assert (after.scores[measure] <= before.scores[measure] + 1e-12)[expected_values].all(), measure


@quick
@given(qrels_and_runs())
def test_moving_a_better_document_up_never_hurts(qrels_and_run: QrelsAndRun) -> None:
    qrels, run = qrels_and_run
    query = next(query for query in qrels if query in run)
    order = rank_documents(run[query])
    grades = [qrels[query].get(doc, 0) for doc in order]
    before = evaluate(qrels, {query: order}, MONOTONE)
    for place in [place for place in range(len(order) - 1) if grades[place] < grades[place + 1]]:
        shifted_values = [*order[:place], order[place + 1], order[place], *order[place + 2 :]]
        after = evaluate(qrels, {query: shifted_values}, MONOTONE)
        for measure in MONOTONE:
            assert (after.scores[measure] >= before.scores[measure] - 1e-12).all(), measure


@quick
@given(qrels_and_runs(lowest=-1))
def test_only_the_order_counts_never_the_scores_themselves(qrels_and_run: QrelsAndRun) -> None:
    qrels, run = qrels_and_run
    ranks = {
        q: {doc: -float(rank) for rank, doc in enumerate(rank_documents(docs))} for q, docs in run.items()
    }
    first, second = evaluate(qrels, run, NO_HELP), evaluate(qrels, ranks, NO_HELP)
    assert first.scores.digest == second.scores.digest


@quick
@given(qrels_and_runs(lowest=-1))
def test_shares_lie_between_zero_and_one(qrels_and_run: QrelsAndRun) -> None:
    result = evaluate(*qrels_and_run, [m for m in NO_HELP if not m.startswith("DCG")])
    for measure, values in result.scores.values.items():
        expected_values = values[~np.isnan(values)]
        assert ((expected_values >= 0) & (expected_values <= 1 + 1e-9)).all(), measure


@pytest.mark.parametrize("k", [10, 50, 100])
def test_mean_recall_is_the_mean_of_the_robustness_curve(k: int) -> None:
    hits = np.random.default_rng(k).integers(0, k + 1, 40).tolist()
    curve = [f"Robustness(delta={j / k})@{k}" for j in range(1, k + 1)]
    result = evaluate(*with_hits(hits, k), [f"R@{k}", *curve])
    mean = result.estimates[f"R@{k}"].value
    robust = math.fsum(estimate.value or 0 for estimate in list(result.estimates.values())[1:])
    assert len(result.estimates) == k + 1
    assert mean == pytest.approx(sum(hits) / k / len(hits), abs=1e-12)
    assert robust / k == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("k", [10, 50, 100])
def test_each_point_of_the_curve_counts_whole_hits(k: int) -> None:
    hits = list(range(k + 1))
    measures = [f"Robustness(delta={j / k})@{k}" for j in range(1, k + 1)]
    scores = evaluate(*with_hits(hits, k), measures).scores
    for j, measure in enumerate(measures, 1):
        assert scores[measure].tolist() == [float(count >= j) for count in hits]


@pytest.mark.parametrize(("k", "needed"), TRAPS)
def test_a_threshold_that_floats_put_a_hair_too_high_is_still_reached(k: int, needed: int) -> None:
    delta = round(needed / k, 2)
    assert delta * k > needed  # the trap: 0.07 * 100 is above 7
    measure = f"Robustness-{delta}@{k}"
    result = evaluate(*with_hits([needed - 1, needed], k), measure)
    assert result.scores[result.measures[0]].tolist() == [0.0, 1.0]


def test_robustness_carries_the_exact_interval() -> None:
    result = evaluate(*with_hits([10] * 30, 10), "Robustness-0.9@10")
    estimate = result.estimates["Robustness(delta=0.9)@10"]
    assert (estimate.value, estimate.high, estimate.n) == (1.0, 1.0, 30)
    assert estimate.low == pytest.approx(0.025 ** (1 / 30), abs=1e-12)
