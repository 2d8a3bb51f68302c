"""The loss waterfall of a search system: at which stage its relevant documents are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from assay.core.tables import Qrels
from assay.evaluation.stage_losses import Checkpoint, StageLosses, StageOutput, trace_losses
from assay.search.pipeline import Pipeline, RerankStep
from assay.search.query_results import QueryResults
from assay.search.run_queries import RunOptions, run_queries
from assay.search.searcher import Searcher
from assay.workflows.systems import SearchSystems

SHOWN_DOCUMENTS = 10  # how many documents a person sees
_NOT_LIFTED = "not lifted by the reranker"
QueryScores = Mapping[str, Mapping[str, float]]  # the scores of documents, by query


def answers_by_stage(results: QueryResults) -> dict[str, QueryScores]:
    """Return the documents that each stage of a pipeline returned."""
    stages: dict[str, dict[str, Mapping[str, float]]] = {}
    for query, answer in results.answers.items():
        for stage in answer.stages:
            stages.setdefault(stage.name, {})[query] = dict(stage.documents)
    return dict(stages)


def _final_answers(results: QueryResults) -> QueryScores:
    return {query: dict(answer.documents) for query, answer in results.answers.items()}


@dataclass(frozen=True)
class LossWaterfall:
    """The stages of a system, from the corpus to the documents that a person sees."""

    systems: SearchSystems
    searcher: Searcher
    results: QueryResults
    options: RunOptions
    shown: int = SHOWN_DOCUMENTS
    journals: Path | None = None  # the folder of the finished queries of exact search

    @cached_property
    def _stages(self) -> dict[str, QueryScores]:
        return answers_by_stage(self.results)

    def losses(self, qrels: Qrels) -> StageLosses:
        """Return where the relevant documents of the answered queries were lost."""
        exact = self._exact_results()
        failed = {query for results in exact.values() for query in results.failures}
        only = self.results.answers.keys() - failed
        return trace_losses(qrels, self.checkpoints(exact), only=only, stage_outputs=self.outputs())

    def outputs(self) -> list[StageOutput]:
        """Return what each stage of a pipeline would have shown, compared with the stages before it.

        A fusion is compared with all its sources, any other stage with the one before it.
        """
        if not isinstance(self.searcher, Pipeline):
            return []
        outputs: list[StageOutput] = []
        for role, name in self.searcher.stage_roles:
            before = tuple(output.name for output in (outputs if role == "fuse" else outputs[-1:]))
            against = () if role == "retrieve" else before
            outputs.append(StageOutput(name, _first_documents(self._stages[name], self.shown), against))
        return outputs

    def _exact_results(self) -> dict[str, QueryResults]:
        """Run exact search in place of each source that has an index; its cost is not counted."""
        exact = {}
        for name, depth in self._depths.items():
            searcher = self.systems.exact_searcher(name)
            if searcher is not None:
                options = replace(self.options, k=depth)
                exact[name] = run_queries(searcher, self.systems.data.queries, options, self.journals)
        return exact

    @property
    def _depths(self) -> dict[str, int]:
        """How many documents each source is asked for."""
        if isinstance(self.searcher, Pipeline):
            return {source.searcher.name: source.depth for source in self.searcher.sources}
        return {self.searcher.name: self.options.k}

    def checkpoints(self, exact: Mapping[str, QueryResults]) -> list[Checkpoint]:
        """Return the checkpoints in order; `exact` are the results of sources without their index."""
        documents, final = self.systems.data.documents, _final_answers(self.results)
        stages = self._stages or {self.searcher.name: final}
        checkpoints = [Checkpoint("corpus", "not in the corpus", documents.ids)] if documents else []
        exact_answers = {name: _final_answers(results) for name, results in exact.items()}
        checkpoints += _retrieval_checkpoints({name: stages[name] for name in self._depths}, exact_answers)
        loss = f"ranked below the first {self.shown}"
        if isinstance(self.searcher, Pipeline):
            later, loss = _later_checkpoints(self.searcher, stages, self.shown)
            checkpoints += later
        return [*checkpoints, Checkpoint("shown", loss, _first_documents(final, self.shown))]


def _retrieval_checkpoints(
    answers: Mapping[str, QueryScores], exact: Mapping[str, QueryScores]
) -> list[Checkpoint]:
    """Return what any source retrieved, and before it what exact search would have retrieved."""
    retrieved = _union(list(answers.values()))
    if not exact:
        return [Checkpoint("retrieval", "missed by retrieval", retrieved)]
    best = _union([exact.get(name, scores) for name, scores in answers.items()])
    return [
        Checkpoint("exact search", "missed even by exact search", best),
        Checkpoint("retrieval", "lost by the index", retrieved),
    ]


def _later_checkpoints(
    searcher: Pipeline, stages: Mapping[str, QueryScores], shown: int
) -> tuple[list[Checkpoint], str]:
    """Return the checkpoints after retrieval, and the name of a loss at the end of the pipeline.

    A document is cut off by the last ranking before the cut: that of the fusion, until a reranker makes
    another. A reranker at the end of a pipeline pushes out the documents that would have been shown without
    it; the others it does not lift.
    """
    checkpoints, before = [], searcher.sources[0].searcher.name
    loss = f"ranked below the first {shown}"
    for role, name in searcher.stage_roles[len(searcher.sources) :]:
        if role == "filter":
            checkpoints.append(Checkpoint(name, "filtered out", stages[name]))
        if role == "fuse":
            loss = "lost in fusion"
        if role == "rerank":
            depth = max(shown, _rerank_depth(searcher, name))
            cut = loss if loss == "lost in fusion" else f"ranked below the first {depth}"
            first = _first_documents(stages[before], depth)
            checkpoints.append(Checkpoint(f"{before}, first {depth}", cut, first))
            if depth > shown and name == searcher.stage_roles[-1][1]:
                first = _first_documents(stages[before], shown)
                checkpoint = Checkpoint(f"{before}, first {shown}", _NOT_LIFTED, first, is_ceiling=False)
                checkpoints.append(checkpoint)
            loss = "pushed out by the reranker"
        before = name
    return checkpoints, loss


def _rerank_depth(searcher: Pipeline, name: str) -> int:
    return next(step.depth for step in searcher.steps if isinstance(step, RerankStep) and step.name == name)


def _first_documents(answers: QueryScores, count: int) -> dict[str, list[str]]:
    """Return the first documents of each query; the documents of an answer are in order."""
    return {query: list(scores)[:count] for query, scores in answers.items()}


def _union(answers: Sequence[QueryScores]) -> dict[str, set[str]]:
    documents: dict[str, set[str]] = {}
    for scores_by_query in answers:
        for query, scores in scores_by_query.items():
            documents.setdefault(query, set()).update(scores)
    return documents
