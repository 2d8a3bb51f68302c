"""LossWaterfall: the checkpoints of a system, and at which of them documents are lost."""

from pathlib import Path
from typing import Any

import pytest

from assay.search.pipeline import FilterStep, Pipeline, RerankStep, RetrievalSource
from assay.search.run_queries import RunOptions, run_queries
from assay.search.searcher import Answer, Query, Searcher
from assay.workflows.loss_waterfall import LossWaterfall
from assay.workflows.systems import SearchSystems
from tests.projects import MINE, QUERIES, RELEVANT, Lengths, project

HYBRID = MINE + '[systems.bm25]\nkind = "bm25"\n[systems.hybrid]\nretrieve = ["bm25", "mine"]\ndepth = 3\n'


def loss_names(folder: Path, steps: list[Any], sources: int = 2, shown: int = 1) -> list[tuple[str, str]]:
    """Return the checkpoints after retrieval, each with the name of a loss there."""
    systems = SearchSystems(project(folder, HYBRID))
    names = ["mine", "bm25"][:sources]
    pipeline = Pipeline("all", [RetrievalSource(systems.searcher(name), 4) for name in names], None, steps)
    results = run_queries(pipeline, systems.data.queries, RunOptions())
    waterfall = LossWaterfall(systems, pipeline, results, RunOptions(), shown)
    checkpoints = waterfall.checkpoints({})
    assert systems.data.qrels is not None
    losses = waterfall.losses(systems.data.qrels)
    assert {query: sum(losses.of_query(query).values()) for query in QUERIES} == {
        query: len(documents) for query, documents in RELEVANT.items()
    }
    return [(checkpoint.name, checkpoint.loss_name) for checkpoint in checkpoints[2:]]


ENGLISH = FilterStep(dict.fromkeys(["d1", "d2"], "en"), "language", equals="en")


@pytest.mark.parametrize(
    ("sources", "steps", "expected"),
    [
        (1, [], [("shown", "ranked below the first 1")]),
        (2, [], [("shown", "lost in fusion")]),
        (2, [ENGLISH], [("filter by language", "filtered out"), ("shown", "lost in fusion")]),
        (
            2,
            [RerankStep(Lengths(), {}, 3)],
            [
                ("fusion, first 3", "lost in fusion"),
                ("fusion, first 1", "not lifted by the reranker"),
                ("shown", "pushed out by the reranker"),
            ],
        ),
        (
            1,
            [ENGLISH, RerankStep(Lengths(), {}, 3)],
            [
                ("filter by language", "filtered out"),
                ("filter by language, first 3", "ranked below the first 3"),
                ("filter by language, first 1", "not lifted by the reranker"),
                ("shown", "pushed out by the reranker"),
            ],
        ),
    ],
)
def test_a_document_is_cut_off_by_the_last_ranking(
    tmp_path: Path, sources: int, steps: list[Any], expected: list[tuple[str, str]]
) -> None:
    assert loss_names(tmp_path, steps, sources) == expected


class TiedSearcher(Searcher):
    """Return two documents with the same score."""

    name = "tied"

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        return Answer([("d1", 1.0), ("d5", 1.0)])


def test_of_tied_documents_the_reranker_reads_those_that_were_returned_first(tmp_path: Path) -> None:
    systems = SearchSystems(project(tmp_path))
    pipeline = Pipeline("all", [RetrievalSource(TiedSearcher())], None, [RerankStep(Lengths(), {}, 1)])
    results = run_queries(pipeline, systems.data.queries, RunOptions())
    checkpoints = LossWaterfall(systems, pipeline, results, RunOptions(), 1).checkpoints({})
    assert checkpoints[2].documents == {query: ["d1"] for query in QUERIES}
    assert all([doc for doc, _ in answer.documents] == ["d1", "d5"] for answer in results.answers.values())
