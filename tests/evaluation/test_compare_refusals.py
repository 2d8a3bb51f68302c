"""What cannot be compared is refused, with what to do."""

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.evaluation.compare import ComparisonOptions, compare, compare_scores
from assay.evaluation.slices import Slice
from tests.evaluation.readings import random_scores

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "q4": {"d": 1}}
BEFORE = {"q1": ["a"], "q2": ["x", "b"], "q3": ["x"], "q4": ["d"]}
AFTER = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"], "q4": ["d"]}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"test": "z"}, "test must be one of t, wilcoxon, sign, randomisation, bootstrap, found 'z'"),
        ({"correction": "tukey"}, "correction must be one of holm, bh, none, found 'tukey'"),
        ({"level": 95}, "the level of an interval must lie between 0 and 1, found 95"),
        ({"level": 1.0}, "must lie between 0 and 1, found 1.0"),
        ({"margin": 0}, "the margin must be above 0 and below 1, found 0"),
        ({"margin": -0.01}, "the margin must be above 0 and below 1, found -0.01"),
        ({"permutations": 0}, "expected at least one permutation, found 0"),
    ],
)
def test_an_option_that_cannot_be_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ComparisonOptions(**option)
    with pytest.raises(InputError, match=message):
        compare(QRELS, BEFORE, AFTER, "RR", **option)


def test_no_candidate_is_refused() -> None:
    with pytest.raises(InputError, match="expected at least one candidate, found none"):
        compare(QRELS, BEFORE, [], "RR")


def test_a_candidate_with_the_baselines_name_is_refused() -> None:
    with pytest.raises(InputError, match="name that differs from the baseline's, found 'baseline'"):
        compare_scores(random_scores(3, 0), {"baseline": random_scores(3, 1)})


def test_slices_of_queries_that_are_not_paired_are_refused() -> None:
    with pytest.raises(InputError, match="slices need paired queries"):
        compare_scores(
            random_scores(3, 0),
            {"c": random_scores(3, 1)},
            [Slice("a", "b", [0])],
            options=ComparisonOptions(paired=False),
        )


def test_what_was_not_compared_is_not_found() -> None:
    result = compare(QRELS, BEFORE, [AFTER], ["RR", "P@1"])
    message = "there is no comparison of 'candidate' by AP in all; expected one of candidate by RR, P@1"
    with pytest.raises(InputError, match=message):
        result.find("AP")
    with pytest.raises(InputError, match="of 'other' by RR in all"):
        result.find("RR", "other")
    with pytest.raises(InputError, match="of 'candidate' by RR in kind: x"):
        result.find("RR", column="kind", value="x")
    for candidate, measure in ((None, "AP"), ("other", None)):
        with pytest.raises(InputError, match="there is no comparison of"):
            result.movers(candidate, measure)


def test_a_comparison_is_found_by_any_spelling_of_its_measure() -> None:
    result = compare(QRELS, BEFORE, AFTER, ["RR", "Robustness-0.3@10"])
    assert result.find("MRR") is result.rows[0]
    assert result.find("Robustness(delta=0.3)@10") is result.rows[1]
