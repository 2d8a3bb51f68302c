"""The queries that moved most: which, how far, and in which slice."""

import numpy as np

from assay.core.tables import Scores
from assay.evaluation.compare import Mover, compare, compare_scores
from assay.evaluation.slices import Slice

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "q4": {"d": 1}}
BEFORE = {"q1": ["a"], "q2": ["x", "b"], "q3": ["x"], "q4": ["d"]}
AFTER = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"], "q4": ["d"]}


def movers(measure: str, before: list[float], after: list[float], n: int = 5) -> tuple[list[str], list[str]]:
    ids = [*"abcdefgh"[: len(before)]]
    result = compare_scores(
        Scores(ids, {measure: np.array(before)}), {"c": Scores(ids, {measure: np.array(after)})}
    )
    up, down = result.movers(n=n)
    return [m.query_id for m in up], [m.query_id for m in down]


def test_movers_come_with_the_farthest_first_and_only_where_they_moved() -> None:
    before, after = [0.5, 0.5, 0.5, 0.5, 0.5], [0.6, 0.5, 1.0, 0.1, 0.4]
    assert movers("RR", before, after) == (["c", "a"], ["d", "e"])
    assert movers("RR", before, after, 1) == (["c"], ["d"])
    assert movers("RR", before, before) == ([], [])


def test_movers_by_a_measure_that_is_better_low_are_turned() -> None:
    assert movers("ZeroHit@10", [0, 1, 0, 1], [1, 0, 0, 1]) == (["b"], ["a"])


def test_movers_that_moved_alike_stay_in_the_order_of_the_queries() -> None:
    assert movers("RR", [0.5] * 6, [1.0, 0, 1.0, 0, 1.0, 0], 2) == (["a", "c"], ["b", "d"])


def test_a_query_with_an_undefined_value_is_no_mover() -> None:
    assert movers("RCap@5", [0.5, np.nan, 0.5], [np.nan, 1.0, 1.0]) == (["c"], [])


def test_movers_say_from_where_to_where_by_the_measure_and_candidate_asked_for() -> None:
    result = compare(QRELS, BEFORE, [BEFORE, AFTER], ["P@2", "RR"])
    assert result.movers() == ([], [])
    up, down = result.movers("candidate 2", "RR")
    assert up == [Mover("q3", 0.0, 1.0), Mover("q2", 0.5, 1.0)]
    assert down == [Mover("q1", 1.0, 0.5)]
    assert [mover.difference for mover in (*up, *down)] == [1.0, 0.5, -0.5]


def test_movers_of_a_slice_are_among_its_queries() -> None:
    result = compare(QRELS, BEFORE, AFTER, "RR")
    up, down = result.movers(part=Slice("kind", "x", [1, 3]))
    assert (up, down) == ([Mover("q2", 0.5, 1.0)], [])
    assert result.movers(part=Slice("kind", "none", [])) == ([], [])
