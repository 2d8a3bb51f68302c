"""Measures of rankings whose judgments are a random sample of the pool."""

import numpy as np
import pytest

from assay.core.errors import InputError, MeasureError
from assay.core.pair_probabilities import PairProbabilities
from assay.core.tables import Qrels
from assay.evaluation import Evaluation, evaluate
from assay.judging.pooling import build_pool_frame, pool_by_strata
from tests.reference_measures import QrelsDict, RunDict

MEASURES = ["P@5", "R@5", "R", "DCG@5", "nDCG@5", "nDCG", "nDCG(gain='exp')@10", "AP", "AP@8", "RBP(rel=1)"]
DOCUMENTS = [f"d{d:02}" for d in range(20)]
GRADES = dict(zip(DOCUMENTS, [2, 0, 1, 1, 0, 0, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0], strict=True))
RANKING = {doc: 20.0 - rank for rank, doc in enumerate(DOCUMENTS)}
COPIES = 1500


def sample_copies(budget: int, with_strata: bool = True) -> tuple[QrelsDict, PairProbabilities]:
    """The same query many times, each with a random sample of its judgments."""
    tops = {"a": {f"q{i}": DOCUMENTS for i in range(COPIES)}}
    frame = build_pool_frame(tops, 20)
    rng = np.random.default_rng(0)
    none = np.zeros(len(frame), np.bool_)
    pool = pool_by_strata(frame, none, budget * COPIES, rng)
    if not with_strata:
        chances = np.where(np.arange(len(frame)) % 20 < 5, 0.9, 0.5)
        rows = np.flatnonzero(rng.random(len(frame)) < chances)
        pool = pool._replace(rows=rows, probabilities=chances[rows], strata=())
    pairs = frame.pairs(pool.rows)
    qrels: QrelsDict = {}
    for query, doc in pairs:
        qrels.setdefault(query, {})[doc] = GRADES[doc]
    queries, docs = zip(*pairs, strict=True)
    strata = [str(stratum) for stratum in pool.strata] or None
    return qrels, PairProbabilities(queries, docs, pool.probabilities, strata)


def evaluate_copies(budget: int, measures: list[str], with_strata: bool = True) -> Evaluation:
    qrels, pool = sample_copies(budget, with_strata)
    run: RunDict = dict.fromkeys(qrels, RANKING)
    return evaluate(qrels, run, measures, pool=pool)


def true_value(measure: str) -> float:
    value = evaluate({"q": GRADES}, {"q": RANKING}, measure).estimates[measure].value
    assert value is not None
    return value


@pytest.mark.parametrize("with_strata", [True, False])
@pytest.mark.parametrize("measure", ["P@5", "P", "DCG@10", "DCG(gain='exp')@5", "RBP(rel=1)"])
def test_sums_over_a_sample_are_unbiased(measure: str, with_strata: bool) -> None:
    values = evaluate_copies(9, [measure], with_strata).scores[measure]
    assert values.mean() == pytest.approx(true_value(measure), abs=4 * values.std() / np.sqrt(COPIES))


@pytest.mark.parametrize(("with_strata", "bias"), [(True, 0.03), (False, 0.1)])
def test_ratios_of_a_sample_are_nearly_unbiased(with_strata: bool, bias: float) -> None:
    measures = ["R@5", "nDCG@5", "nDCG@10", "AP"]
    estimates = evaluate_copies(14, measures, with_strata).estimates
    for measure in measures:
        assert estimates[measure].value == pytest.approx(true_value(measure), abs=bias), measure


@pytest.mark.parametrize("with_strata", [True, False])
def test_the_sum_in_average_precision_is_unbiased(with_strata: bool) -> None:
    qrels, pool = sample_copies(9, with_strata)
    run: RunDict = dict.fromkeys(qrels, RANKING)
    result = evaluate(qrels, run, ["AP"], pool=pool)
    assert result.pairs is not None
    assert result.matches is not None
    relevant = result.pairs.sample(result.matches).relevant(1)
    sums = np.nan_to_num(result.scores["AP"]) * relevant
    truth = true_value("AP") * sum(grade >= 1 for grade in GRADES.values())
    assert sums.mean() == pytest.approx(truth, abs=4 * sums.std() / np.sqrt(COPIES))


def test_judged_with_probability_one_every_measure_is_the_ordinary_one() -> None:
    rng = np.random.default_rng(1)
    qrels = {f"q{i}": {f"d{d}": int(rng.integers(0, 4)) for d in range(12)} for i in range(20)}
    run = {query: {f"d{d}": float(rng.random()) for d in range(16)} for query in qrels}
    pairs = [(query, doc) for query, docs in qrels.items() for doc in docs]
    queries, docs = zip(*pairs, strict=True)
    almost = np.full(len(pairs), 1 - 1e-13)  # exactly 1 would not be weighted at all
    plain = evaluate(qrels, run, MEASURES)
    weighted = evaluate(qrels, run, MEASURES, pool=PairProbabilities(queries, docs, almost))
    for measure in MEASURES:
        assert weighted.scores[measure] == pytest.approx(plain.scores[measure], abs=1e-9), measure
    certain = evaluate(qrels, run, MEASURES, pool=PairProbabilities(queries, docs, np.ones(len(pairs))))
    assert certain.estimates == plain.estimates
    assert certain.pairs is None


def test_a_query_without_relevant_documents_in_its_sample_is_undefined() -> None:
    pool = PairProbabilities(["q1", "q2"], ["a", "a"], np.array([0.5, 1.0]))
    result = evaluate({"q1": {"a": 0}, "q2": {"a": 0}}, {"q1": {"a": 1}, "q2": {"a": 1}}, "nDCG@5", pool=pool)
    assert result.scores.to_dict() == {"q1": {"nDCG@5": None}, "q2": {"nDCG@5": 0.0}}


@pytest.mark.parametrize("measure", ["RR", "Success@5", "bpref", "ERR@5", "RBP", "Rprec"])
def test_a_measure_without_an_estimate_is_refused(measure: str) -> None:
    pool = PairProbabilities(["q"], ["a"], np.array([0.5]))
    with pytest.raises(MeasureError, match="no estimate from a random sample"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, measure, pool=pool)


def test_average_precision_needs_two_pairs_of_a_stratum() -> None:
    pool = PairProbabilities(["q"], ["a"], np.array([0.5]), ["1"])
    with pytest.raises(MeasureError, match="at least two pairs"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "AP", pool=pool)


def test_judgments_outside_the_pool_are_certain_and_missing_labels_are_counted() -> None:
    pool = PairProbabilities(["q", "q"], ["a", "x"], np.array([0.5, 0.5]))
    result = evaluate(Qrels({"q": {"a": 1, "b": 1}}), {"q": {"a": 2, "b": 1}}, "P@4", pool=pool)
    assert result.estimates["P@4"].value == (2 + 1) / 4
    assert [text.split(" ")[0] for text in result.warnings] == ["1", "1"]


def test_pools_that_do_not_fit_are_refused() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    with pytest.raises(InputError, match="none of the judged pairs"):
        evaluate(qrels, run, "P@1", pool=PairProbabilities(["q"], ["z"], np.array([0.5])))
    mixed = PairProbabilities(["q", "q"], ["a", "b"], np.array([0.5, 0.2]), ["1", "1"])
    with pytest.raises(InputError, match="same inclusion_probability"):
        evaluate(qrels, run, "P@1", pool=mixed)
    with pytest.raises(InputError, match="--unjudged"):
        evaluate(qrels, run, "P@1", unjudged=True, pool=PairProbabilities(["q"], ["a"], np.array([0.5])))
