"""Offline against online: what predicts, what was chosen, and when nothing can be said."""

import numpy as np

from assay.online.prediction import DifferencePair, assess_prediction
from assay.online.prediction_report import compare_shares
from assay.stats.intervals import Estimate


def estimate(value: float, half: float) -> Estimate:
    return Estimate(value, value - half, value + half, 0.95, 100)


def pairs(n: int, noises: dict[str, float], seed: int = 1) -> list[DifferencePair]:
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        true = float(generator.normal(0.01, 0.02))
        online = estimate(true + float(generator.normal(0, 0.002)), 0.004)
        for measure, noise in noises.items():
            offline = true + float(generator.normal(0, noise)) if noise else true
            rows.append(DifferencePair(f"t{number}", measure, estimate(offline, 0.005), online))
    return rows


def test_a_measure_that_follows_online_predicts_it() -> None:
    (found,) = assess_prediction(pairs(15, {"nDCG@10": 0.003})).measures
    assert found.n == 15
    assert found.spearman.low is not None
    assert found.spearman.low > 0.5
    assert found.line.slope.low is not None
    assert found.line.slope.low < 1 < (found.line.slope.high or 0)


def test_fewer_than_five_tests_decide_nothing() -> None:
    prediction = assess_prediction(pairs(4, {"nDCG@10": 0.001, "P@10": 0.001}))
    assert not prediction.is_decidable
    assert prediction.best is None
    (first, _) = prediction.measures
    assert first.n == 4
    assert first.spearman.value is None
    assert first.sign_agreement.value is None


def test_the_best_of_many_noisy_measures_is_not_trusted() -> None:
    generator = np.random.default_rng(4)
    rows = [
        DifferencePair(f"t{t}", f"m{m}", estimate(float(generator.normal()), 0.1), estimate(float(t), 0.1))
        for t in range(8)
        for m in range(12)
    ]
    best = assess_prediction(rows).best
    assert best is not None
    assert best.measures == 12
    assert best.p > 0.05
    assert best.chosen_share < 0.9
    assert sum(best.left_out_choices.values()) == 8


def test_the_best_of_a_good_and_a_random_measure_is_the_good_one() -> None:
    best = assess_prediction(pairs(12, {"random": 0.5, "good": 0.001})).best
    assert best is not None
    assert best.measure == "good"
    assert best.p < 0.01
    assert best.chosen_share > 0.9
    assert best.left_out_r2 is not None
    assert best.left_out_r2 > 0.5


def test_all_orders_of_few_tests_give_an_exact_p() -> None:
    best = assess_prediction(pairs(5, {"a": 0.0, "b": 0.0})).best
    assert best is not None
    assert abs(best.p * 120 - round(best.p * 120)) < 1e-9


def test_a_reversal_needs_both_intervals() -> None:
    won, lost, open_ = estimate(0.02, 0.01), estimate(-0.02, 0.01), estimate(-0.005, 0.01)
    rows = [DifferencePair("a", "m", won, lost), DifferencePair("b", "m", won, open_)]
    assert list(assess_prediction(rows).reversals) == ["a"]


def test_a_test_without_one_of_its_differences_is_not_counted() -> None:
    rows = pairs(6, {"m": 0.001})
    nothing = Estimate(None, None, None, 0.95, 0)
    (found,) = assess_prediction([rows[0]._replace(online=nothing), *rows[1:]]).measures
    assert found.n == 5


def test_shares_that_differ_by_chance_have_a_large_p() -> None:
    assert compare_shares({"a": 11, "b": 9}, {"a": 0.5, "b": 0.5})[1] > 0.5
    shift, p = compare_shares({"a": 90, "b": 10}, {"a": 0.5, "b": 0.5})
    assert round(shift, 6) == 0.4
    assert p < 0.001
    assert compare_shares({"c": 3}, {"a": 1.0}) == (1.0, 0.0)
