"""Contexts with fewer true neighbours."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.rag.contexts import neighbour_recall, reduced_contexts, retrieved_contexts


@given(st.integers(1, 12), st.integers(0, 5), st.data())
def test_a_reduced_context_has_just_its_share_of_the_true_neighbours(
    k: int, seed: int, data: st.DataObject
) -> None:
    truth = {"q": [f"d{n}" for n in range(2 * k)]}
    levels = sorted(data.draw(st.sets(st.integers(0, k), min_size=1)))
    contexts = reduced_contexts(truth, k, levels, seed)
    assert [round((context.recall or 0) * k) for context in contexts] == levels
    for context in contexts:
        assert len(set(context.doc_ids)) == k
        assert neighbour_recall(context.doc_ids, truth["q"][:k]) == context.recall


@given(st.integers(2, 12), st.integers(0, 5))
def test_a_lower_level_removes_what_a_higher_one_removes(k: int, seed: int) -> None:
    nearest = {f"d{n}" for n in range(k)}
    contexts = reduced_contexts({"q": [f"d{n}" for n in range(2 * k)]}, k, list(range(k + 1)), seed)
    kept = [nearest.intersection(context.doc_ids) for context in contexts]
    assert all(smaller < larger for smaller, larger in pairwise(kept))


def test_a_question_without_spare_neighbours_is_left_out() -> None:
    contexts = reduced_contexts({"q": ["a", "b"]}, 2, [0, 1, 2])
    assert [context.recall for context in contexts] == [1.0]


def test_without_true_neighbours_recall_is_undefined() -> None:
    assert neighbour_recall(["a"], []) is None


def test_a_repeated_document_counts_once_and_an_empty_result_has_recall_0() -> None:
    found = retrieved_contexts("ivf", {"q": ["a", "a", "x"], "r": []}, {"q": ["a", "b"], "r": ["c", "d"]}, 2)
    assert [(context.doc_ids, context.recall) for context in found] == [(("a", "x"), 0.5), ((), 0.0)]


def test_a_failed_search_is_kept_with_its_reason() -> None:
    (context,) = retrieved_contexts("ivf", {}, {"q": ["a"]}, 1, {"q": "timeout"})
    assert (context.doc_ids, context.failure, context.recall) == ((), "timeout", 0.0)
