"""Fusion of rankings, by ranks and by scores."""

from typing import Any

import pytest

from assay.core.errors import InputError
from assay.search.fusion import Fusion
from assay.search.searcher import RankedDocuments

WORDS: RankedDocuments = [("a", 9.0), ("b", 7.0), ("c", 5.0), ("d", 1.0)]
VECTORS: RankedDocuments = [("c", 0.9), ("e", 0.8), ("a", 0.5)]


def test_reciprocal_ranks_are_added_up() -> None:
    fused = dict(Fusion("rrf")([WORDS, VECTORS]))
    assert fused == pytest.approx(
        {"c": 1 / 63 + 1 / 61, "a": 1 / 61 + 1 / 63, "b": 1 / 62, "e": 1 / 62, "d": 1 / 64}
    )


def test_scores_are_normalised_before_they_are_weighted() -> None:
    fused = dict(Fusion("weighted", weights=[1, 3])([WORDS, VECTORS]))
    assert fused == pytest.approx({"a": 1.0, "b": 0.75, "c": 0.5 + 3, "d": 0.0, "e": 3 * 0.75})
    plain = dict(Fusion("weighted", normalise="none")([WORDS, VECTORS]))
    assert plain["c"] == pytest.approx(5.9)
    assert plain["e"] == pytest.approx(1.0 + 0.8)  # not better than the last document found by words


def test_deviations_decide_by_how_far_a_document_stands_out() -> None:
    fused = dict(Fusion("weighted", normalise="zscore")([[("a", 3.0), ("b", 1.0)], [("b", 4.0), ("a", 4.0)]]))
    assert fused == {"a": 1.0, "b": -1.0}


@pytest.mark.parametrize("normalise", ["minmax", "zscore", "none"])
@pytest.mark.parametrize("score", [5.0, 0.0, -0.2])
@pytest.mark.parametrize("ranking", ["r", "rst"])
def test_equal_scores_count_more_than_missing_documents(normalise: str, score: float, ranking: str) -> None:
    fuse = Fusion("weighted", weights=[0.99, 0.01], normalise=normalise)
    fused = fuse([[(doc, score) for doc in ranking], [("x", 1.0), ("y", 0.9), ("z", 0.8)]])
    assert sorted(doc for doc, _ in fused[: len(ranking)]) == list(ranking)


def test_fusing_nothing_gives_nothing() -> None:
    assert Fusion("weighted")([[], []]) == []
    assert [doc for doc, _ in Fusion("rrf")([[], VECTORS])] == ["c", "e", "a"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": "votes"}, "fuse.by: expected rrf or weighted"),
        ({"by": "weighted", "normalise": "log"}, "fuse.normalise: expected one of"),
        ({"weights": [0, 0]}, "not all 0"),
        ({"k": -1}, "fuse.k: expected a number of 0 or more, found -1"),
        ({"k": float("nan")}, "fuse.k: expected a number of 0 or more, found nan"),
        ({"weights": [1]}, "expected 2, one for each ranking"),
    ],
)
def test_invalid_settings_of_fusion_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Fusion(**wrong)([WORDS, VECTORS])
