"""By which curve a study chooses δ."""

from collections.abc import Callable

import pytest

from assay.rag.answers import ANSWERED, Answer
from assay.rag.contexts import REMOVED
from assay.rag.delta import NO_BEND, NO_GAIN, OBSERVED_CURVE, REMOVED_CURVE
from assay.rag.questions import Question
from assay.rag.study import RagStudy

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
QUESTIONS = 60
Rule = Callable[[int, float], bool]  # whether a question is right at a recall


def in_one_place(row: int, recall: float) -> bool:
    """Right in proportion to the recall, as if the one page that has the answer is kept by chance."""
    return (row % 4) / 4 < recall


def _study(removed: Rule, observed: Rule) -> RagStudy:
    keys = [f"q{row}" for row in range(QUESTIONS)]
    answers = []
    for name, rule in ((REMOVED, removed), ("hnsw", observed)):
        for row, key in enumerate(keys):
            levels = LEVELS if name == REMOVED else (LEVELS[row % len(LEVELS)],)
            answers += [
                Answer(key, name, status=ANSWERED, recall=level, contained=float(rule(row, level)))
                for level in levels
            ]
    questions = [Question(key, "?", ("1",)) for key in keys]
    settings = {"mode": "naive", "k": 4, "correctness": "contained"}
    return RagStudy(settings, questions, answers, {"hnsw": "graph"})


def test_the_curve_of_removed_neighbours_is_the_first_choice() -> None:
    choice = _study(lambda _, r: r >= 0.5, lambda _, r: r >= 0.25).delta
    assert (choice.curve, choice.delta.value) == (REMOVED_CURVE, 0.5)


def test_what_the_configurations_had_shows_a_bend_that_removal_at_random_cannot() -> None:
    study = _study(in_one_place, lambda _, r: r >= 0.5)
    assert (study.delta.curve, study.delta.delta.value) == (OBSERVED_CURVE, 0.5)
    assert study.choose_delta(curve=REMOVED_CURVE).problem == NO_BEND
    assert study.result_dict()["delta"]["curve"] == OBSERVED_CURVE


@pytest.mark.parametrize("is_right", [True, False])
def test_an_effect_that_removal_does_not_show_is_not_taken_from_what_was_observed(is_right: bool) -> None:
    study = _study(lambda *_: is_right, lambda _, r: r >= 0.5)
    assert (study.delta.delta.value, study.delta.problem) == (None, NO_GAIN)
    assert study.choose_delta(curve=OBSERVED_CURVE).delta.value == 0.5
