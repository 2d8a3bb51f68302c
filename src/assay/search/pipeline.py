"""A search in stages: retrieve, fuse, filter, rerank. What every stage gave is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from assay.core.digests import digest_of
from assay.core.errors import InputError
from assay.models.model import ModelError, Usage, until
from assay.models.reranker import Reranker
from assay.search.fusion import Fuse
from assay.search.searcher import Answer, Query, Ranked, Searcher, SearchError, Stage, in_order
from assay.search.systems.system import left


class Retrieve(NamedTuple):
    """A search whose best documents are the material of all later stages."""

    searcher: Searcher
    depth: int = 100


class Step(Protocol):
    """A stage that makes one ranking of another."""

    name: str
    role: str  # filter, rerank

    @property
    def usage(self) -> Usage:
        """What was used so far in the thread that asks."""
        ...

    def __call__(self, query: Query, found: Ranked) -> Ranked:
        """What comes of a ranking."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """What makes it this step and no other."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """The same, with what it costs."""
        ...


class Filter:
    """Keeps the documents whose value is the one that is wanted: a value, or a column of the query.

    >>> only = Filter({"a": "en", "b": "de"}, "language", column="speaks")
    >>> only(Query("q", "how", {"speaks": "de"}), [("a", 2.0), ("b", 1.0)])
    [('b', 1.0)]
    """

    role = "filter"
    usage = Usage()

    def __init__(
        self, values: Mapping[str, Any], of: str, *, equals: Any = None, column: str | None = None
    ) -> None:
        if (equals is None) == (column is None):
            raise InputError("a filter has either `equals`, a value, or `column`, one of the queries")
        self.values, self.of, self.equals, self.column = values, of, equals, column
        self._digest = _digest(values)
        self.name = f"filter by {of}"

    def __call__(self, query: Query, found: Ranked) -> Ranked:
        """What is left of a ranking; where the query's column is empty, nothing is asked for."""
        wanted = self.equals if self.column is None else query.columns.get(self.column)
        if wanted is None:
            return found
        return [(doc, score) for doc, score in found if self.values.get(doc) == wanted]

    def configuration(self) -> Mapping[str, Any]:
        """What is kept."""
        return {"filter": self.of, "equals": self.equals, "column": self.column, "values": self._digest}

    def identity(self) -> Mapping[str, Any]:
        """The same: it costs nothing."""
        return self.configuration()


class Rerank:
    """Puts the first of a ranking into the order of a model; what stands behind them stays behind."""

    role = "rerank"

    def __init__(self, model: Reranker, texts: Mapping[str, str], depth: int = 50) -> None:
        if depth < 1:
            raise InputError(f"rerank.depth is 1 or more, found {depth}")
        self.model, self.texts, self.depth = model, texts, depth
        self._digest = _digest(texts)
        self.name = f"rerank by {model.name}"

    @property
    def usage(self) -> Usage:
        """What the model used so far in the thread that asks."""
        return self.model.usage_here

    def __call__(self, query: Query, found: Ranked) -> Ranked:
        """The ranking in its new order."""
        first, rest = found[: self.depth], found[self.depth :]
        if not first:
            return []
        scores = self.model.scores(query.text, [self.texts.get(doc, "") for doc, _ in first])
        made = in_order((doc, float(score)) for (doc, _), score in zip(first, scores, strict=True))
        last = made[-1][1]
        return made + [(doc, last - place) for place, (doc, _) in enumerate(rest, 1)]

    def configuration(self) -> Mapping[str, Any]:
        """The model, how many it sees, and what it reads."""
        return {"rerank": dict(self.model.configuration()), "depth": self.depth, "texts": self._digest}

    def identity(self) -> Mapping[str, Any]:
        """The same, with what the model costs."""
        return {**self.configuration(), "rerank": dict(self.model.identity())}


class Pipeline(Searcher):
    """Searches one after another, their results fused, then filtered or reranked.

    Where there is one source, nothing is fused. A source that fails fails the query: half an answer would
    be scored as if it were whole.
    """

    def __init__(
        self, name: str, sources: Sequence[Retrieve], fuse: Fuse | None = None, steps: Sequence[Step] = ()
    ) -> None:
        if not sources:
            raise InputError(f"{name}: expected a search to retrieve from, found none")
        names = [source.searcher.name for source in sources] + [step.name for step in steps]
        twice = sorted({one for one in names if names.count(one) > 1})
        if twice:
            raise InputError(f"{name}: two stages are called {', '.join(twice)}: give them names that differ")
        self.name, self.sources, self.steps = name, list(sources), list(steps)
        self.fuse = fuse or (Fuse() if len(sources) > 1 else None)
        if self.fuse:
            self.fuse.refuse(len(sources))

    @property
    def shape(self) -> list[tuple[str, str]]:
        """Every stage in its order, by its role and its name."""
        made = [("retrieve", source.searcher.name) for source in self.sources]
        made += [("fuse", FUSED)] * (self.fuse is not None)
        return made + [(step.role, step.name) for step in self.steps]

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """The best documents after the last stage, with what every stage gave."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        stages: list[Stage] = []
        answers = [self._retrieved(source, query, left(end), stages) for source in self.sources]
        found = [answer.documents for answer in answers]
        current = found[0] if self.fuse is None else _timed(FUSED, partial(self.fuse, found), stages)
        used = Usage(sum(a.tokens for a in answers), cost=sum(a.cost for a in answers))
        for step in self.steps:
            left(end)
            before = step.usage
            with until(end):
                current = _timed(step.name, partial(step, query, current), stages)
            used = used.plus(step.usage.minus(before))
        return Answer(current[:k], tuple(stages), used.tokens, used.cost)

    def _retrieved(
        self, source: Retrieve, query: Query, timeout: float | None, stages: list[Stage]
    ) -> Answer:
        begin = time.perf_counter_ns()
        try:
            found = source.searcher.ask(query, source.depth, timeout)
        except SearchError as error:
            raise _named(source.searcher.name, error) from error
        answer = found._replace(documents=in_order(found.documents))  # ranks are those of the saved run
        stages.append(Stage(source.searcher.name, answer.documents, time.perf_counter_ns() - begin))
        return answer

    def configuration(self) -> Mapping[str, Any]:
        """Every stage, and what it is made with."""
        fuse = self.fuse and {name: value for name, value in vars(self.fuse).items() if value is not None}
        return {
            "name": self.name,
            "retrieve": [{**s.searcher.configuration(), "depth": s.depth} for s in self.sources],
            "fuse": fuse,
            "steps": [dict(step.configuration()) for step in self.steps],
        }

    def identity(self) -> Mapping[str, Any]:
        """Every stage, where its source is, and by which rules it is fused and ordered."""
        found = [{**s.searcher.identity(), "depth": s.depth} for s in self.sources]
        steps = [dict(step.identity()) for step in self.steps]
        return {**self.configuration(), "retrieve": found, "steps": steps, "rules": _RULES}

    def wanted(self) -> set[str]:
        """The columns without which a source cannot be asked."""
        return {name for source in self.sources for name in source.searcher.wanted()}

    def close(self) -> None:
        """Close every source, and every model."""
        for source in self.sources:
            source.searcher.close()
        for step in self.steps:
            if isinstance(step, Rerank):
                step.model.close()


FUSED = "fusion"
_RULES = 2  # of fusion and of ties: what was answered by earlier ones is asked anew


def _digest(values: Mapping[str, Any]) -> str:
    """A name for what documents have, in whatever order."""
    return digest_of(repr(sorted((doc, repr(value)) for doc, value in values.items())).encode())


def _timed(name: str, work: Callable[[], Ranked], stages: list[Stage]) -> Ranked:
    begin = time.perf_counter_ns()
    try:
        found = work()
    except ModelError as error:
        raise _named(name, error) from error
    stages.append(Stage(name, found, time.perf_counter_ns() - begin))
    return found


def _named(stage: str, error: SearchError | ModelError) -> SearchError:
    """The error with the stage in which it came up."""
    return SearchError(error.kind, f"{stage}: {error.said}", again=error.again, after=error.after)
