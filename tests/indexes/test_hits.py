"""What counts as a hit: every trap that makes others' recall wrong."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.vectors import InMemoryVectors, Neighbors
from assay.indexes.hits import EPSILON, HitRule, Hits


def strict(truth: list[list[int]], returned: list[list[int]], k: int) -> Hits:
    return HitRule(Neighbors(np.array(truth)), k, policy="strict").hits(np.array(returned))


def on_a_line(base: list[float], queries: list[float]) -> tuple[InMemoryVectors, InMemoryVectors]:
    return InMemoryVectors(np.array(base, np.float32)[:, None]), InMemoryVectors(
        np.array(queries, np.float32)[:, None]
    )


def test_recall_is_the_share_of_the_k_nearest_that_was_returned() -> None:
    hits = strict([[1, 2, 3, 4]], [[4, 9, 1, 8]], 4)
    assert hits.counts.tolist() == [2]
    assert hits.recall.tolist() == [0.5]


def test_only_the_first_k_of_both_lists_are_looked_at() -> None:
    assert strict([[1, 2, 3]], [[3, 1, 2]], 2).counts.tolist() == [1]


def test_a_duplicate_counts_once() -> None:
    assert strict([list(range(10))], [[3] * 10], 10).recall.tolist() == [0.1]


def test_padding_and_short_lists_are_misses() -> None:
    assert strict([[0, 1, 2]], [[0, -1, -1]], 3).counts.tolist() == [1]
    assert strict([[0, 1, 2]], [[0]], 3).recall.tolist() == [pytest.approx(1 / 3)]
    assert strict([[0, 1, 2]], [[]], 3).recall.tolist() == [0]


def test_padding_in_the_truth_is_not_matched_by_padding_in_an_answer() -> None:
    hits = strict([[5, -1, -1]], [[-1, 5, -1]], 3)
    assert hits.counts.tolist() == [1]
    assert hits.out_of.tolist() == [3]


def test_an_empty_truth_has_no_recall() -> None:
    hits = strict([[-1, -1], [0, 1]], [[-1, -1], [1, 0]], 2)
    assert np.isnan(hits.recall[0])
    assert hits.recall[1] == 1
    assert np.isnan(hits.reaches(0.5)[0])


@pytest.mark.parametrize("truth", [[7, 7, 8], [7, 8, -1]])
def test_a_truth_of_fewer_than_k_vectors_cannot_be_reached_and_is_counted(truth: list[int]) -> None:
    judge = HitRule(Neighbors(np.array([truth])), 3, policy="strict")
    assert judge.hits(np.array([[7, 8, 9]])).recall.tolist() == [pytest.approx(2 / 3)]
    assert judge.short_truths == 1


def test_an_id_of_any_size_is_no_hit_but_in_the_truth() -> None:
    assert strict([[0, 1], [2, 3]], [[2**62, 1], [2**63 - 1, 2**62 + 3]], 2).counts.tolist() == [1, 0]


IDS = st.sampled_from([-7, -1, 0, 1, 2, 3, 4, 5, 2**62, 2**63 - 1])
ROWS = st.lists(st.lists(IDS, min_size=4, max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_hits_are_the_ids_that_both_lists_hold(truth: list[list[int]], chance: random.Random) -> None:
    returned = [chance.choices([-7, -1, 0, 1, 2, 3, 9, 2**62, 2**63 - 1], k=4) for _ in truth]
    common = [len({i for i in set(a) & set(b) if i >= 0}) for a, b in zip(truth, returned, strict=True)]
    assert strict(truth, returned, 4).counts.tolist() == common


def test_copies_of_another_length_are_ties_under_cosine() -> None:
    query = np.random.default_rng(0).normal(size=96)
    base = InMemoryVectors(np.array([query * scale for scale in (1, 0.3, 7, 1e-3)] + [-query], np.float32))
    judge = HitRule(
        Neighbors(np.array([[0, 1]])), 2, base, InMemoryVectors(query[None].astype(np.float32)), "cosine"
    )
    assert judge.hits(np.array([[2, 3]])).counts.tolist() == [2]
    assert judge.hits(np.array([[2, 4]])).counts.tolist() == [1]


def test_an_id_outside_the_base_is_a_miss() -> None:
    base, queries = on_a_line([0, 1, 2], [0])
    judge = HitRule(Neighbors(np.array([[0, 1]])), 2, base, queries)
    assert judge.hits(np.array([[0, 99]])).counts.tolist() == [1]


@pytest.mark.parametrize(
    ("k", "delta"),
    [(50, 0.14), (50, 0.28), (50, 0.56), (100, 0.07), (100, 0.14), (100, 0.28), (100, 0.55), (100, 0.56)],
)
def test_thresholds_are_whole_numbers_where_floats_go_wrong(k: int, delta: float) -> None:
    count = round(delta * k)
    counts = np.array([count - 1, count])
    assert count < delta * k  # the float form would refuse what reaches it
    hits = Hits(counts, np.array([k, k]), k, "strict")
    assert hits.reaches(delta).tolist() == [0, 1]


@settings(deadline=None)
@given(st.integers(1, 30).flatmap(lambda k: st.tuples(st.just(k), st.lists(st.integers(0, k), min_size=1))))
def test_mean_recall_is_the_mean_of_robustness_over_all_thresholds(rule: tuple[int, list[int]]) -> None:
    k, counts = rule
    hits = Hits(np.array(counts), np.full(len(counts), k), k, "strict")
    shares = [hits.reaches(j / k).mean() for j in range(1, k + 1)]
    assert hits.recall.mean() == pytest.approx(np.mean(shares))


def test_a_tie_at_k_counts_whichever_id_was_returned() -> None:
    base, queries = on_a_line([0, 1, -1, 5], [0])
    truth = Neighbors(np.array([[0, 1]]))  # −1 is as near as 1
    assert HitRule(truth, 2, base, queries).hits(np.array([[0, 2]])).counts.tolist() == [2]
    assert strict([[0, 1]], [[0, 2]], 2).counts.tolist() == [1]


def test_ties_are_relative_not_absolute() -> None:
    base, queries = on_a_line([0.0001, 0.0009, 5], [0])
    truth = Neighbors(np.array([[0]]))
    assert HitRule(truth, 1, base, queries).hits(np.array([[1]])).counts.tolist() == [
        0
    ]  # an absolute 1e-3 would


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
def test_a_little_more_than_the_kth_distance_is_a_tie_and_more_is_not(metric: str) -> None:
    angle = np.array([0.5, 0.5 + EPSILON / 20, 0.5 + EPSILON * 20])
    base = InMemoryVectors(np.column_stack([np.cos(angle), np.sin(angle)]))
    queries = InMemoryVectors(np.array([[1.0, 0.0]]))
    judge = HitRule(Neighbors(np.array([[0]])), 1, base, queries, metric)
    assert [judge.hits(np.array([[i]])).counts[0] for i in range(3)] == [1, 1, 0]


def test_the_kth_distance_is_computed_anew_not_taken_from_the_file() -> None:
    base, queries = on_a_line([0, 1, 3], [0])
    truth = Neighbors(np.array([[0, 1]]), np.array([[0.0, 9.0]]))  # dirty: it is 1
    assert HitRule(truth, 2, base, queries).hits(np.array([[0, 2]])).counts.tolist() == [1]


def test_the_order_of_the_truth_does_not_move_the_kth_distance() -> None:
    base, queries = on_a_line([0, 1, -1, 5], [0])
    for truth in ([0, 1], [1, 0]):
        judge = HitRule(Neighbors(np.array([truth])), 2, base, queries)
        assert judge.hits(np.array([[0, 2]])).counts.tolist() == [2]


def test_an_id_outside_the_base_in_the_truth_is_no_bound() -> None:
    base, queries = on_a_line([0, 1, 2], [0])
    judge = HitRule(Neighbors(np.array([[0, 1, 99]])), 3, base, queries)
    assert judge.hits(np.array([[0, 1, 2]])).counts.tolist() == [2]


def test_requests_may_repeat_queries_in_any_order() -> None:
    judge = HitRule(Neighbors(np.array([[0, 1], [2, 3]])), 2, policy="strict")
    counted_hits = judge.count_hits(np.array([1, 0, 1]), np.array([[2, 3], [9, 1], [0, 1]]))
    assert counted_hits.tolist() == [2, 1, 0]


def test_what_cannot_be_judged_is_refused() -> None:
    truth = Neighbors(np.array([[0, 1]]))
    with pytest.raises(InputError, match="the truth has 2 neighbours per query, but hits among 3"):
        HitRule(truth, 3, policy="strict")
    with pytest.raises(InputError, match="pass base and queries"):
        HitRule(truth, 2)
    with pytest.raises(InputError, match="one of ties, strict, found 'loose'"):
        HitRule(truth, 2, policy="loose")
    with pytest.raises(InputError, match="expected answers to 1 queries, found 2"):
        HitRule(truth, 2, policy="strict").hits(np.zeros((2, 2), np.int64))
