"""Where a recall stands among the levels of the guides."""

import pytest

from assay.evaluation.recall_levels import recall_standing
from assay.measures import parse
from assay.stats import Estimate
from assay.views.recall_levels import describe_standing, standing_dict


def at(value: float | None, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, 0.95, 100)


@pytest.mark.parametrize(
    ("value", "reached", "above", "words"),
    [
        (0.95, "hybrid", None, "the level of a hybrid search (0.88)"),
        (0.88, "hybrid", None, "the level of a hybrid search (0.88)"),
        (0.8799, "tuned", 0.88, "a hybrid search reaches 0.88"),
        (0.80, "tuned", 0.88, "the level of a tuned search (0.80); a hybrid search reaches 0.88: 0.08 more"),
        (0.7999999999999, "tuned", 0.88, "the level of a tuned search"),
        (0.75, "below tuned", 0.80, "0.05 below a tuned search (0.80); reranking usually adds 0.02 to 0.05"),
        (0.70, "below tuned", 0.80, "0.10 below a tuned search"),
        (0.69, "low", 0.80, "below 0.70 look at chunking or the embedding model"),
        (0.0, "low", 0.80, "0.80 below a tuned search"),
    ],
)
def test_a_value_stands_at_the_highest_level_it_reaches(
    value: float, reached: str, above: float | None, words: str
) -> None:
    result = recall_standing(parse("R@10"), at(value))
    assert result is not None
    assert (result.level, result.next_level) == (reached, above)
    assert words in describe_standing(result)
    assert result.distance == (None if above is None else pytest.approx(above - value))


def test_an_interval_that_holds_a_level_leaves_both_sides_possible() -> None:
    result = recall_standing(parse("RCap@10"), at(0.78, 0.74, 0.82))
    assert result is not None
    assert result.uncertain_levels == (0.80,)
    assert describe_standing(result).endswith("the interval contains 0.80: either side is possible")
    wide = recall_standing(parse("R@10"), at(0.80, 0.69, 0.90))
    assert wide is not None
    assert wide.uncertain_levels == (0.70, 0.80, 0.88)
    assert "0.70 and 0.80 and 0.88" in describe_standing(wide)


def test_an_interval_that_only_touches_a_level_is_in_no_doubt() -> None:
    for low, high in ((0.80, 0.85), (0.81, 0.87), (None, None)):
        result = recall_standing(parse("R@10"), at(0.83, low, high))
        assert result is not None
        assert result.uncertain_levels == ()
    below = recall_standing(parse("R@10"), at(0.75, 0.72, 0.80))
    assert below is not None
    assert below.uncertain_levels == (0.80,)


def test_other_measures_and_cutoffs_have_no_levels() -> None:
    for measure in ("nDCG@10", "R@100", "R", "RR@10"):
        assert recall_standing(parse(measure), at(0.9)) is None
    assert recall_standing(parse("R@10"), at(None)) is None


def test_plain_data_is_lists_and_numbers() -> None:
    result = recall_standing(parse("R@10"), at(0.9, 0.87, 0.92))
    assert result is not None
    assert standing_dict(result) == {
        "reached": "hybrid",
        "text": describe_standing(result),
        "next": None,
        "distance": None,
        "held": [0.88],
    }
