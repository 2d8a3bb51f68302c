"""How systems answered, as tables: nothing that cannot be told is told."""

from collections import Counter

import numpy as np
import pytest

from assay.indexes.hosting.timing import Timed
from assay.search.journal import Failure, Finished, Sitting
from assay.search.load import Load
from assay.search.outcome import Outcome
from assay.search.searcher import Answer, Stage
from assay.stats.histograms import Histogram
from assay.views.runs import answered, loaded
from assay.views.sections import render

SITTING = Sitting(0.0, 8, None, 30.0, 2.0)


def outcome(n: int, failed: int = 0, ms: float = 5.0, tokens: int = 0, cost: float = 0.0) -> Outcome:
    """So many queries that took so long, the first of which failed."""
    stage = Stage("rerank by a model", [("a", 1.0)], 2_000_000)
    answer = Answer([("a", 1.0)], (stage,), tokens, cost)
    found = {f"q{i}": Finished(f"q{i}", 0.0, 1, 0, round(ms * 1e6), answer) for i in range(n)}
    for i in range(failed):
        why = Failure("status", f"503 of the endpoint, {'long ' * 40}")
        found[f"q{i}"] = Finished(f"q{i}", 0.0, 3, 0, None, None, why)
    return Outcome("hybrid", found, [SITTING])


def table(one: Outcome, slo: float | None = None) -> list[str]:
    return render("Systems", answered([one], slo), "table").splitlines()


def test_a_system_is_a_row_with_what_it_took_and_cost() -> None:
    row = next(
        line for line in table(outcome(1000, ms=5.0, tokens=7, cost=0.002)) if line.startswith("hybrid")
    )
    assert row.split() == ["hybrid", "1,000", "0", "0", "5.01", "5.01", "5.01", "500.0", "7,000", "2"]


def test_what_so_few_queries_cannot_tell_is_withheld_and_said() -> None:
    lines = table(outcome(50))
    assert "- p90 is withheld below 100 samples" in lines
    row = next(line for line in lines if line.startswith("hybrid"))
    assert row.split()[4:] == ["5.01", "–", "–", "25.0", "–", "–"]
    assert "- p99 is withheld below 1,000 samples" in table(outcome(100))
    assert not [line for line in table(outcome(1000)) if "withheld" in line]


def test_failures_are_told_by_their_kind_with_the_first_queries() -> None:
    lines = table(outcome(10, failed=5))
    told = next(line for line in lines if "5 status" in line)
    assert told.startswith("- hybrid: 5 status (q0, q1, q2 …), such as: 503 of the endpoint, long")
    assert max(map(len, lines)) <= 118
    assert "- hybrid: what failed counts as nothing found; --retry-failed asks it again" in lines


def test_another_status_is_another_line() -> None:
    said = [
        "http://a.org answered 500: down",
        "http://a.org answered 401: who?",
        "http://a.org answered 500: up",
    ]
    found = {
        f"q{i}": Finished(f"q{i}", 0.0, 1, 0, None, None, Failure("status", s)) for i, s in enumerate(said)
    }
    told = [line for line in table(Outcome("live", found, [SITTING])) if "such as" in line]
    assert told == [
        "- live: 2 status 500 (q0, q2), such as: http://a.org answered 500: down",
        "- live: 1 status 401 (q1), such as: http://a.org answered 401: who?",
    ]


def test_a_load_without_an_answer_is_not_called_saturated_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "a-secret-token")
    timed = Timed(np.empty((50, 0), np.int64), 1.0, np.full(50, -1), 50, "connection: no a-secret-token", 0)
    load = Load(4, 50.0, timed, Counter({"connection": 50}), Histogram())
    told = render("Load", loaded("dead", load), "table")
    assert "saturated" not in told
    assert "- nothing was answered: this says nothing of its speed" in told
    assert "- such as: connection: no ${SOME_TOKEN}" in told


def test_the_share_within_a_limit_counts_what_failed() -> None:
    lines = table(outcome(10, failed=5), slo=100)
    assert any("within 100 ms" in line for line in lines)
    assert any("0.5000 (0.237 … 0.763)" in line for line in lines)  # Wilson's interval of 5 of 10


def test_what_was_finished_before_is_said() -> None:
    one = outcome(10)
    resumed = Outcome(one.name, one.finished, one.sittings, resumed=4)
    assert "- hybrid: 4 queries were finished before, and not asked again" in table(resumed)


def test_stages_have_their_own_times() -> None:
    lines = table(outcome(20))
    assert any(line.split() == ["hybrid", "rerank", "by", "a", "model", "2", "–", "–"] for line in lines)


@pytest.mark.parametrize("slo", [None, 100.0])
def test_a_load_is_a_row_no_wider_than_a_page(slo: float | None) -> None:
    latencies = np.full(1000, 5_000_000)
    latencies[:10] = -1
    timed = Timed(np.empty((1000, 0), np.int64), 10.0, latencies, 10, "", 0)
    load = Load(32, 120.0, timed, Counter({"timeout": 7, "status": 3}), Histogram())
    lines = render("Load", loaded("a-system-with-a-long-name", load, slo), "table").splitlines()
    assert max(map(len, lines)) <= 118
    assert "- saturated: it fell behind what was offered, so that its latencies are but a bound" in lines
    assert "- 7 timeout" in lines
    assert any("within 100 ms: 0.9900 (0.982 … 0.995) of all requests" in line for line in lines) == bool(slo)
    row = next(line for line in lines if line.startswith("a-system"))
    assert row.split()[1:11] == ["open", "32", "120.0", "99.0", "1,000", "10", "0", "5.01", "5.01", "–"]
