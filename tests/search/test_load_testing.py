"""Load tests under a cap, and a stalled server compared with a simulated queue."""

import json
import re
import time
from contextlib import closing
from threading import Event

import numpy as np
import pytest

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Queries
from assay.core.timing import Ticks, TimedAnswers, schedule
from assay.remote.errors import RemoteError
from assay.search import load_testing
from assay.search.load_testing import LoadCap, LoadMeasurement, measure_closed_loop, measure_open_loop
from assay.search.searcher import Answer, Query
from assay.search.searchers.http import HttpSearcher
from assay.stats.capacity import find_capacity
from assay.stats.intervals import estimate_share
from assay.stats.percentiles import latency_percentiles
from tests.search.searchers import Scripted, make_queries, plain_answer
from tests.services import stalled

CAP = LoadCap(1000, 10)


def slow(seconds: float) -> Scripted:
    def does(query: Query, number: int) -> Answer:
        time.sleep(seconds)
        return plain_answer(query)

    return Scripted(does)


def at(url: str) -> closing[HttpSearcher]:
    return closing(HttpSearcher("stalled", url=url, ids="$.hits[*].id", scores="$.hits[*].score"))


def queued(due: Ticks, service: int = 1_000_000, stall: int = 200_000_000, every: int = 500) -> Ticks:
    """Return the latencies at a server that answers one request at a time, from when each was due."""
    free, service_time = 0, np.empty(len(due), np.int64)
    for i, at in enumerate(due.tolist()):
        free = max(free, at) + (stall if i % every == every - 1 else service)
        service_time[i] = free - at
    return service_time


def test_the_queue_of_the_textbook_is_the_golden_one() -> None:
    measurement = latency_percentiles(queued(schedule(450, 13_500)))
    assert measurement["p90_ms"] == pytest.approx(137.7, abs=0.05)
    assert measurement["p99_ms"] == pytest.approx(193.9, abs=0.05)


def measure_live() -> tuple[LoadMeasurement, LoadMeasurement]:
    """Return the measurements of a server in a closed loop, and of one in an open loop."""
    queries = Queries({"query_id": ["q"], "text": ["how"]})
    with stalled.serving() as url, at(f"{url}/?q={{query}}") as searcher:
        closed = measure_closed_loop(searcher, queries, 10, 1, CAP, requests=1000)
    with stalled.serving() as url, at(f"{url}/?q={{query}}") as searcher:
        return closed, measure_open_loop(searcher, queries, 10, 450, 3, CAP)


def test_a_stalled_server_is_seen_in_an_open_loop_only() -> None:
    expected = latency_percentiles(queued(schedule(450, 1350)))
    golden = {name: pytest.approx(expected[name], rel=0.25) for name in ("p90_ms", "p99_ms")}
    for _ in range(20):  # other work on the machine stalls it too
        closed, opened_loop = measure_live()
        counts = (opened_loop.requests, opened_loop.errors, closed.requests, closed.errors)
        percentiles, closed_percentiles = (
            {p: loop.latency.percentiles()[p] or 0 for p in golden} for loop in (opened_loop, closed)
        )
        right = counts == (1350, {}, 1000, {}) and percentiles == golden
        if right and closed_percentiles["p99_ms"] < percentiles["p90_ms"] / 3:
            return
    pytest.fail(f"{counts}, open {percentiles}, closed {closed_percentiles}, expected of open: {golden}")


def test_failed_requests_have_their_latency() -> None:
    def does(query: Query, number: int) -> Answer:
        time.sleep(0.05)
        raise RemoteError("status", "out of order")

    outcomes = measure_closed_loop(
        Scripted(does), Queries({"query_id": ["q"], "text": ["how"]}), 10, 1, CAP, requests=1
    )
    assert outcomes.errors == {"status": 1}
    assert outcomes.timing.seconds >= 0.05


def test_a_closed_loop_sends_no_more_than_the_cap_allows() -> None:
    searcher, begin = Scripted(), time.perf_counter()
    measurement = measure_closed_loop(searcher, make_queries(), 3, 4, LoadCap(100, 9), requests=30)
    assert measurement.requests == len(searcher.started) == 30
    assert (np.sort(searcher.started) - begin >= np.arange(30) / 100).all()
    assert 0 < measure_closed_loop(searcher, make_queries(), 3, 4, LoadCap(10, 9), seconds=2).requests <= 20


@pytest.mark.parametrize("loop", ["closed", "open"])
def test_no_second_has_more_than_the_cap_even_after_a_stall(loop: str) -> None:
    clients, firsts = 8, list[float]()

    def does(query: Query, number: int) -> Answer:
        firsts.append(time.perf_counter())
        time.sleep(max(0.0, firsts[0] + 1.2 - time.perf_counter()))  # all wait, and are answered together
        return plain_answer(query)

    searcher = Scripted(does)
    if loop == "closed":
        measure_closed_loop(searcher, make_queries(), 3, clients, LoadCap(60, 9), seconds=2.5)
    else:
        measurement = measure_open_loop(searcher, make_queries(), 3, 50, 2.5, LoadCap(60, 9), clients=clients)
        assert (measurement.latency.n, measurement.unsent.n) == (125, 0)
        late = measurement.timing.latencies
        assert late is not None
        assert (late[20:40] > 500_000_000).all()  # from when they were due, not from when they were sent
    times = np.sort(searcher.started)
    most = int((np.searchsorted(times, times + 1) - np.arange(len(times))).max())
    assert most <= 60 + 1 + clients  # so many threads may wake up late together


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), 0.0, -1.0, 1e300])
def test_a_cap_is_a_number_above_zero(odd: float) -> None:
    with pytest.raises(InputError, match="max-rate: expected more than 0"):
        LoadCap(odd, 10)
    with pytest.raises(InputError, match="max-seconds: expected more than 0"):
        LoadCap(10, odd)
    with pytest.raises(InputError, match="timeout: expected more than 0"):
        measure_closed_loop(Scripted(), make_queries(), 3, 1, CAP, requests=1, timeout=odd)
    with pytest.raises(InputError, match="seconds: expected more than 0"):
        measure_open_loop(Scripted(), make_queries(), 3, 10, odd, CAP)


def test_a_closed_loop_ends_after_its_seconds_and_counts_sent_requests() -> None:
    searcher = slow(0.2)
    measurement = measure_closed_loop(searcher, make_queries(), 3, 2, CAP, seconds=2)
    assert measurement.requests == len(searcher.started) == measurement.latency.n
    assert 2 <= measurement.requests <= 20
    assert not measurement.is_saturated
    assert measurement.rate is None


def test_a_closed_loop_repeats_the_queries_for_the_number_of_requests() -> None:
    searcher = Scripted()
    measurement = measure_closed_loop(searcher, make_queries(4), 3, 2, CAP, requests=10)
    assert measurement.requests == 10
    assert searcher.counts == {"q0": 3, "q1": 3, "q2": 2, "q3": 2}


def test_a_slow_endpoint_is_saturated_and_unsent_requests_count() -> None:
    searcher = slow(0.05)
    measurement = measure_open_loop(searcher, make_queries(), 3, 200, 0.4, LoadCap(200, 2), clients=1)
    assert measurement.is_saturated
    assert measurement.requests == len(searcher.started) < 80
    assert measurement.unsent.n == 80 - measurement.requests
    assert measurement.latency.n == 80
    assert measurement.achieved_rate < 60
    assert measurement.slo(10_000) == estimate_share(measurement.requests, 80)


def test_an_endpoint_that_keeps_up_is_not_saturated() -> None:
    measurement = measure_open_loop(
        Scripted(), make_queries(), 3, 0.5, 4, CAP, clients=2
    )  # the last may be two seconds late
    assert not measurement.is_saturated
    assert measurement.to_dict()["requests"] == measurement.answered_latency.n == 2
    assert json.loads(json.dumps(measurement.to_dict()))["mode"] == "open"


def test_immediate_failures_do_not_saturate() -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            raise RemoteError("failed", "no")
        return plain_answer(query)

    measurement = measure_open_loop(Scripted(does), make_queries(2), 3, 0.5, 4, CAP, clients=2)
    assert (measurement.errors, measurement.unsent.n) == ({"failed": 1}, 0)
    assert not measurement.is_saturated
    assert measurement.achieved_rate == pytest.approx(1 / max(4, measurement.timing.seconds))


def test_no_more_is_answered_than_was_offered() -> None:
    measurement = measure_open_loop(Scripted(), make_queries(), 3, 0.5, 4, CAP)
    assert measurement.achieved_rate == pytest.approx(2 / max(4, measurement.timing.seconds))


def test_failures_are_counted_by_kind_and_have_no_latency() -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            raise RemoteError("limited", "429", is_transient=True)
        if query.id == "q2":
            raise ValueError("oh")
        return plain_answer(query)

    measurement = measure_open_loop(Scripted(does), make_queries(4), 3, 400, 0.1, CAP, clients=1)
    assert measurement.errors == {"limited": 10, "failed": 10}
    assert measurement.latency.n == 20
    assert measurement.slo(10_000) == estimate_share(20, 40)
    assert measurement.timing.first_error == "limited: 429"


def test_a_request_that_hangs_is_abandoned_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_testing, "_TIMEOUT_GRACE_SECONDS", 0.0)
    release = Event()

    def does(query: Query, number: int) -> Answer:
        release.wait(60)
        return plain_answer(query)

    measurement = measure_open_loop(
        Scripted(does), make_queries(), 3, 100, 0.1, LoadCap(100, 1), clients=2, timeout=0.1
    )
    release.set()
    assert measurement.errors == {"timeout": 2}
    assert measurement.unsent.n == 8
    assert measurement.is_saturated


def test_capacity_is_searched_with_loads_under_the_cap() -> None:
    searcher = slow(0.005)

    def offer(rate: float) -> TimedAnswers:
        seconds = max(0.4, 20 / rate)  # enough for a p50 that a short stall of the machine does not change
        return measure_open_loop(
            searcher, make_queries(), 3, rate, seconds, LoadCap(400, 10), clients=1
        ).timing

    for _ in range(5):  # other work on the machine
        measurement = find_capacity(offer, 50, 40, fastest=200)
        if measurement.rate is not None and measurement.rate > 25:
            break
    assert measurement.rate is not None
    assert 25 < measurement.rate <= 200
    assert max(probe.rate for probe in measurement.probes) <= 400


@pytest.mark.parametrize(
    ("rate", "seconds", "message"),
    [
        (1001, 1, "rate: expected"),
        (10, 11, "seconds: expected"),
        (0, 1, "rate: expected"),
        (1, 0.5, "time for"),
    ],
)
def test_more_than_the_cap_is_refused_before_anything_is_sent(
    rate: float, seconds: float, message: str
) -> None:
    searcher = Scripted()
    with pytest.raises(InputError, match=message):
        measure_open_loop(searcher, make_queries(), 3, rate, seconds, CAP)
    assert not searcher.counts


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "found neither"),
        ({"seconds": 1, "requests": 5}, "found both"),
        ({"seconds": 11}, "at most the cap of 10"),
        ({"requests": 10_001}, "expected 1 to 10,000"),
    ],
)
def test_a_closed_loop_takes_either_seconds_or_requests_within_the_cap(
    limits: dict[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        measure_closed_loop(Scripted(), make_queries(), 3, 1, CAP, **limits)


def test_late_and_malformed_answers_are_not_counted_as_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", "very-secret-1207")

    def does(query: Query, number: int) -> Answer:
        if query.id == "q0":
            raise SystemExit("bye very-secret-1207")
        time.sleep(2.1 if query.id == "q1" else 0)
        return Answer([("a", 1.0), ("a", 1.0)]) if query.id == "q2" else plain_answer(query)

    measurement = measure_closed_loop(Scripted(does), make_queries(4), 3, 1, CAP, requests=4, timeout=2)
    assert measurement.errors == {"failed": 1, "timeout": 1, "malformed": 1}
    assert measurement.answered_latency.n == 1
    raised_at = re.escape("tests/search/test_load_testing.py")
    message = rf"failed: {raised_at}:\d+: SystemExit: bye \$\{{ASSAY_TEST_KEY\}}"
    assert re.fullmatch(message, measurement.timing.first_error)


def test_a_load_test_that_sends_nothing_is_undecidable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_testing, "run_open_loop", lambda *limits: None)
    with pytest.raises(UndecidableError, match="no request was sent in time"):
        measure_closed_loop(Scripted(), make_queries(), 3, 1, CAP, seconds=0.1)


def test_a_load_without_a_required_column_is_refused() -> None:
    url = "http://localhost:1/?q={query}&in={sohp}"
    with at(url) as searcher, pytest.raises(InputError, match=r"uses \{sohp\}"):
        measure_closed_loop(searcher, make_queries(), 10, 1, CAP, requests=1)


def test_a_load_beyond_the_cap_names_the_option_that_raises_it() -> None:
    with pytest.raises(InputError, match="the cap of 1000, found 2000; raise the cap with --max-rate"):
        CAP.check(2000, 1)
    with pytest.raises(InputError, match=r"found 60; raise the cap with --max-seconds"):
        CAP.check(1, 60)
