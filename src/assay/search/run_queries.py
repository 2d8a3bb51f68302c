"""Ask one system all queries: several at a time, timed from outside, with retries of transient failures.

Threads take queries from one list. Only the call of `ask` is timed: retries, pauses and writing the
journal are not. A query ends as an answer or as a failure, and is then not asked again.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from assay.core.errors import InputError, describe_exception
from assay.core.tables import Queries
from assay.remote.errors import RemoteError
from assay.remote.rate_limit import RateLimit
from assay.remote.retry import MAX_RETRY_AFTER, RetryPolicy
from assay.search.attempt import Attempt, check_time_setting, stdout_to_stderr
from assay.search.query_results import QueryResults
from assay.search.run_journal import FinishedQuery, QueryFailure, RunJournal, RunSession
from assay.search.searcher import Answer, Query, Searcher, iterate_queries

_CHECK_INTERVAL_SECONDS = 0.1  # between two checks for calls that hang
_WRITE_DELAY_SECONDS = 0.01  # results this close together are written together; a kill loses no more
_TIMEOUT_GRACE_NS = 500_000_000  # beyond the timeout, for a searcher that reports the timeout itself
_STOP_SECONDS = 2.0  # for active calls when a run is stopped
_RULES_VERSION = 3  # of fusion and of ties: answers by earlier rules are not reused
_MAX_HANGING_CALLS_PER_CLIENT = 4  # after that many, threads are not replaced any more


@dataclass(frozen=True)
class RunOptions:
    """How queries are asked; only k changes the answers."""

    k: int = 100
    concurrency: int = 8
    timeout: float = 30.0  # seconds for one attempt
    retries: int = 2  # of transient failures
    backoff: float = 0.5  # seconds before the first retry; doubled before each further one
    rate: float | None = None  # maximum requests per second, including retries
    retry_failed: bool = False  # ask queries again that failed in an earlier session
    restart: bool = False  # ask all queries again: the system behind the configuration has changed
    seed: int = 0  # of the jitter of pauses

    def __post_init__(self) -> None:
        minimums = {"k": 1, "concurrency": 1, "retries": 0, "backoff": 0}
        for name, minimum in minimums.items():
            if not minimum <= getattr(self, name) < math.inf:
                raise InputError(f"{name}: expected at least {minimum}, found {getattr(self, name)}")
        check_time_setting("timeout", self.timeout)
        if self.rate is not None:
            check_time_setting("rate", self.rate)


class RunProgress(NamedTuple):
    """How far a run is; queries finished in an earlier session count as done."""

    total: int
    done: int
    failed: int
    in_flight: int
    qps: float  # of this session


Watch = Callable[[RunProgress], Any]


def run_queries(
    searcher: Searcher,
    queries: Queries,
    options: RunOptions | None = None,
    journal: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
) -> QueryResults:
    """Ask a system all queries; `journal` is the folder of a journal, from which a stopped run continues.

    Standard output is for results: what a searcher prints meanwhile goes to standard error.
    """
    options = options or RunOptions()
    searcher.check_queries(queries)
    header = {"system": searcher.identity(), "k": options.k, "queries": queries.digest}
    header["rules"] = _RULES_VERSION
    run_journal = RunJournal(journal, searcher.name, header) if journal is not None else None
    with run_journal.open(options.restart) if run_journal else nullcontext():
        finished = _reusable(run_journal.finished, options) if run_journal else {}
        remaining = [query for query in iterate_queries(queries) if query.id not in finished]
        sessions, results = _run_session(searcher, remaining, options, run_journal, watch, finished)
    queries_by_id = {key: results[key] for key in queries.ids}
    return QueryResults(
        searcher.name,
        queries_by_id,
        sessions,
        len(finished),
        run_journal.path if run_journal else None,
        price_per_query=searcher.total_price_per_query,
    )


def _reusable(finished: dict[str, FinishedQuery], options: RunOptions) -> dict[str, FinishedQuery]:
    return {key: query for key, query in finished.items() if query.answer or not options.retry_failed}


def _run_session(
    searcher: Searcher,
    remaining: list[Query],
    options: RunOptions,
    journal: RunJournal | None,
    watch: Watch | None,
    finished: dict[str, FinishedQuery],
) -> tuple[list[RunSession], dict[str, FinishedQuery]]:
    """Ask the remaining queries, in one session."""
    sessions = journal.sessions if journal else []
    if not remaining:
        return sessions, finished
    session = RunSession(time.time(), options.concurrency, options.rate, options.timeout)
    if journal:
        journal.start_session(session)
    runner = _QueryRunner(searcher, remaining, options, journal, finished)
    with stdout_to_stderr():
        runner.run(watch)
    results = {query.id: _not_asked(query) for query in remaining} | runner.finished
    return [*sessions, session._replace(seconds=runner.seconds)], results


def _not_asked(query: Query) -> FinishedQuery:
    """Return a query that no thread was left to ask; it is not in the journal, so a new run asks it."""
    reason = "not asked, because too many earlier calls never returned"
    return FinishedQuery(query.id, time.time(), 0, 0, None, None, QueryFailure("not asked", reason))


@dataclass(slots=True)
class _Call:
    """A query that is being asked."""

    query: Query
    started_at: float = 0.0
    first_attempt_at: int = 0  # nanoseconds
    attempts: int = 0
    deadline: int | None = None  # of the current attempt, nanoseconds
    lock: Lock = field(default_factory=Lock)

    def claim(self) -> bool:
        """Return whether the caller may finish the call: its own thread, or the one that abandons it."""
        return self.lock.acquire(blocking=False)

    def start_attempt(self, timeout: float) -> int:
        """Start another attempt; return when it began, in nanoseconds."""
        self.attempts += 1
        self.started_at = self.started_at or time.time()
        self.deadline = time.perf_counter_ns() + round(timeout * 1e9) + _TIMEOUT_GRACE_NS
        start = time.perf_counter_ns()
        self.first_attempt_at = self.first_attempt_at or start
        return start

    def fail(self, failure: QueryFailure) -> FinishedQuery:
        waited_ns = time.perf_counter_ns() - self.first_attempt_at
        return FinishedQuery(self.query.id, self.started_at, self.attempts, waited_ns, None, None, failure)


class _QueryRunner:
    """The threads of one session, and what they share."""

    def __init__(
        self,
        searcher: Searcher,
        remaining: Iterable[Query],
        options: RunOptions,
        journal: RunJournal | None,
        finished: dict[str, FinishedQuery],
    ) -> None:
        self.searcher, self.options, self.journal = searcher, options, journal
        self._attempt = Attempt(searcher, options.k, options.timeout)
        self.finished = dict(finished)
        self.queries = list(remaining)
        self.total = len(self.queries) + len(finished)
        self.failed_count = sum(query.failure is not None for query in finished.values())
        self.resumed_count, self.seconds = len(finished), 0.0
        self.started_at = time.perf_counter_ns()
        self._remaining: Iterator[Query] = iter(self.queries)
        self._active_calls: dict[str, _Call] = {}
        self._wake_up: SimpleQueue[None] = SimpleQueue()  # wakes the thread that records results
        self._pending: list[FinishedQuery | int] = []  # not recorded yet; a number is when a thread ended
        self._active_threads = self._hanging_threads = 0
        self._stop = Event()
        self._rate_limit = RateLimit(options.rate, options.concurrency, self._stop)
        self._policy = RetryPolicy(options.retries, options.backoff, jitter=(0.5, 1.0))

    def run(self, watch: Watch | None) -> None:
        """Ask all queries; an interruption is passed on after finished queries are recorded."""
        next_check = 0.0
        try:
            for _ in range(min(self.options.concurrency, len(self.queries))):
                self._start()
            while self._active_threads:
                self._collect(_CHECK_INTERVAL_SECONDS)
                if time.monotonic() >= next_check:
                    next_check = time.monotonic() + _CHECK_INTERVAL_SECONDS
                    self._abandon_hanging_calls()
                    self._report(watch)
        finally:
            self._close()
        self._report(watch)

    def _close(self) -> None:
        """Start no further calls, and record those that finish within a short time."""
        self._stop.set()
        end = time.monotonic() + _STOP_SECONDS
        while self._active_threads and (seconds := end - time.monotonic()) > 0:
            self._collect(seconds)

    def _collect(self, seconds: float) -> None:
        """Record finished queries; wait for them for so many seconds at most."""
        with suppress(Empty):
            self._wake_up.get(timeout=0 if self._pending else seconds)
        if not self._pending:
            return
        time.sleep(_WRITE_DELAY_SECONDS)
        pending = list(self._pending)
        self._record([item for item in pending if isinstance(item, FinishedQuery)])
        thread_ends = [moment for moment in pending if isinstance(moment, int)]
        del self._pending[: len(pending)]  # last: an interruption may come at any point
        self._count_ended_threads(thread_ends)

    def _count_ended_threads(self, moments: list[int]) -> None:
        self._active_threads -= len(moments)
        self.seconds = max([self.seconds, *((moment - self.started_at) / 1e9 for moment in moments)])

    def _record(self, queries: list[FinishedQuery]) -> None:
        if self.journal and queries:
            self.journal.put(*queries)
        self.failed_count += sum(query.failure is not None for query in queries)
        self.finished |= {query.query_id: query for query in queries}

    def _report(self, watch: Watch | None) -> None:
        if watch:
            done, seconds = len(self.finished), (time.perf_counter_ns() - self.started_at) / 1e9
            qps = (done - self.resumed_count) / seconds
            watch(RunProgress(self.total, done, self.failed_count, len(self._active_calls), qps))

    def _start(self) -> None:
        self._active_threads += 1  # first: an interruption may come while the thread starts and asks
        Thread(target=self._work, name=f"asks {self.searcher.name}", daemon=True).start()

    def _work(self) -> None:
        """Ask one query after another, until none is left or this thread was abandoned."""
        while call := self._next_call():
            try:
                query = self._ask_until_finished(call)
            except Exception as error:
                # for example a retry_after that is not a number: it ends the query, and not the thread
                reason = self._attempt.redact(describe_exception(error))
                query = call.fail(QueryFailure("failed", reason))
            if not call.claim():
                return  # another thread has replaced this one
            del self._active_calls[call.query.id]
            if query:
                self._submit(query)
        self._submit(time.perf_counter_ns())

    def _submit(self, item: FinishedQuery | int) -> None:
        self._pending.append(item)
        self._wake_up.put(None)

    def _next_call(self) -> _Call | None:
        query = None if self._stop.is_set() else next(self._remaining, None)
        if query is None:
            return None
        call = self._active_calls[query.id] = _Call(query)
        return call

    def _abandon_hanging_calls(self) -> None:
        """Abandon threads whose call hangs, and replace them unless too many hang."""
        now = time.perf_counter_ns()
        reason = f"no answer within {self.options.timeout:g} s; the call is still hanging"
        for call in list(self._active_calls.values()):
            deadline = call.deadline  # read once: its thread resets it when it returns
            if deadline and deadline < now and call.claim():
                del self._active_calls[call.query.id]
                self._record([call.fail(QueryFailure("timeout", reason))])
                self._count_ended_threads([now])
                self._hanging_threads += 1
                if self._hanging_threads <= _MAX_HANGING_CALLS_PER_CLIENT * self.options.concurrency:
                    self._start()

    def _ask_until_finished(self, call: _Call) -> FinishedQuery | None:
        """Ask until there is an answer or no retry is left; return None if the run was stopped meanwhile."""
        while self._rate_limit.wait_for_turn():
            start, end, answer = self._ask_once(call)
            if isinstance(answer, Answer):
                self._rate_limit.record_answer()
                waited_ns, latency_ns = start - call.first_attempt_at, end - start
                return FinishedQuery(
                    call.query.id, call.started_at, call.attempts, waited_ns, latency_ns, answer
                )
            if call.lock.locked() or not self._pause_before_retry(call, answer, start):
                return call.fail(QueryFailure(answer.kind, answer.reason))
        return None

    def _ask_once(self, call: _Call) -> tuple[int, int, Answer | RemoteError]:
        """Make one attempt; return when it began and ended, and its answer or error."""
        start = call.start_attempt(self.options.timeout)
        end, answer = self._attempt(call.query, start)
        call.deadline = None
        return start, end, answer

    def _pause_before_retry(self, call: _Call, error: RemoteError, sent_at: int) -> bool:
        """Pause, and return whether to retry; a rate limit of the server pauses all threads."""
        chance = random.Random(f"{self.options.seed} {call.query.id} {call.attempts}").random()
        pause = self._policy.pause(call.attempts, chance)
        should_retry = self._policy.allows(error, call.attempts)
        retry_after = error.retry_after or 0.0
        if error.kind == "limited" or retry_after:
            is_acceptable = retry_after <= MAX_RETRY_AFTER
            self._rate_limit.slow_down(max(pause, retry_after) if is_acceptable else pause, sent_at)
        elif should_retry:
            self._rate_limit.wait(pause)
        return should_retry
