"""Runs of systems that answer, fail, limit the rate, hang and return invalid answers."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from threading import Barrier, Event, Lock, Thread
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from assay.core.errors import InputError, StoreError, UndecidableError
from assay.core.tables import Run
from assay.remote.errors import RemoteError
from assay.remote.rate_limit import RateLimit
from assay.search import run_queries as runs
from assay.search.pipeline import Pipeline, RetrievalSource
from assay.search.run_journal import FinishedQuery, RunJournal
from assay.search.run_queries import RunOptions, RunProgress, run_queries
from assay.search.searcher import Answer, Query
from assay.search.searcher import iterate_queries as each
from assay.search.searchers.http import HttpSearcher
from tests.search.searchers import NOW, Scripted, failing_at, make_queries, plain_answer

if TYPE_CHECKING:
    from _typeshed import TraceFunction


@pytest.fixture
def release() -> Iterator[Event]:
    """An event for which calls hang until the test ends."""
    event = Event()
    yield event
    event.set()


def test_results_are_in_the_order_of_the_queries() -> None:
    def slow_at_first(query: Query, number: int) -> Answer:
        time.sleep(0.01 if query.id == "q0" else 0)
        return plain_answer(query)

    searcher = Scripted(slow_at_first)
    results = run_queries(searcher, make_queries(), NOW)
    assert list(results.queries) == make_queries().ids == list(results.run().query_ids)
    assert results.run() == Run(
        {query.id: dict(plain_answer(query).documents[:3]) for query in each(make_queries())}
    )
    assert set(searcher.counts.values()) == {1}


def test_the_output_of_a_function_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(query: Query, number: int) -> Answer:
        print("searching")
        return plain_answer(query)

    run_queries(
        Scripted(talks), make_queries(3), replace(NOW, concurrency=1)
    )  # threads would mix their lines
    print("done")
    assert capsys.readouterr() == ("done\n", "searching\n" * 3)


def test_only_transient_failures_are_retried() -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1" and number < 3:
            raise RemoteError("connection", "reset", is_transient=True)
        if query.id == "q2":
            raise RemoteError("status", "503", is_transient=True)
        if query.id == "q3":
            raise RemoteError("malformed", "no JSON")
        return plain_answer(query)

    searcher = Scripted(does)
    results = run_queries(searcher, make_queries(5), NOW)
    assert searcher.counts == {"q0": 1, "q1": 3, "q2": 3, "q3": 1, "q4": 1}
    assert {key: query_result.attempts for key, query_result in results.queries.items()} == searcher.counts
    assert results.attempts == 9
    assert results.errors == {"status": 1, "malformed": 1}


def test_pauses_and_failed_attempts_are_not_in_the_latency() -> None:
    error = RemoteError("connection", "reset", is_transient=True)
    results = run_queries(
        Scripted(failing_at(error)), make_queries(3), RunOptions(backoff=0.6, concurrency=1)
    )
    query_result = results.queries["q1"]
    assert query_result.latency_ns is not None
    assert query_result.waited_ns >= 300_000_000 > query_result.latency_ns
    assert results.queries["q0"].waited_ns == 0


def test_the_pauses_grow() -> None:
    error = RemoteError("connection", "reset", is_transient=True)
    options = RunOptions(backoff=0.02, concurrency=1, retries=3)
    waits = [
        run_queries(Scripted(failing_at(error, *range(1, n + 1))), make_queries(2), options)
        for n in (1, 2, 3)
    ]
    waits_seconds = [results.queries["q1"].waited_ns / 1e9 for results in waits]
    assert waits_seconds[0] >= 0.01
    assert waits_seconds[1] >= 0.03
    assert waits_seconds[2] >= 0.07


def test_a_limit_slows_all_threads_down(monkeypatch: pytest.MonkeyPatch) -> None:
    together, limit_met, slower = Barrier(4), Event(), RateLimit.slow_down
    limited: list[float] = []

    def reports(self: RateLimit, seconds: float, sent: int) -> None:
        slower(self, seconds, sent)
        limit_met.set()

    def does(query: Query, number: int) -> Answer:
        if len(searcher.started) <= 4:
            together.wait(50)
            if query.id == "q1":
                limited.append(time.perf_counter())
                raise RemoteError("limited", "429", is_transient=True, retry_after=0.3)
            limit_met.wait(50)  # queries sent before the limit are not delayed by it
        return plain_answer(query)

    monkeypatch.setattr(RateLimit, "slow_down", reports)
    searcher = Scripted(does)
    results = run_queries(searcher, make_queries(6), NOW)
    assert not results.failures
    assert results.attempts == 7
    assert min(searcher.started[4:]) >= limited[0] + 0.3


def test_a_retry_after_beyond_the_limit_ends_the_retries() -> None:
    error = RemoteError("limited", "come back tomorrow", is_transient=True, retry_after=86_400)
    results = run_queries(Scripted(failing_at(error)), make_queries(3), NOW)
    assert results.failures == {"q1": ("limited", "come back tomorrow")}
    assert results.queries["q1"].attempts == 1


def test_all_threads_together_keep_the_rate_including_retries() -> None:
    error = RemoteError("connection", "reset", is_transient=True)
    searcher = Scripted(failing_at(error, 1, 2))
    begin = time.perf_counter()
    run_queries(searcher, make_queries(10), RunOptions(concurrency=5, rate=100, backoff=0))
    assert len(searcher.started) == 12
    assert all(began - begin >= i / 100 for i, began in enumerate(sorted(searcher.started)))


def test_no_more_queries_are_active_than_allowed() -> None:
    under_way, most, lock = [0], [0], Lock()
    together = Barrier(3)

    def does(query: Query, number: int) -> Answer:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        together.wait(50)  # returns only if three threads wait at once
        with lock:
            under_way[0] -= 1
        return plain_answer(query)

    run_queries(Scripted(does), make_queries(12), RunOptions(concurrency=3, timeout=60))
    assert most == [3]


def test_a_call_that_hangs_is_abandoned_and_its_thread_replaced(
    release: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_TIMEOUT_GRACE_NS", 0)

    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            release.wait(60)
        return plain_answer(query)

    results = run_queries(Scripted(does), make_queries(4), RunOptions(concurrency=1, timeout=0.5))
    assert results.errors == {"timeout": 1}
    assert "is still hanging" in results.failures["q1"].reason
    assert list(results.answers) == ["q0", "q2", "q3"]


def test_a_system_that_always_hangs_is_abandoned(
    release: Event, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runs, "_TIMEOUT_GRACE_NS", 0)

    def does(query: Query, number: int) -> Answer:
        release.wait(60)
        return plain_answer(query)

    results = run_queries(Scripted(does), make_queries(8), RunOptions(concurrency=1, timeout=0.05), tmp_path)
    assert results.errors == {"timeout": 5, "not asked": 3}
    with pytest.raises(UndecidableError, match="5 failed"):
        results.run()
    again = run_queries(Scripted(), make_queries(8), RunOptions(), tmp_path)
    assert list(again.answers) == ["q5", "q6", "q7"]


def test_a_repeated_run_sends_nothing_and_has_the_same_results(tmp_path: Path) -> None:
    whole = run_queries(Scripted(failing_at(RemoteError("status", "500"))), make_queries(), NOW, tmp_path)
    silent = Scripted(failing_at(RemoteError("failed", "asked again"), *range(9)))
    again = run_queries(silent, make_queries(), NOW, tmp_path)
    assert not silent.counts
    assert again.run().digest == whole.run().digest
    assert again.queries == whole.queries
    assert again.resumed_count == 12
    assert len(again.sessions) == 1  # a session in which nothing was asked does not count
    assert again.seconds > 0


def test_a_restart_asks_all_queries_again(tmp_path: Path) -> None:
    run_queries(Scripted(), make_queries(), NOW, tmp_path)
    changed = Scripted()
    results = run_queries(changed, make_queries(), replace(NOW, restart=True), tmp_path)
    assert set(changed.counts.values()) == {1}
    assert (results.resumed_count, len(changed.counts)) == (0, 12)


def test_retry_failed_asks_only_the_failed_queries_again(tmp_path: Path) -> None:
    run_queries(Scripted(failing_at(RemoteError("status", "500"))), make_queries(), NOW, tmp_path)
    better = Scripted()
    results = run_queries(better, make_queries(), RunOptions(k=3, retry_failed=True), tmp_path)
    assert better.counts == {"q1": 1}
    assert not results.failures
    assert results.run().digest == run_queries(Scripted(), make_queries(), NOW).run().digest
    assert [sitting.concurrency for sitting in results.sessions] == [4, 8]


def test_an_interrupted_run_keeps_finished_queries_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_STOP_SECONDS", 60.0)

    def slow(query: Query, number: int) -> Answer:
        time.sleep(0.02)
        return plain_answer(query)

    def interrupt(progress: RunProgress) -> None:
        if progress.done >= 4:
            raise KeyboardInterrupt

    first, second = Scripted(slow), Scripted()
    with pytest.raises(KeyboardInterrupt):
        run_queries(first, make_queries(600), RunOptions(k=3, concurrency=2), tmp_path, interrupt)
    results = run_queries(second, make_queries(600), NOW, tmp_path)
    assert 4 <= results.resumed_count < 600
    assert set((first.counts + second.counts).values()) == {1}
    assert results.run().digest == run_queries(Scripted(), make_queries(600), NOW).run().digest


def test_an_interruption_at_any_point_loses_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The points are the steps of the interpreter while it records answers, from the second time on."""
    monkeypatch.setattr(runs, "_STOP_SECONDS", 60.0)
    gather = runs._QueryRunner._collect.__code__

    def interrupted(folder: Path, after: int) -> bool:
        steps = calls = 0

        def trace(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
            nonlocal steps, calls
            if frame.f_code is not gather:
                return None
            frame.f_trace_opcodes = True
            calls += event == "call"
            steps = 0 if event == "call" else steps + (event == "opcode")
            if calls > 1 and steps == after:
                raise KeyboardInterrupt
            return trace

        first, second = Scripted(), Scripted()
        sys.settrace(trace)
        try:
            run_queries(first, make_queries(400), RunOptions(k=3, concurrency=2, rate=500), folder)
        except KeyboardInterrupt:
            pass
        else:
            return False  # it has fewer steps
        finally:
            sys.settrace(None)
        results = run_queries(second, make_queries(400), NOW, folder)
        assert 0 < results.resumed_count < 400
        assert set((first.counts + second.counts).values()) == {1}, after
        return True

    points = takewhile(lambda after: interrupted(tmp_path / str(after), after), count(1))
    assert len(list(points)) > 30


def test_an_interruption_while_a_thread_starts_loses_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = Event()

    class Interrupted(Thread):
        def start(self) -> None:
            super().start()
            assert submitted.wait(60)
            raise KeyboardInterrupt

    class Runner(runs._QueryRunner):
        def _submit(self, item: FinishedQuery | int) -> None:
            super()._submit(item)
            submitted.set()

    monkeypatch.setattr(runs, "Thread", Interrupted)
    monkeypatch.setattr(runs, "_QueryRunner", Runner)
    first, second = Scripted(), Scripted()
    with pytest.raises(KeyboardInterrupt):
        run_queries(first, make_queries(400), NOW, tmp_path)
    monkeypatch.undo()
    assert run_queries(second, make_queries(400), NOW, tmp_path).resumed_count == first.counts.total() > 0
    assert set((first.counts + second.counts).values()) == {1}


def test_an_interruption_does_not_wait_for_a_pause(tmp_path: Path) -> None:
    def interrupt(progress: RunProgress) -> None:
        if progress.done == 2:  # the third waits
            raise KeyboardInterrupt

    error = RemoteError("connection", "reset", is_transient=True)
    searcher = Scripted(failing_at(error, *range(9)))
    with pytest.raises(KeyboardInterrupt):  # if it waited, this would take days
        run_queries(searcher, make_queries(3), RunOptions(backoff=1e6), tmp_path, interrupt)
    assert run_queries(Scripted(), make_queries(3), RunOptions(), tmp_path).resumed_count == 2


def test_an_invalid_retry_after_fails_the_query_and_not_the_run() -> None:
    error = RemoteError("limited", "later", is_transient=True, retry_after="5")  # type: ignore[arg-type]
    results = run_queries(Scripted(failing_at(error)), make_queries(), NOW)
    assert [
        (query_id, query_result.failure.kind)
        for query_id, query_result in results.queries.items()
        if query_result.failure
    ] == [("q1", "failed")]


def test_long_pauses_do_not_overflow() -> None:
    error = RemoteError("connection", "reset", is_transient=True)
    results = run_queries(
        Scripted(failing_at(error, *range(9999))), make_queries(3), replace(NOW, retries=1100, backoff=0.0)
    )
    assert len(results.failures) == 1


def test_a_run_ends_with_its_finished_queries_if_threads_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Few(Thread):
        def start(self) -> None:
            if len(thread_count) == 2:
                raise RuntimeError("can't start new thread")
            thread_count.append(self)
            super().start()

    def slow(query: Query, number: int) -> Answer:
        time.sleep(0.01)
        return plain_answer(query)

    thread_count: list[Thread] = []
    monkeypatch.setattr(runs, "Thread", Few)
    searcher = Scripted(slow)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_queries(searcher, make_queries(200), NOW, tmp_path)
    monkeypatch.undo()
    asked_before = searcher.counts.total()
    assert asked_before < 200
    assert run_queries(Scripted(), make_queries(200), NOW, tmp_path).resumed_count == asked_before


def test_progress_is_reported_to_the_end() -> None:
    reports: list[RunProgress] = []
    run_queries(Scripted(failing_at(RemoteError("status", "500"))), make_queries(), NOW, watch=reports.append)
    assert reports[-1][:4] == (12, 12, 1, 0)
    assert reports[-1].qps > 0


def test_a_journal_that_cannot_be_written_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: RunJournal, *query_result: object) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr(RunJournal, "put", full)
    with pytest.raises(StoreError, match="no space left"):
        run_queries(Scripted(), make_queries(), NOW, tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        *[{"k": 0}, {"concurrency": 0}, {"timeout": 0}, {"rate": 0}, {"retries": -1}],
        *[{name: float(odd)} for name in ("timeout", "rate", "backoff") for odd in ("inf", "nan", "-1")],
        *[{"timeout": 1e300}, {"rate": 1e-300}],
    ],
)
def test_invalid_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}: expected"):
        RunOptions(**wrong)  # type: ignore[arg-type]


def test_another_server_under_the_same_name_has_its_own_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def journal(url: str) -> Path:
        monkeypatch.setenv("ASSAY_ENDPOINT", url)
        http = HttpSearcher("live", url="${ASSAY_ENDPOINT}/search?q={query}", ids="$.ids")
        assert "staging" not in str(http.identity()) + str(http.configuration())
        for searcher in (http, Pipeline("live", [RetrievalSource(http)])):
            results = run_queries(
                searcher, make_queries(1), replace(NOW, retries=0), tmp_path / type(searcher).__name__
            )
        http.close()
        assert results.journal is not None
        return results.journal

    staging = journal("http://name:staging-key@localhost:1/staging")
    assert journal("http://name:another-key@localhost:1/staging") == staging
    assert journal("http://name:staging-key@localhost:1/prod") != staging
    assert [len(list(folder.iterdir())) for folder in tmp_path.iterdir()] == [2, 2]


def test_an_unknown_column_is_refused_before_any_query_is_sent() -> None:
    http = HttpSearcher("live", url="http://localhost:1/?q={query}&p={page}&t={qurey}", ids="$.ids")
    for searcher in (http, Pipeline("live", [RetrievalSource(http)])):
        with pytest.raises(InputError, match=r"live uses \{qurey\} in its request; expected \{query\}"):
            run_queries(searcher, make_queries(), NOW)


def test_a_restart_does_not_touch_the_journal_of_a_running_process(tmp_path: Path) -> None:
    path = run_queries(Scripted(), make_queries(), NOW, tmp_path).journal
    assert path is not None
    before = path.read_bytes()
    about = json.loads(before.splitlines()[0])
    other = RunJournal(tmp_path, "scripted", {key: about[key] for key in ("system", "k", "queries", "rules")})
    with other.open(), pytest.raises(InputError, match="another run is writing this journal"):
        run_queries(Scripted(), make_queries(), replace(NOW, restart=True), tmp_path)
    assert path.read_bytes() == before
    assert run_queries(Scripted(), make_queries(), replace(NOW, restart=True), tmp_path).resumed_count == 0


def test_a_call_that_returns_during_the_check_is_not_abandoned() -> None:
    class Returning(runs._Call):
        looks: Iterator[int | None] = iter([1, None])
        deadline = property(lambda self: next(self.looks), lambda self, value: None)

    asking = runs._QueryRunner(Scripted(), [], NOW, None, {})
    call = asking._active_calls["q1"] = Returning(Query("q1", "how"))
    assert call.claim()
    asking._abandon_hanging_calls()
    assert list(asking._active_calls) == ["q1"]
