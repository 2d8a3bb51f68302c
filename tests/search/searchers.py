"""Searchers in Python whose answers are chosen by a test."""

import time
from collections import Counter
from collections.abc import Callable
from threading import Lock

from assay.core.tables import Queries
from assay.remote.errors import RemoteError
from assay.search.run_queries import RunOptions
from assay.search.searcher import Answer, Query, Searcher

NOW = RunOptions(k=3, concurrency=4, timeout=60, backoff=0.001)


def make_queries(n: int = 12) -> Queries:
    return Queries({"query_id": [f"q{i}" for i in range(n)], "text": [f"text {i}" for i in range(n)]})


def plain_answer(query: Query) -> Answer:
    """Return documents that depend only on the query."""
    start = len(query.text) + int(query.id[1:])
    return Answer([(f"d{start + i}", 9.5 - i / 3) for i in range(4)])


class Scripted(Searcher):
    """A searcher that calls a function, and counts the calls of each query."""

    name = "scripted"

    def __init__(
        self, does: Callable[[Query, int], Answer] = lambda query, number: plain_answer(query)
    ) -> None:
        self.does, self.counts, self._lock = does, Counter[str](), Lock()
        self.started: list[float] = []

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        with self._lock:
            self.started.append(time.perf_counter())
            self.counts[query.id] += 1
            number = self.counts[query.id]
        return self.does(query, number)


def failing_at(error: RemoteError, *times: int, of: str = "q1") -> Callable[[Query, int], Answer]:
    """Return a function that fails for one query at some attempts."""

    def does(query: Query, number: int) -> Answer:
        if query.id == of and number in (times or (1,)):
            raise error
        return plain_answer(query)

    return does
