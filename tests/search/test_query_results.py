"""The results of all queries of one system."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.datasets import read, write
from assay.remote.errors import RemoteError
from assay.search.run_queries import run_queries
from assay.search.searcher import Answer, Query, Stage
from assay.stats.intervals import estimate_share
from tests.search.searchers import NOW, Scripted, make_queries, plain_answer


def test_a_failed_query_is_not_an_empty_list() -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            raise RemoteError("status", "500: no")
        return Answer([]) if query.id == "q2" else plain_answer(query)

    results = run_queries(Scripted(does), make_queries(5), NOW)
    assert results.empty_queries == ["q2"]
    assert results.failures == {"q1": ("status", "500: no")}
    assert list(results.run().query_ids) == ["q0", "q3", "q4"]
    assert results.errors == {"status": 1}
    assert "q1" not in results.latencies
    assert results.slo(5000) == estimate_share(4, 5)


def test_stages_tokens_and_cost_are_kept(tmp_path: Path) -> None:
    def does(query: Query, number: int) -> Answer:
        results = plain_answer(query)
        stages = (Stage("first", results.documents, 1000), Stage("last", results.documents[1:], 500))
        return Answer(results.documents[1:], stages, tokens=7, cost=0.002)

    results = run_queries(Scripted(does), make_queries(), NOW, tmp_path)
    again = run_queries(Scripted(), make_queries(), NOW, tmp_path)
    assert again.queries == results.queries
    assert [stage.name for stage in results.answers["q1"].stages] == ["first", "last"]
    assert results.stage_latency()["first"].n == 12
    assert results.tokens == 84
    assert results.cost_per_1k == pytest.approx(2.0)
    assert run_queries(Scripted(), make_queries(), NOW).cost_per_1k is None
    assert json.loads(json.dumps(results.to_dict()))["latency"]["p99_ms"] is None


def test_different_sessions_and_failed_attempts_are_facts_of_the_results(tmp_path: Path) -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id in ("q1", "q2"):
            raise RemoteError("failed", "no")
        return plain_answer(query)._replace(cost=0.1)

    first = run_queries(Scripted(does), make_queries(), NOW, tmp_path)
    assert (first.has_uncounted_cost, first.session_settings) == (True, [(4, None)])
    slower = replace(NOW, concurrency=1, rate=500.0, retry_failed=True)
    results = run_queries(Scripted(), make_queries(), slower, tmp_path)
    assert results.session_settings == [(1, 500.0), (4, None)]
    assert not run_queries(Scripted(), make_queries(), NOW).has_uncounted_cost


def test_a_run_keeps_the_order_of_tied_documents_in_its_file_and_as_single_precision(tmp_path: Path) -> None:
    documents = [("b", 12.3), ("z", 12.3), ("a", 12.3), ("y", 0.0), ("c", 0.0), ("x", -1e300), ("d", -1e300)]
    answer = Answer(documents)
    run = run_queries(Scripted(lambda query, number: answer), make_queries(1), replace(NOW, k=9)).run()
    write(run, tmp_path / "mine.run")
    scores = read(tmp_path / "mine.run", "run").to_dict()["q0"]
    assert sorted(scores, key=lambda doc: -scores[doc]) == [doc for doc, _ in documents]
    assert len(set(map(np.float32, list(scores.values())[:5]))) == 5
    returned = dict(documents)
    assert scores == pytest.approx(returned, rel=1e-6, abs=1e-5)


def test_the_scores_that_were_returned_are_kept_in_the_journal(tmp_path: Path) -> None:
    answer = Answer([("a", 1.0), ("z", 1.0)])
    for _ in range(2):
        results = run_queries(Scripted(lambda query, number: answer), make_queries(1), NOW, tmp_path)
        assert results.answers["q0"].documents == [("a", 1.0), ("z", 1.0)]
