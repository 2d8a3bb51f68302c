"""Pipelines: the ranking of each stage, and the answer."""

import time
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.remote.deadline import seconds_left
from assay.remote.errors import RemoteError
from assay.search.fusion import Fusion
from assay.search.pipeline import FUSION_STAGE, FilterStep, Pipeline, RerankStep, RetrievalSource
from assay.search.searcher import Answer, Query, RankedDocuments, Searcher
from tests.projects import Lengths

QUERY = Query("q1", "reset the router", {"language": "en"})
WORDS: RankedDocuments = [("a", 9.0), ("b", 7.0), ("c", 5.0), ("d", 1.0)]
VECTORS: RankedDocuments = [("c", 0.9), ("e", 0.8), ("a", 0.5)]


class Fixed(Searcher):
    """Gives the same answer to every query."""

    def __init__(self, name: str, documents: RankedDocuments, error: RemoteError | None = None) -> None:
        self.name, self.found, self.error, self.closed = name, documents, error, 0

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        if self.error:
            raise self.error
        return Answer(self.found[:k], tokens=10, cost=0.5)

    def close(self) -> None:
        self.closed += 1


def hybrid(**more: Any) -> Pipeline:
    sources = [RetrievalSource(Fixed("words", WORDS), 3), RetrievalSource(Fixed("vectors", VECTORS), 3)]
    return Pipeline("hybrid", sources, **more)


def test_documents_of_equal_score_keep_their_order_at_every_stage() -> None:
    alike = Fixed("alike", [("a", 1.0), ("c", 1.0), ("b", 1.0)])
    steps = [RerankStep(Lengths(), {}, depth=2)]
    answer = Pipeline("all", [RetrievalSource(alike)], steps=steps).ask(QUERY, 3)
    assert [[doc for doc, _ in stage.documents] for stage in answer.stages] == [["a", "c", "b"]] * 2
    assert [doc for doc, _ in answer.documents] == ["a", "c", "b"]
    assert [doc for doc, _ in Fusion("rrf")([[("a", 1.0)], [("b", 1.0)]])] == ["a", "b"]


def test_every_stage_is_kept_with_its_name_and_its_time() -> None:
    steps = [
        FilterStep(dict.fromkeys("abce", "en"), "language", column="language"),
        RerankStep(Lengths(), {"e": "long"}),
    ]
    answer = hybrid(steps=steps).ask(QUERY, 2)
    names = ["words", "vectors", FUSION_STAGE, "filter by language", "rerank by length"]
    assert [stage.name for stage in answer.stages] == names
    assert [doc for doc, _ in answer.stages[0].documents] == ["a", "b", "c"]  # as deep as requested
    assert all(stage.nanoseconds > 0 for stage in answer.stages)
    assert answer.documents[0] == ("e", 4.0)
    assert (len(answer.documents), answer.tokens, answer.cost) == (
        2,
        23,
        1.25,
    )  # the model has a price as well


def test_stage_roles_name_the_role_of_each_stage() -> None:
    steps = [RerankStep(Lengths(), {})]
    assert hybrid(steps=steps).stage_roles == [
        ("retrieve", "words"),
        ("retrieve", "vectors"),
        ("fuse", FUSION_STAGE),
        ("rerank", "rerank by length"),
    ]
    assert Pipeline("alone", [RetrievalSource(Fixed("words", WORDS))]).stage_roles == [("retrieve", "words")]


def test_documents_beyond_the_depth_follow_in_their_order() -> None:
    pipeline = RerankStep(Lengths(), {"b": "xx", "a": "x"}, depth=2)(QUERY, WORDS)
    assert [doc for doc, _ in pipeline] == ["b", "a", "c", "d"]
    assert [score for _, score in pipeline] == sorted((score for _, score in pipeline), reverse=True)


def test_a_filter_keeps_all_documents_if_the_column_is_empty() -> None:
    only = FilterStep({"a": "en"}, "language", column="speaks")
    assert only(QUERY, WORDS) == WORDS
    assert FilterStep({"a": "en"}, "language", equals="en")(QUERY, WORDS) == [("a", 9.0)]
    with pytest.raises(InputError, match="either `equals`"):
        FilterStep({}, "language")


def test_a_failing_source_fails_the_query_and_is_named() -> None:
    broken = Fixed("vectors", [], RemoteError("limited", "429", is_transient=True, retry_after=2.0))
    with pytest.raises(RemoteError, match="limited: vectors: 429") as caught:
        Pipeline("hybrid", [RetrievalSource(Fixed("words", WORDS)), RetrievalSource(broken)]).ask(QUERY, 10)
    assert (caught.value.is_transient, caught.value.retry_after) == (True, 2.0)


def test_a_failing_model_fails_the_query_and_is_named() -> None:
    with pytest.raises(RemoteError, match="limited: rerank by length: 429") as caught:
        hybrid(steps=[RerankStep(Lengths(), {"a": "broken"})]).ask(QUERY, 10)
    assert (caught.value.is_transient, caught.value.retry_after) == (True, 2.0)


def test_later_stages_get_the_remaining_time() -> None:
    class Slow(Fixed):
        def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
            time.sleep(timeout or 0)
            return super().ask(query, k, timeout)

    late = Pipeline("late", [RetrievalSource(Slow("slow", WORDS))], steps=[RerankStep(Lengths(), {})])
    with pytest.raises(RemoteError, match="timeout: the time was over"):
        late.ask(QUERY, 10, timeout=0.01)


def test_two_stages_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two stages are called words"):
        Pipeline("twice", [RetrievalSource(Fixed("words", WORDS)), RetrievalSource(Fixed("words", WORDS))])
    with pytest.raises(InputError, match="expected a searcher to retrieve from"):
        Pipeline("none", [])


def test_a_pipeline_describes_its_stages_and_closes_its_sources() -> None:
    pipeline = hybrid(fuse=Fusion("weighted", weights=[1, 2]), steps=[RerankStep(Lengths(), {}, 7)])
    settings = pipeline.configuration()
    assert [source["depth"] for source in settings["retrieve"]] == [3, 3]
    assert settings["fuse"] == {"by": "weighted", "k": 60.0, "weights": [1, 2], "normalise": "minmax"}
    assert {**settings["steps"][0], "texts": "a digest"} == {
        "rerank": {"name": "length"},
        "depth": 7,
        "texts": "a digest",
    }
    pipeline.close()
    assert [source.searcher.closed for source in pipeline.sources] == [1, 1]  # type: ignore[attr-defined]


def test_changed_documents_change_the_configuration_of_steps() -> None:
    first, other = {"a": "en", "b": "de"}, {"a": "en", "b": "en"}
    same = dict(reversed(first.items()))
    for step in (lambda of: FilterStep(of, "language", equals="en"), lambda of: RerankStep(Lengths(), of)):
        assert step(first).configuration() == step(same).configuration()
        assert step(first).configuration() != step(other).configuration()


def test_weights_for_more_rankings_are_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"fuse.weights: expected 2, one for each ranking, found 3"):
        hybrid(fuse=Fusion("rrf", weights=[1, 2, 3]))


def test_a_model_gets_the_remaining_time_of_the_query() -> None:
    class Looks(Lengths):
        def score_texts(self, query: str, texts: list[str]) -> list[float]:
            times.append(seconds_left())
            return super().score_texts(query, texts)

    times: list[float] = []
    hybrid(steps=[RerankStep(Looks(), {})]).ask(QUERY, 10, timeout=600)
    hybrid(steps=[RerankStep(Looks(), {})]).ask(QUERY, 10)
    assert 0 < times[0] <= 600
    assert times[1] == float("inf")


def test_the_price_of_a_model_changes_the_identity_of_a_pipeline() -> None:
    class Dear(Lengths):
        def identity(self) -> dict[str, Any]:
            return {"name": self.name, "price": 2.0}

    only = FilterStep({}, "language", equals="en")
    plain, dear = (
        hybrid(steps=[only, RerankStep(Lengths(), {})]),
        hybrid(steps=[only, RerankStep(Dear(), {})]),
    )
    assert plain.configuration() == dear.configuration()
    assert plain.identity() != dear.identity()
