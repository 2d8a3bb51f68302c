"""The way of documents through a system, from the corpus to what a person sees: where some are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.core.tables import Qrels
from assay.evaluation.losses import Checkpoint, Losses, Shown, losses
from assay.project.systems import Systems
from assay.search.outcome import Outcome
from assay.search.pipeline import Pipeline, Rerank
from assay.search.running import Options, run
from assay.search.searcher import Searcher, in_order

SHOWN = 10  # documents that a person sees
_BELOW = "not lifted by the reranker"
Found = Mapping[str, Mapping[str, float]]  # the scores of documents, by query


def stages(outcome: Outcome) -> dict[str, Found]:
    """What each stage of a pipeline gave."""
    made: dict[str, dict[str, Mapping[str, float]]] = {}
    for query, answer in outcome.answers.items():
        for stage in answer.stages:
            made.setdefault(stage.name, {})[query] = dict(stage.documents)
    return dict(made)


def _final(outcome: Outcome) -> Found:
    return {query: dict(answer.documents) for query, answer in outcome.answers.items()}


@dataclass(frozen=True)
class Way:
    """The way of documents from the corpus to what a person sees."""

    systems: Systems
    searcher: Searcher
    outcome: Outcome
    options: Options
    shown: int = SHOWN
    journals: Path | None = None  # where the answers of exact search are kept

    def losses(self, qrels: Qrels) -> Losses:
        """Where relevant documents were lost, of the queries that were answered."""
        exact = self._exact()
        failed = {query for twin in exact.values() for query in twin.failed}
        only = self.outcome.answers.keys() - failed
        return losses(qrels, self.checkpoints(exact), only=only, shown=self.steps())

    def steps(self) -> list[Shown]:
        """What each stage of a pipeline would have shown: a fusion beside its sources, others beside one."""
        if not isinstance(self.searcher, Pipeline):
            return []
        given, made = stages(self.outcome), list[Shown]()
        for role, name in self.searcher.shape:
            before = tuple(one.name for one in (made if role == "fuse" else made[-1:]))
            against = () if role == "retrieve" else before
            made.append(Shown(name, _first(given[name], self.shown), against))
        return made

    def _exact(self) -> dict[str, Outcome]:
        """What exact search brings instead of each source that has an index; its cost is nobody's."""
        made = {}
        for name, depth in self._depths.items():
            twin = self.systems.exact(name)
            if twin is not None:
                options = replace(self.options, k=depth)
                made[name] = run(twin, self.systems.data.queries, options, self.journals)
        return made

    @property
    def _depths(self) -> dict[str, int]:
        """How many documents each source is asked for."""
        if isinstance(self.searcher, Pipeline):
            return {source.searcher.name: source.depth for source in self.searcher.sources}
        return {self.searcher.name: self.options.k}

    def checkpoints(self, exact: Mapping[str, Outcome]) -> list[Checkpoint]:
        """The checkpoints on the way; `exact` are the sources as they would be without their index."""
        documents, final = self.systems.data.documents, _final(self.outcome)
        given = stages(self.outcome) or {self.searcher.name: final}
        made = [Checkpoint("corpus", "not in the corpus", documents.ids)] if documents else []
        best = {name: _final(twin) for name, twin in exact.items()}
        made += _retrieved({name: given[name] for name in self._depths}, best)
        lost = f"ranked below the first {self.shown}"
        if isinstance(self.searcher, Pipeline):
            later, lost = _later(self.searcher, given, self.shown)
            made += later
        return [*made, Checkpoint("shown", lost, _first(final, self.shown))]


def _retrieved(found: Mapping[str, Found], exact: Mapping[str, Found]) -> list[Checkpoint]:
    """What was retrieved by any source, and before it what exact search would have brought."""
    if not exact:
        return [Checkpoint("retrieval", "missed by retrieval", _union(list(found.values())))]
    best = _union([exact.get(name, one) for name, one in found.items()])
    return [
        Checkpoint("exact search", "missed even by exact search", best),
        Checkpoint("retrieval", "lost by the index", _union(list(found.values()))),
    ]


def _later(searcher: Pipeline, given: Mapping[str, Found], shown: int) -> tuple[list[Checkpoint], str]:
    """What filters left, and what was high enough for a reranker; and whose order decides at the end.

    A document is cut off by the last order that was made: by that of the fusion, until a reranker makes
    another. One that ends the pipeline pushes out what would have been shown without it; the rest it only
    does not lift.
    """
    made, before, lost = [], searcher.sources[0].searcher.name, f"ranked below the first {shown}"
    for role, name in searcher.shape[len(searcher.sources) :]:
        if role == "filter":
            made.append(Checkpoint(name, "filtered out", given[name]))
        if role == "fuse":
            lost = "lost in fusion"
        if role == "rerank":
            depth = max(shown, _depth(searcher, name))
            said = lost if lost == "lost in fusion" else f"ranked below the first {depth}"
            made.append(Checkpoint(f"{before}, first {depth}", said, _first(given[before], depth)))
            if depth > shown and name == searcher.shape[-1][1]:
                first = _first(given[before], shown)
                made.append(Checkpoint(f"{before}, first {shown}", _BELOW, first, bounds=False))
            lost = "pushed out by the reranker"
        before = name
    return made, lost


def _depth(searcher: Pipeline, name: str) -> int:
    return next(step.depth for step in searcher.steps if isinstance(step, Rerank) and step.name == name)


def _first(found: Found, count: int) -> dict[str, list[str]]:
    """The first documents of each query, by the rule that ranks everywhere: score, then the larger id."""
    return {
        query: [document for document, _ in in_order(documents.items())[:count]]
        for query, documents in found.items()
    }


def _union(several: Sequence[Found]) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {}
    for found in several:
        for query, documents in found.items():
            made.setdefault(query, set()).update(documents)
    return made
