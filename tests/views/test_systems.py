"""How systems answered, as tables: nothing that cannot be told is told."""

from collections import Counter

import numpy as np
import pytest

from assay.core.timing import TimedAnswers
from assay.search.load_testing import LoadMeasurement
from assay.search.query_results import QueryResults
from assay.search.run_journal import FinishedQuery, QueryFailure, RunSession
from assay.search.searcher import Answer, Stage
from assay.stats.histograms import Histogram
from assay.views.sections import render_sections
from assay.views.systems import load_sections, outcome_sections, result_notes

SITTING = RunSession(0.0, 8, None, 30.0, 2.0)


def outcome(n: int, failed: int = 0, ms: float = 5.0, tokens: int = 0, cost: float = 0.0) -> QueryResults:
    """So many queries that took so long, the first of which failed."""
    stage = Stage("rerank by a model", [("a", 1.0)], 2_000_000)
    answer = Answer([("a", 1.0)], (stage,), tokens, cost)
    found = {f"q{i}": FinishedQuery(f"q{i}", 0.0, 1, 0, round(ms * 1e6), answer) for i in range(n)}
    for i in range(failed):
        why = QueryFailure("status", f"503 of the endpoint, {'long ' * 40}")
        found[f"q{i}"] = FinishedQuery(f"q{i}", 0.0, 3, 0, None, None, why)
    return QueryResults("hybrid", found, [SITTING])


def table(one: QueryResults, slo: float | None = None) -> list[str]:
    return render_sections("Systems", outcome_sections([one], slo), "table").splitlines()


def test_a_system_is_a_row_with_what_it_took_and_cost() -> None:
    row = next(
        line for line in table(outcome(1000, ms=5.0, tokens=7, cost=0.002)) if line.startswith("hybrid")
    )
    assert row.split() == ["hybrid", "1,000", "0", "0", *["5.01"] * 4, "500.0", "7,000", "2"]


def test_what_so_few_queries_cannot_tell_is_withheld_and_said() -> None:
    lines = table(outcome(50))
    assert "- p90 is not reported below 100 samples" in lines
    row = next(line for line in lines if line.startswith("hybrid"))
    assert row.split()[4:] == ["5.01", "–", "–", "–", "25.0", "–", "–"]
    assert "- p95 is not reported below 200 samples" in table(outcome(100))
    assert "- p99 is not reported below 1,000 samples" in table(outcome(200))
    assert not [line for line in table(outcome(1000)) if "withheld" in line]


def test_failures_are_told_by_their_kind_with_the_first_queries() -> None:
    lines = table(outcome(10, failed=5))
    told = next(line for line in lines if "5 status" in line)
    assert told.startswith("- hybrid: 5 status (q0, q1, q2 …), such as: 503 of the endpoint, long")
    assert max(map(len, lines)) <= 118
    assert "- hybrid: failed queries count as empty answers; --retry-failed sends them again" in lines


def test_another_status_is_another_line() -> None:
    said = [
        "http://a.org answered 500: down",
        "http://a.org answered 401: who?",
        "http://a.org answered 500: up",
    ]
    found = {
        f"q{i}": FinishedQuery(f"q{i}", 0.0, 1, 0, None, None, QueryFailure("status", s))
        for i, s in enumerate(said)
    }
    told = [line for line in table(QueryResults("live", found, [SITTING])) if "such as" in line]
    assert told == [
        "- live: 2 status 500 (q0, q2), such as: http://a.org answered 500: down",
        "- live: 1 status 401 (q1), such as: http://a.org answered 401: who?",
    ]


def test_a_load_without_an_answer_is_not_called_saturated_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "a-secret-token")
    timed = TimedAnswers(
        np.empty((50, 0), np.int64), 1.0, np.full(50, -1), 50, "connection: no a-secret-token", 0
    )
    load = LoadMeasurement(4, 50.0, timed, Counter({"connection": 50}), Histogram())
    told = render_sections("Load", load_sections("dead", load), "table")
    assert "saturated" not in told
    assert "- no request was answered: this says nothing about its speed" in told
    assert "- such as: connection: no ${SOME_TOKEN}" in told


def test_the_share_within_a_limit_counts_what_failed() -> None:
    lines = table(outcome(10, failed=5), slo=100)
    assert any("within 100 ms" in line for line in lines)
    assert any("0.5000 (0.187 … 0.813)" in line for line in lines)  # the exact interval of 5 of 10


def test_what_was_finished_before_is_said() -> None:
    one = outcome(10)
    resumed = QueryResults(one.name, one.queries, one.sessions, resumed_count=4)
    assert "- hybrid: 4 queries were finished earlier and were not sent again" in table(resumed)


def test_stages_have_their_own_times() -> None:
    lines = table(outcome(20))
    assert any(line.split() == ["hybrid", "rerank", "by", "a", "model", "2", "–", "–", "–"] for line in lines)


@pytest.mark.parametrize("slo", [None, 100.0])
def test_a_load_is_a_row_no_wider_than_a_page(slo: float | None) -> None:
    latencies = np.full(1000, 5_000_000)
    latencies[:10] = -1
    timed = TimedAnswers(np.empty((1000, 0), np.int64), 10.0, latencies, 10, "", 0)
    load = LoadMeasurement(32, 120.0, timed, Counter({"timeout": 7, "status": 3}), Histogram())
    lines = render_sections(
        "Load", load_sections("a-system-with-a-long-name", load, slo), "table"
    ).splitlines()
    assert max(map(len, lines)) <= 118
    assert "- saturated: it fell behind the offered rate, so its latencies are only lower bounds" in lines
    assert "- 7 timeout" in lines
    assert any("within 100 ms: 0.9900 (0.982 … 0.995) of all requests" in line for line in lines) == bool(slo)
    row = next(line for line in lines if line.startswith("a-system"))
    assert row.split()[1:12] == ["open", "32", "120.0", "99.0", "1,000", "10", "0", *["5.01"] * 3, "–"]


def test_sessions_with_different_settings_and_uncounted_cost_are_noted() -> None:
    sessions = [RunSession(0.0, 4, None, 30.0, 1.0), RunSession(5.0, 1, 500.0, 30.0, 1.0)]
    answered = FinishedQuery("q1", 0.0, 2, 0, 5_000_000, Answer([("a", 1.0)], cost=0.1))
    assert result_notes(QueryResults("live", {"q1": answered}, sessions)) == [
        "latency and QPS are of sessions with different settings (1 at a time, 500/s at most, 4 at a time)",
        "the cost is that of the answers: failed attempts are not included",
    ]
    once = QueryResults("live", {"q1": answered._replace(attempts=1)}, sessions[:1])
    assert result_notes(once) == []
