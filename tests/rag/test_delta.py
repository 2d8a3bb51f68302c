"""The δ of planted curves."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from assay.rag.accuracy_curve import AccuracyCurve, RecallAnswer, fit_curve, isotonic_fit
from assay.rag.delta import NO_BEND, NO_GAIN, TOO_FEW_LEVELS, choose_delta

LEVELS = tuple(step / 10 for step in range(11))


def _curve(accuracy: dict[float, float], questions: int = 200) -> AccuracyCurve:
    """Return the curve of answers drawn with the accuracy of each level."""
    random = np.random.default_rng(1)
    rows = [
        RecallAnswer(f"q{n}", recall, float(random.random() < share))
        for n in range(questions)
        for recall, share in accuracy.items()
    ]
    curve = fit_curve(rows)
    assert curve is not None
    return curve


@pytest.mark.parametrize("bend", [0.2, 0.4, 0.7])
def test_a_planted_step_is_found(bend: float) -> None:
    choice = choose_delta(_curve({recall: 0.9 if recall >= bend else 0.1 for recall in LEVELS}))
    assert choice.delta.value == bend
    assert choice.delta.low is not None
    assert choice.delta.low <= bend <= (choice.delta.high or 0)
    assert choice.below is not None
    assert choice.below.recall == pytest.approx(bend - 0.1)


def test_the_share_of_the_best_accuracy_chooses_the_least_recall() -> None:
    published = {0.1: 0.4, 0.2: 0.7, 0.4: 0.91, 1.0: 1.0}
    curve = _curve(published, 400)
    assert choose_delta(curve, 0.65).delta.value == 0.2
    assert choose_delta(curve, 0.85).delta.value == 0.4
    assert choose_delta(curve).delta.value in (0.2, 0.4)


def test_accuracy_that_rises_evenly_has_no_bend() -> None:
    choice = choose_delta(_curve({recall: 0.9 * recall for recall in LEVELS}, 400))
    assert (choice.delta.value, choice.problem) == (None, NO_BEND)


def test_accuracy_that_does_not_depend_on_recall_has_no_delta() -> None:
    choice = choose_delta(_curve(dict.fromkeys(LEVELS, 0.5)))
    assert (choice.delta.value, choice.problem) == (None, NO_GAIN)


def test_two_levels_have_no_delta() -> None:
    assert choose_delta(_curve({0.0: 0.1, 1.0: 0.9})).problem == TOO_FEW_LEVELS


def test_the_fit_is_that_of_scipy_and_an_empty_level_takes_the_value_before_it() -> None:
    values, weights = np.array([0.1, 0.5, np.nan, 0.3, 0.9]), np.array([3.0, 1.0, 0.0, 2.0, 1.0])
    expected = isotonic_regression(values[[0, 1, 3, 4]], weights=weights[[0, 1, 3, 4]]).x
    fitted = isotonic_fit(values, weights)
    assert fitted[[0, 1, 3, 4]].tolist() == expected.tolist()
    assert fitted[2] == fitted[1]


def test_the_interval_of_a_level_covers_its_accuracy() -> None:
    truth = {0.0: 0.1, 0.5: 0.6, 1.0: 0.8}
    covered = [
        point.fitted.low <= truth[point.recall] <= point.fitted.high
        for point in _curve(truth).points
        if point.fitted.low is not None and point.fitted.high is not None
    ]
    assert covered == [True, True, True]


def test_no_answers_have_no_curve() -> None:
    assert fit_curve([]) is None
