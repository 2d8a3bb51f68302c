"""How alike two rankings are, against sums written out from the definitions."""

from itertools import pairwise
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.strings import StringColumn
from assay.evaluation import evaluate
from assay.evaluation.matching import Tops
from assay.evaluation.overlap import OVERLAP_DEPTH, Overlap, measure_overlap
from tests.reference_measures import IDS, quick

Lists = list[list[str]]
RANKING = st.lists(st.sampled_from(IDS), unique=True, max_size=14)
PAIRS = st.lists(st.tuples(RANKING, RANKING), min_size=1, max_size=5)


def tops(lists: Lists) -> Tops:
    offsets = np.cumsum([0, *map(len, lists)])
    return Tops(10, offsets, StringColumn.from_strings([doc for docs in lists for doc in docs]))


def overlap_of(first: Lists, second: Lists, k: int = 10) -> Overlap:
    return measure_overlap(tops(first), tops(second), k)


def jaccard(first: list[str], second: list[str], k: int) -> float:
    a, b = set(first[:k]), set(second[:k])
    return len(a & b) / len(a | b)


def rbo(first: list[str], second: list[str], p: float = 0.9) -> float:
    """(1 - p) Σ p^(d - 1) A(d), d from 1 without end (Webber, Moffat and Zobel 2010, 4.1 and 5.2).

    Past the end of the shorter list its agreement there is taken to go on for the documents it lacks;
    past the end of the longer one the agreement stays as it is.
    """
    short, long = sorted((first, second), key=len)
    s = len(short)
    if not s:
        return 0.0

    def agreement(depth: int) -> float:
        d = min(depth, len(long))
        shared = len(set(short[:d]) & set(long[:d]))
        supposed = max(0, d - s) * len(set(short) & set(long[:s])) / s
        return (shared + supposed) / d

    return (1 - p) * sum(p ** (d - 1) * agreement(d) for d in range(1, 400))


@quick
@given(PAIRS, st.integers(1, 12))
def test_likeness_is_the_mean_over_the_queries_of_either(
    pairs: list[tuple[list[str], list[str]]], k: int
) -> None:
    result = overlap_of([a for a, _ in pairs], [b for _, b in pairs], k)
    is_present = [(a, b) for a, b in pairs if a or b]
    assert {e.n for e in result[1:]} == {len(is_present)}
    if not is_present:
        assert [e.value for e in result[1:]] == [None] * 4
        return
    assert result.jaccard.value == pytest.approx(fmean(jaccard(a, b, k) for a, b in is_present), abs=1e-12)
    assert result.rbo.value == pytest.approx(fmean(rbo(a, b) for a, b in is_present), abs=1e-12)
    assert result.same_first.value == pytest.approx(fmean(a[:1] == b[:1] for a, b in is_present), abs=1e-12)
    assert result.same_order.value == pytest.approx(fmean(a[:k] == b[:k] for a, b in is_present), abs=1e-12)


@quick
@given(RANKING, RANKING)
def test_likeness_is_the_same_from_both_sides(first: list[str], second: list[str]) -> None:
    assert overlap_of([first], [second]) == overlap_of([second], [first])


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("abc", "acb", 0.1 * (1 + 0.9 / 2) + 0.81),  # by hand: agreement 1, 1/2, 1, 1, …
        ("ab", "ba", 0.9),
        ("a", "ab", 1.0),  # what the shorter list lacks is taken to agree as it did so far
        ("ab", "cbde", 0.1 * (0.9 / 2 + 0.81 / 2) + 0.729 / 2),
    ],
)
def test_rank_biased_overlap_of_short_lists(first: str, second: str, value: float) -> None:
    assert overlap_of([[*first]], [[*second]]).rbo.value == pytest.approx(value, abs=1e-12)
    assert rbo([*first], [*second]) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 10, 11, 100])
def test_a_ranking_is_like_itself_and_unlike_one_with_other_documents(n: int) -> None:
    docs, others = [f"d{i}" for i in range(n)], [f"x{i}" for i in range(n)]
    assert [e.value for e in overlap_of([docs], [docs])[1:]] == pytest.approx([1, 1, 1, 1])
    assert [e.value for e in overlap_of([docs], [others])[1:]] == [0, 0, 0, 0]


def test_a_query_that_one_run_does_not_answer_is_unlike() -> None:
    assert [e.value for e in overlap_of([["a"], ["a"]], [["a"], []])[1:]] == pytest.approx([0.5] * 4)
    assert [e.value for e in overlap_of([["a"], []], [["a"], ["a"]])[1:]] == pytest.approx([0.5] * 4)


def test_a_query_that_neither_answers_is_left_out() -> None:
    result = overlap_of([["a"], []], [["a"], []])
    assert [e.value for e in result[1:]] == pytest.approx([1.0] * 4)
    assert [e.n for e in result[1:]] == [1] * 4


def test_the_same_documents_in_another_order_are_alike_but_not_in_order() -> None:
    result = overlap_of([["a", "b", "c"]], [["a", "c", "b"]])
    assert (result.jaccard.value, result.same_first.value, result.same_order.value) == (1.0, 1.0, 0.0)


def test_only_the_top_k_counts_for_the_order() -> None:
    first, second = [*"abcd"], [*"abdc"]
    assert [overlap_of([first], [second], k).same_order.value for k in (1, 2, 3, 4, 9)] == [1, 1, 0, 0, 0]
    assert overlap_of([first], [second], 3).jaccard.value == 0.5


def test_a_list_that_ends_sooner_is_not_in_the_same_order() -> None:
    assert overlap_of([["a", "b"]], [["a"]]).same_order.value == 0.0
    assert overlap_of([["a", "b"]], [["a"]], 1).same_order.value == 1.0


def test_a_document_of_another_query_is_another_document() -> None:
    assert overlap_of([["a"], ["b"]], [["b"], ["a"]]).jaccard.value == 0.0


def test_only_the_queries_kept_are_looked_at() -> None:
    first, second = tops([["a"], ["a"], ["a"]]), tops([["a"], ["x"], ["x"]])
    result = measure_overlap(first, second, rows=np.array([0, 2]))
    assert [e.value for e in result[1:]] == pytest.approx([0.5] * 4)
    assert [e.n for e in result[1:]] == [2] * 4


def test_rankings_that_drift_apart_grow_less_alike() -> None:
    docs = [f"d{i}" for i in range(20)]
    reversed_values = [overlap_of([docs], [docs[n:] + docs[:n]]).rbo.value or 0 for n in range(8)]
    assert all(a > b for a, b in pairwise(reversed_values))


def test_runs_are_compared_by_the_documents_they_ranked_first() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = ({"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}, {"q1": {"a": 1.0, "b": 1.0}})
    first, second = (evaluate(qrels, run, "RR", keep=OVERLAP_DEPTH).matches for run in runs)
    assert first is not None
    assert second is not None
    result = measure_overlap(first.top, second.top)
    assert (result.jaccard.value, result.same_first.value) == (0.5, 0.0)  # of equal scores b comes before a
    assert result.rbo.value == pytest.approx((0.9 + 0) / 2)
