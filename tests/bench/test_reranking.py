"""What exact reranking of more answers recovers."""

from typing import Any

import numpy as np
import pytest

from assay.bench.studies.reranking import study_reranking
from assay.bench.studies.scored_trial import ScoredTrial
from assay.core.vectors import Neighbors
from tests.studies import trial_with_hits

TRUTH = np.arange(40).reshape(4, 10)


def deep_trial(rows: list[list[int]], **more: Any) -> ScoredTrial:
    """A trial that returns 20 answers: the true ones given by rank, and others."""
    ids = np.full((4, 20), -1)
    for query, ranks in enumerate(rows):
        ids[query] = [*(TRUTH[query, rank] for rank in ranks), *range(900, 920 - len(ranks))]
    first = [len({*row[:10].tolist()} & {*truth.tolist()}) for row, truth in zip(ids, TRUTH, strict=True)]
    return trial_with_hits(first, ids=ids, **more)


def test_the_nearest_of_failing_queries_is_looked_for_among_all_answers() -> None:
    """Two of four queries have a recall of .1 or less by their first ten answers."""
    trial = deep_trial([[0, *range(1, 10)], list(range(10)), [3], []])
    (found,) = study_reranking([trial], Neighbors(TRUTH, None))
    assert (found.depth, found.queries, found.baseline) == (20, 2, trial.trial.key)
    assert (found.nearest.value, found.any_of_five.value, found.whole.value) == (0.0, 0.5, 0.0)
    assert found.reranked_recall.value == pytest.approx((10 + 10 + 1 + 0) / 40)


def test_true_neighbours_after_the_first_ten_count_once_reranked() -> None:
    ids = np.full((4, 20), -1)
    ids[:, :10] = np.arange(900, 910)
    ids[:, 10:] = TRUTH
    trial = trial_with_hits([0, 0, 0, 0], ids=ids)
    (found,) = study_reranking([trial], Neighbors(TRUTH, None))
    assert (found.recall.value, found.reranked_recall.value) == (0.0, 1.0)
    assert (found.nearest.value, found.whole.value) == (1.0, 1.0)


def test_failing_queries_are_those_of_the_same_search_for_ten_answers() -> None:
    shallow = trial_with_hits([0, 10, 10, 10], ids=np.full((4, 10), -1), search={"ef": 1})
    deep = deep_trial([list(range(10))] * 4, search={"ef": 1})
    deep = ScoredTrial(
        deep.trial.__class__("deep", "hnswlib", search={"ef": 1}), deep.hits, deep.returned_ids
    )
    (found,) = study_reranking([shallow, deep], Neighbors(TRUTH, None))
    assert (found.key, found.baseline, found.queries) == ("deep", shallow.trial.key, 1)
    assert found.nearest.value == 1.0


def test_without_deeper_answers_or_a_truth_there_is_nothing_to_rerank() -> None:
    shallow = trial_with_hits([10] * 4, ids=TRUTH)
    assert study_reranking([shallow], Neighbors(TRUTH, None)) == []
    assert study_reranking([deep_trial([[]] * 4)], None) == []
