"""Search in stages: retrieve, fuse, filter, rerank. The ranking of every stage is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from assay.core.digests import digest_of
from assay.core.errors import InputError
from assay.models.model import Usage
from assay.models.reranker import Reranker
from assay.remote.deadline import deadline, seconds_until
from assay.remote.errors import RemoteError
from assay.search.fusion import Fusion
from assay.search.searcher import Answer, Query, RankedDocuments, Searcher, Stage, sort_ranking


class RetrievalSource(NamedTuple):
    """A searcher whose best documents are the input of all later stages."""

    searcher: Searcher
    depth: int = 100


class PipelineStep(Protocol):
    """A stage that turns one ranking into another."""

    name: str
    role: str  # filter, rerank

    @property
    def usage(self) -> Usage:
        """The usage so far in the calling thread."""
        ...

    def __call__(self, query: Query, ranking: RankedDocuments) -> RankedDocuments:
        """Return the new ranking."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that define this step."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """Return the settings with the prices."""
        ...


class FilterStep:
    """Keeps the documents with a value that is given, or that is in a column of the query.

    >>> only = FilterStep({"a": "en", "b": "de"}, "language", column="speaks")
    >>> only(Query("q", "how", {"speaks": "de"}), [("a", 2.0), ("b", 1.0)])
    [('b', 1.0)]
    """

    role = "filter"
    usage = Usage()

    def __init__(
        self, values: Mapping[str, Any], field: str, *, equals: Any = None, column: str | None = None
    ) -> None:
        if (equals is None) == (column is None):
            raise InputError("expected either `equals` (a value) or `column` (of the queries) in a filter")
        self.values, self.field, self.equals, self.column = values, field, equals, column
        self._digest = _digest(values)
        self.name = f"filter by {field}"

    def __call__(self, query: Query, ranking: RankedDocuments) -> RankedDocuments:
        """Return the documents that are kept; all of them if the column of the query is empty."""
        value = self.equals if self.column is None else query.columns.get(self.column)
        if value is None:
            return ranking
        return [(doc, score) for doc, score in ranking if self.values.get(doc) == value]

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings of the filter."""
        return {"filter": self.field, "equals": self.equals, "column": self.column, "values": self._digest}

    def identity(self) -> Mapping[str, Any]:
        """Return the settings of the filter: it has no price."""
        return self.configuration()


class RerankStep:
    """Reorders the first documents of a ranking by a model; the rest follow in their order."""

    role = "rerank"

    def __init__(self, model: Reranker, texts: Mapping[str, str], depth: int = 50) -> None:
        if depth < 1:
            raise InputError(f"rerank.depth: expected 1 or more, found {depth}")
        self.model, self.texts, self.depth = model, texts, depth
        self._digest = _digest(texts)
        self.name = f"rerank by {model.name}"

    @property
    def usage(self) -> Usage:
        """The usage of the model so far in the calling thread."""
        return self.model.thread_usage

    def __call__(self, query: Query, ranking: RankedDocuments) -> RankedDocuments:
        """Return the ranking in its new order."""
        first, rest = ranking[: self.depth], ranking[self.depth :]
        if not first:
            return []
        scores = self.model.scores(query.text, [self.texts.get(doc, "") for doc, _ in first])
        reranked = sort_ranking((doc, float(score)) for (doc, _), score in zip(first, scores, strict=True))
        lowest = reranked[-1][1]
        return reranked + [(doc, lowest - place) for place, (doc, _) in enumerate(rest, 1)]

    def configuration(self) -> Mapping[str, Any]:
        """Return the model, how many documents it reorders, and a digest of their texts."""
        return {"rerank": dict(self.model.configuration()), "depth": self.depth, "texts": self._digest}

    def identity(self) -> Mapping[str, Any]:
        """Return the settings with the prices of the model."""
        return {**self.configuration(), "rerank": dict(self.model.identity())}


class Pipeline(Searcher):
    """Several searchers whose rankings are fused, then filtered or reranked.

    The ranking of a single searcher is not fused. If one searcher fails, the query fails: otherwise half
    an answer would be scored as if it were complete.
    """

    def __init__(
        self,
        name: str,
        sources: Sequence[RetrievalSource],
        fuse: Fusion | None = None,
        steps: Sequence[PipelineStep] = (),
    ) -> None:
        if not sources:
            raise InputError(f"{name}: expected a searcher to retrieve from, found none")
        names = [source.searcher.name for source in sources] + [step.name for step in steps]
        repeated = sorted({stage for stage in names if names.count(stage) > 1})
        if repeated:
            stages = ", ".join(repeated)
            raise InputError(f"{name}: two stages are called {stages}: give them different names")
        self.name, self.sources, self.steps = name, list(sources), list(steps)
        self.fuse = fuse or (Fusion() if len(sources) > 1 else None)
        if self.fuse:
            self.fuse.check_count(len(sources))

    @property
    def total_price_per_query(self) -> float:
        """The price of a query of the pipeline and of each of its sources, which are all asked."""
        return self.price_per_query + sum(source.searcher.total_price_per_query for source in self.sources)

    @property
    def stage_roles(self) -> list[tuple[str, str]]:
        """The role and the name of every stage, in order."""
        stages = [("retrieve", source.searcher.name) for source in self.sources]
        stages += [("fuse", FUSION_STAGE)] * (self.fuse is not None)
        return stages + [(step.role, step.name) for step in self.steps]

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """Return the best documents after the last stage, with the ranking of every stage."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        stages: list[Stage] = []
        answers = [self._retrieve(source, query, seconds_until(end), stages) for source in self.sources]
        rankings = [answer.documents for answer in answers]
        current = rankings[0]
        if self.fuse is not None:
            current = _run_stage(FUSION_STAGE, partial(self.fuse, rankings), stages)
        usage = Usage(sum(a.tokens for a in answers), cost=sum(a.cost for a in answers))
        for step in self.steps:
            seconds_until(end)
            before = step.usage
            with deadline(end):
                current = _run_stage(step.name, partial(step, query, current), stages)
            usage = usage.plus(step.usage.minus(before))
        return Answer(current[:k], tuple(stages), usage.tokens, usage.cost)

    def _retrieve(
        self, source: RetrievalSource, query: Query, timeout: float | None, stages: list[Stage]
    ) -> Answer:
        start = time.perf_counter_ns()
        try:
            answer = source.searcher.ask(query, source.depth, timeout)
        except RemoteError as error:
            raise _error_of_stage(source.searcher.name, error) from error
        answer = answer._replace(documents=sort_ranking(answer.documents))
        stages.append(Stage(source.searcher.name, answer.documents, time.perf_counter_ns() - start))
        return answer

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings of every stage."""
        fuse = self.fuse and {name: value for name, value in vars(self.fuse).items() if value is not None}
        return {
            "name": self.name,
            "retrieve": [{**s.searcher.configuration(), "depth": s.depth} for s in self.sources],
            "fuse": fuse,
            "steps": [dict(step.configuration()) for step in self.steps],
        }

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of every stage."""
        sources = [{**s.searcher.identity(), "depth": s.depth} for s in self.sources]
        steps = [dict(step.identity()) for step in self.steps]
        return {**self.configuration(), "retrieve": sources, "steps": steps}

    def required_columns(self) -> set[str]:
        """Return the columns that the searchers require."""
        return {name for source in self.sources for name in source.searcher.required_columns()}

    def close(self) -> None:
        """Close every searcher and every model."""
        for source in self.sources:
            source.searcher.close()
        for step in self.steps:
            if isinstance(step, RerankStep):
                step.model.close()


FUSION_STAGE = "fusion"


def _digest(values: Mapping[str, Any]) -> str:
    """Return a digest of the values of documents, whatever their order."""
    return digest_of(repr(sorted((doc, repr(value)) for doc, value in values.items())).encode())


def _run_stage(name: str, work: Callable[[], RankedDocuments], stages: list[Stage]) -> RankedDocuments:
    start = time.perf_counter_ns()
    try:
        ranking = work()
    except RemoteError as error:
        raise _error_of_stage(name, error) from error
    stages.append(Stage(name, ranking, time.perf_counter_ns() - start))
    return ranking


def _error_of_stage(stage: str, error: RemoteError) -> RemoteError:
    """Return the error with the name of its stage."""
    return error.with_reason(f"{stage}: {error.reason}")
