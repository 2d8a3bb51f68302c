"""Searches by an index of an engine, in its own process."""

import os
import signal
import time
from threading import Thread
from typing import Any

import pytest

from assay.core.errors import ConfigurationError
from assay.search import Query, SearchError
from assay.search.registry import (
    build_searcher,
)
from tests.search import searches
from tests.search.searches import Words


def test_a_searcher_closes_even_if_its_engine_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assay.search.searchers.index._CLOSE_SECONDS", 0.1)
    searcher: Any = searches.index("faiss.flat")
    engine = searcher._index._process
    os.kill(engine.pid, signal.SIGSTOP)

    def ask() -> None:
        with pytest.raises((SearchError, OSError)):
            searcher.ask(Query("q", "a lamp"), 3)

    asking = Thread(target=ask, daemon=True)
    asking.start()
    while not searcher._lock.locked():
        time.sleep(0.01)
    closing = Thread(target=searcher.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    assert engine.poll() is not None
    asking.join(60)
    assert not asking.is_alive()


@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
def test_an_index_scores_exactly_as_exact_search(metric: str) -> None:
    both = [
        build_searcher(
            "index", "i", {"engine": engine, "metric": metric}, documents=searches.TABLE, encoder=Words()
        )
        for engine in ("exact", "faiss.hnsw")
    ]
    first, second = (name.ask(Query("q", "reset the router"), 3).documents for name in both)
    for name in both:
        name.close()
    assert [score for _, score in first] == [score for _, score in second]
    assert first[0] == ("d2", {"l2": 0.0, "ip": 3.0625, "cosine": 1.0}[metric])


def test_wrong_parameters_of_an_index_are_refused() -> None:
    settings = {"engine": "faiss.hnsw", "search": {"efSaerch": 4}, "build": {"M": "many"}}
    with pytest.raises(ConfigurationError) as caught:
        build_searcher("index", "i", settings, documents=searches.TABLE, encoder=Words())
    assert caught.value.problems == {
        "systems.i.build.M": "expected int, found 'many'",
        "systems.i.search.efSaerch": "there is no such parameter; did you mean efSearch?",
    }
