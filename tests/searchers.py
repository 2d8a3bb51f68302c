"""Searches in Python that do what a test tells them."""

import time
from collections import Counter
from collections.abc import Callable
from threading import Lock

from assay.core.tables import Queries
from assay.search.searcher import Answer, Query, Searcher


def asked(n: int = 12) -> Queries:
    return Queries({"query_id": [f"q{i}" for i in range(n)], "text": [f"text {i}" for i in range(n)]})


def plain(query: Query) -> Answer:
    """Documents that depend on the query and on nothing else."""
    start = len(query.text) + int(query.id[1:])
    return Answer([(f"d{start + i}", 9.5 - i / 3) for i in range(4)])


class Scripted(Searcher):
    """A search that does what it is told, and counts how often it was asked for what."""

    name = "scripted"

    def __init__(self, does: Callable[[Query, int], Answer] = lambda query, number: plain(query)) -> None:
        self.does, self.counts, self._lock = does, Counter[str](), Lock()
        self.began: list[float] = []

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        with self._lock:
            self.began.append(time.perf_counter())
            self.counts[query.id] += 1
            number = self.counts[query.id]
        return self.does(query, number)
