"""Searches in stages: what each stage gives, and what comes of it."""

import time
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.models.model import time_left
from assay.search.fusion import Fuse
from assay.search.pipeline import FUSED, Filter, Pipeline, Rerank, Retrieve
from assay.search.searcher import Answer, Query, Ranked, Searcher, SearchError
from projects import Lengths

QUERY = Query("q1", "reset the router", {"language": "en"})
WORDS: Ranked = [("a", 9.0), ("b", 7.0), ("c", 5.0), ("d", 1.0)]
VECTORS: Ranked = [("c", 0.9), ("e", 0.8), ("a", 0.5)]


class Fixed(Searcher):
    """Answers every query alike."""

    def __init__(self, name: str, found: Ranked, error: SearchError | None = None) -> None:
        self.name, self.found, self.error, self.closed = name, found, error, 0

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        if self.error:
            raise self.error
        return Answer(self.found[:k], tokens=10, cost=0.5)

    def close(self) -> None:
        self.closed += 1


def hybrid(**more: Any) -> Pipeline:
    sources = [Retrieve(Fixed("words", WORDS), 3), Retrieve(Fixed("vectors", VECTORS), 3)]
    return Pipeline("hybrid", sources, **more)


def test_reciprocal_ranks_are_added_up() -> None:
    made = dict(Fuse("rrf")([WORDS, VECTORS]))
    assert made == pytest.approx(
        {"c": 1 / 63 + 1 / 61, "a": 1 / 61 + 1 / 63, "b": 1 / 62, "e": 1 / 62, "d": 1 / 64}
    )


def test_weighted_scores_are_made_comparable_first() -> None:
    made = dict(Fuse("weighted", weights=[1, 3])([WORDS, VECTORS]))
    assert made == pytest.approx({"a": 1.0, "b": 0.75, "c": 0.5 + 3, "d": 0.0, "e": 3 * 0.75})
    plain = dict(Fuse("weighted", normalise="none")([WORDS, VECTORS]))
    assert plain["c"] == pytest.approx(5.9)
    assert plain["e"] == pytest.approx(1.0 + 0.8)  # no better than the last that was found by words


def test_deviations_decide_by_how_far_a_document_stands_out() -> None:
    made = dict(Fuse("weighted", normalise="zscore")([[("a", 3.0), ("b", 1.0)], [("b", 4.0), ("a", 4.0)]]))
    assert made == {"a": 1.0, "b": -1.0}


@pytest.mark.parametrize("normalise", ["minmax", "zscore", "none"])
@pytest.mark.parametrize("score", [5.0, 0.0, -0.2])
@pytest.mark.parametrize("found", ["r", "rst"])
def test_hits_that_are_all_alike_are_worth_more_than_what_was_not_found(
    normalise: str, score: float, found: str
) -> None:
    fuse = Fuse("weighted", weights=[0.99, 0.01], normalise=normalise)
    made = fuse([[(doc, score) for doc in found], [("x", 1.0), ("y", 0.9), ("z", 0.8)]])
    assert sorted(doc for doc, _ in made[: len(found)]) == list(found)


def test_equals_stand_in_the_order_of_a_run_at_every_stage() -> None:
    alike = Fixed("alike", [("a", 1.0), ("c", 1.0), ("b", 1.0)])
    steps = [Rerank(Lengths(), {}, depth=2)]
    answer = Pipeline("all", [Retrieve(alike)], steps=steps).ask(QUERY, 3)
    assert [[doc for doc, _ in stage.documents] for stage in answer.stages] == [["c", "b", "a"]] * 2
    assert [doc for doc, _ in answer.documents] == ["c", "b", "a"]
    assert [doc for doc, _ in Fuse("rrf")([[("a", 1.0)], [("b", 1.0)]])] == ["b", "a"]


def test_fusing_nothing_gives_nothing() -> None:
    assert Fuse("weighted")([[], []]) == []
    assert [doc for doc, _ in Fuse("rrf")([[], VECTORS])] == ["c", "e", "a"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"by": "votes"}, "fuse.by is one of rrf, weighted"),
        ({"by": "weighted", "normalise": "log"}, "fuse.normalise is one of"),
        ({"weights": [0, 0]}, "not all 0"),
        ({"weights": [1]}, "expected 2, one for each ranking"),
    ],
)
def test_what_cannot_be_fused_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Fuse(**wrong)([WORDS, VECTORS])


def test_every_stage_is_kept_with_its_name_and_its_time() -> None:
    steps = [
        Filter(dict.fromkeys("abce", "en"), "language", column="language"),
        Rerank(Lengths(), {"e": "long"}),
    ]
    answer = hybrid(steps=steps).ask(QUERY, 2)
    names = ["words", "vectors", FUSED, "filter by language", "rerank by length"]
    assert [stage.name for stage in answer.stages] == names
    assert [doc for doc, _ in answer.stages[0].documents] == ["a", "b", "c"]  # as deep as was asked
    assert all(stage.nanoseconds > 0 for stage in answer.stages)
    assert answer.documents[0] == ("e", 4.0)
    assert (len(answer.documents), answer.tokens, answer.cost) == (2, 23, 1.25)  # the model is paid as well


def test_the_shape_names_the_role_of_each_stage() -> None:
    steps = [Rerank(Lengths(), {})]
    assert hybrid(steps=steps).shape == [
        ("retrieve", "words"), ("retrieve", "vectors"), ("fuse", FUSED), ("rerank", "rerank by length"),
    ]  # fmt: skip
    assert Pipeline("alone", [Retrieve(Fixed("words", WORDS))]).shape == [("retrieve", "words")]


def test_what_is_not_reranked_stays_behind_in_its_order() -> None:
    made = Rerank(Lengths(), {"b": "xx", "a": "x"}, depth=2)(QUERY, WORDS)
    assert [doc for doc, _ in made] == ["b", "a", "c", "d"]
    assert [score for _, score in made] == sorted((score for _, score in made), reverse=True)


def test_a_filter_without_a_wish_lets_everything_through() -> None:
    only = Filter({"a": "en"}, "language", column="speaks")
    assert only(QUERY, WORDS) == WORDS
    assert Filter({"a": "en"}, "language", equals="en")(QUERY, WORDS) == [("a", 9.0)]
    with pytest.raises(InputError, match="either `equals`"):
        Filter({}, "language")


def test_a_source_that_fails_fails_the_query_and_is_named() -> None:
    broken = Fixed("vectors", [], SearchError("limited", "429", again=True, after=2.0))
    with pytest.raises(SearchError, match="limited: vectors: 429") as caught:
        Pipeline("hybrid", [Retrieve(Fixed("words", WORDS)), Retrieve(broken)]).ask(QUERY, 10)
    assert (caught.value.again, caught.value.after) == (True, 2.0)


def test_a_model_that_fails_fails_the_query_and_is_named() -> None:
    with pytest.raises(SearchError, match="limited: rerank by length: 429") as caught:
        hybrid(steps=[Rerank(Lengths(), {"a": "broken"})]).ask(QUERY, 10)
    assert (caught.value.again, caught.value.after) == (True, 2.0)


def test_later_stages_have_the_time_that_is_left() -> None:
    class Slow(Fixed):
        def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
            time.sleep(timeout or 0)
            return super().ask(query, k, timeout)

    late = Pipeline("late", [Retrieve(Slow("slow", WORDS))], steps=[Rerank(Lengths(), {})])
    with pytest.raises(SearchError, match="timeout: the time was over"):
        late.ask(QUERY, 10, timeout=0.01)


def test_two_stages_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two stages are called words"):
        Pipeline("twice", [Retrieve(Fixed("words", WORDS)), Retrieve(Fixed("words", WORDS))])
    with pytest.raises(InputError, match="expected a search to retrieve from"):
        Pipeline("none", [])


def test_a_pipeline_tells_what_it_is_made_of_and_closes_its_sources() -> None:
    made = hybrid(fuse=Fuse("weighted", weights=[1, 2]), steps=[Rerank(Lengths(), {}, 7)])
    told = made.configuration()
    assert [source["depth"] for source in told["retrieve"]] == [3, 3]
    assert told["fuse"] == {"by": "weighted", "k": 60.0, "weights": [1, 2], "normalise": "minmax"}
    assert {**told["steps"][0], "texts": "a digest"} == {
        "rerank": {"name": "length"},
        "depth": 7,
        "texts": "a digest",
    }
    made.close()
    assert [source.searcher.closed for source in made.sources] == [1, 1]  # type: ignore[attr-defined]


def test_a_filter_and_a_reranker_are_others_when_the_documents_have_changed() -> None:
    first, other = {"a": "en", "b": "de"}, {"a": "en", "b": "en"}
    same = dict(reversed(first.items()))
    for made in (lambda of: Filter(of, "language", equals="en"), lambda of: Rerank(Lengths(), of)):
        assert made(first).configuration() == made(same).configuration()
        assert made(first).configuration() != made(other).configuration()


def test_weights_for_more_than_there_is_are_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"fuse.weights: expected 2, one for each ranking, found 3"):
        hybrid(fuse=Fuse("rrf", weights=[1, 2, 3]))


def test_a_model_has_the_time_that_is_left_of_the_query() -> None:
    class Looks(Lengths):
        def scored(self, query: str, texts: list[str]) -> list[float]:
            times.append(time_left())
            return super().scored(query, texts)

    times: list[float] = []
    hybrid(steps=[Rerank(Looks(), {})]).ask(QUERY, 10, timeout=600)
    hybrid(steps=[Rerank(Looks(), {})]).ask(QUERY, 10)
    assert 0 < times[0] <= 600
    assert times[1] == float("inf")


def test_what_a_model_costs_makes_another_pipeline() -> None:
    class Dear(Lengths):
        def identity(self) -> dict[str, Any]:
            return {"name": self.name, "price": 2.0}

    only = Filter({}, "language", equals="en")
    plain, dear = hybrid(steps=[only, Rerank(Lengths(), {})]), hybrid(steps=[only, Rerank(Dear(), {})])
    assert plain.configuration() == dear.configuration()
    assert plain.identity() != dear.identity()
