"""All queries asked of one system: some at a time, timed from outside, and each to its end.

Threads take queries from one list. The clock stands around `ask` and nothing else; repetitions, pauses and
the writing down are outside of it. A query ends as an answer or as a failure, and is then never asked again.
"""

from __future__ import annotations

import math
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread, current_thread, main_thread
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.secrets import hidden, named
from assay.core.tables import Queries
from assay.search.journal import Failure, Finished, Journal, Sitting
from assay.search.outcome import Outcome
from assay.search.pace import Pace
from assay.search.searcher import Answer, Query, Ranked, Searcher, SearchError, asked, in_order

_TICK = 0.1  # seconds between two looks at what is under way
_TOGETHER = 0.01  # seconds: what comes in so close together is kept together; a kill loses no more than that
_GRACE = 500_000_000  # nanoseconds beyond the timeout in which a searcher may say so itself
_LAST = 2.0  # seconds for what is under way when a run is stopped
_PATIENCE = 60.0  # seconds: who asks for a longer pause is not asked again
_LOST = 4  # calls for each client that may be left hanging before a system is given up
_LONGEST = 300  # characters of an error's words
_ODD = re.compile("[\0\ud800-\udfff]")  # a NUL, or half of a surrogate pair: no file can hold it in an id
_MOST = 1e6  # seconds: what waits for longer raises OverflowError somewhere


@dataclass(frozen=True)
class Options:
    """How queries are asked; only k changes what is answered."""

    k: int = 100
    concurrency: int = 8
    timeout: float = 30.0  # seconds for one attempt
    retries: int = 2  # of what may go better when it is asked again
    backoff: float = 0.5  # seconds before the first repetition; twice as long before each next
    rate: float | None = None  # requests a second at most, repetitions included
    retry_failed: bool = False  # ask once more what failed in an earlier sitting
    again: bool = False  # ask everything once more: the system behind the configuration has changed
    seed: int = 0  # of the chance in the pauses

    def __post_init__(self) -> None:
        least = {"k": 1, "concurrency": 1, "retries": 0, "backoff": 0}
        for name, low in least.items():
            if not low <= getattr(self, name) < math.inf:
                raise InputError(f"{name}: expected at least {low}, found {getattr(self, name)}")
        refuse_odd("timeout", self.timeout)
        if self.rate is not None:
            refuse_odd("rate", self.rate)


def refuse_odd(name: str, value: float) -> None:
    """Refuse seconds, or requests a second, for which no clock can wait."""
    if not 1 / _MOST <= value <= _MOST:
        raise InputError(f"{name}: expected more than 0 and at most {_MOST:,.0f}, found {value:g}")


class Progress(NamedTuple):
    """How far a run is; what was finished in an earlier sitting counts as done."""

    total: int
    done: int
    failed: int
    in_flight: int
    qps: float  # of this sitting


Watch = Callable[[Progress], Any]


def run(
    searcher: Searcher,
    queries: Queries,
    options: Options | None = None,
    journal: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Ask a system all queries; `journal` is a folder in which what is finished is kept, to go on later.

    Standard output is for results: what a function of somebody prints meanwhile goes to standard error.
    """
    options = options or Options()
    searcher.refuse(queries)
    about = {"system": searcher.identity(), "k": options.k, "queries": queries.digest}
    kept = Journal(journal, searcher.name, about) if journal is not None else None
    with kept.opened(options.again) if kept else nullcontext():
        earlier = _still_good(kept.finished, options) if kept else {}
        left = [query for query in asked(queries) if query.id not in earlier]
        sittings, found = _sat(searcher, left, options, kept, watch, earlier)
    done = {key: found[key] for key in queries.ids}
    return Outcome(searcher.name, done, sittings, len(earlier), kept.path if kept else None)


def _still_good(finished: dict[str, Finished], options: Options) -> dict[str, Finished]:
    return {key: done for key, done in finished.items() if done.answer or not options.retry_failed}


def _sat(
    searcher: Searcher,
    left: list[Query],
    options: Options,
    journal: Journal | None,
    watch: Watch | None,
    earlier: dict[str, Finished],
) -> tuple[list[Sitting], dict[str, Finished]]:
    """Ask what is left, in one sitting."""
    before = journal.sittings if journal else []
    if not left:
        return before, earlier
    sitting = Sitting(time.time(), options.concurrency, options.rate, options.timeout)
    if journal:
        journal.sit(sitting)
    asking = _Asking(searcher, left, options, journal, earlier)
    with aside():
        asking.all(watch)
    found = {query.id: _never(query) for query in left} | asking.finished
    return [*before, sitting._replace(seconds=asking.seconds)], found


def aside() -> redirect_stdout[Any] | nullcontext[None]:
    """Standard output on standard error, for all threads; one thread alone may do that, or it would stay."""
    return redirect_stdout(sys.stderr) if current_thread() is main_thread() else nullcontext()


def _never(query: Query) -> Finished:
    """A query that nobody was left to ask; it is in no journal, so it is asked when the run goes on."""
    said = "too many calls before it never came back, so it was not asked"
    return Finished(query.id, time.time(), 0, 0, None, None, Failure("not asked", said))


@dataclass(slots=True)
class _Call:
    """A query under way."""

    query: Query
    started: float = 0.0
    first: int = 0  # when the first attempt began, nanoseconds
    attempts: int = 0
    deadline: int | None = None  # of an attempt that is under way
    end: Lock = field(default_factory=Lock)

    def claimed(self) -> bool:
        """Whether the end of it is up to who asks first: the thread that came back, or who gives it up."""
        return self.end.acquire(blocking=False)

    def begin(self, timeout: float) -> int:
        """Another attempt: when it begins."""
        self.attempts += 1
        self.started = self.started or time.time()
        self.deadline = time.perf_counter_ns() + round(timeout * 1e9) + _GRACE
        now = time.perf_counter_ns()
        self.first = self.first or now
        return now

    def failed(self, failure: Failure) -> Finished:
        waited = time.perf_counter_ns() - self.first
        return Finished(self.query.id, self.started, self.attempts, waited, None, None, failure)


class _Asking:
    """The threads of one sitting, and what they share."""

    def __init__(
        self,
        searcher: Searcher,
        left: Iterable[Query],
        options: Options,
        journal: Journal | None,
        earlier: dict[str, Finished],
    ) -> None:
        self.searcher, self.options, self.journal = searcher, options, journal
        self._ask = Attempt(searcher, options.k, options.timeout)
        self.finished = dict(earlier)
        self.queries = list(left)
        self.total = len(self.queries) + len(earlier)
        self.failed = sum(done.failure is not None for done in earlier.values())
        self.earlier, self.seconds = len(earlier), 0.0
        self.begin = time.perf_counter_ns()
        self._left: Iterator[Query] = iter(self.queries)
        self._calls: dict[str, _Call] = {}  # under way
        self._came: SimpleQueue[None] = SimpleQueue()  # wakes whoever waits for what is held
        self._held: list[Finished | int] = []  # what is not kept yet; a number: when a thread left
        self._alive = self._lost = 0  # threads
        self._stop = Event()
        self._pace = Pace(options.rate, options.concurrency, self._stop)

    def all(self, watch: Watch | None) -> None:
        """Ask everything; an interruption is let through, with what is finished kept."""
        due = 0.0
        try:
            for _ in range(min(self.options.concurrency, len(self.queries))):
                self._start()
            while self._alive:
                self._gather(_TICK)
                if time.monotonic() >= due:
                    due = time.monotonic() + _TICK
                    self._give_up()
                    self._tell(watch)
        finally:
            self._close()
        self._tell(watch)

    def _close(self) -> None:
        """Hand out no more, and take what comes in within moments."""
        self._stop.set()
        end = time.monotonic() + _LAST
        while self._alive and (left := end - time.monotonic()) > 0:
            self._gather(left)

    def _gather(self, seconds: float) -> None:
        """Keep what comes in; wait for it so long at most."""
        with suppress(Empty):
            self._came.get(timeout=0 if self._held else seconds)
        if not self._held:
            return
        time.sleep(_TOGETHER)
        came = list(self._held)
        self._put([done for done in came if isinstance(done, Finished)])
        left = [moment for moment in came if isinstance(moment, int)]
        del self._held[: len(came)]  # only now: an interruption may come at any point
        self._leave(left)

    def _leave(self, moments: list[int]) -> None:
        self._alive -= len(moments)
        self.seconds = max([self.seconds, *((moment - self.begin) / 1e9 for moment in moments)])

    def _put(self, came: list[Finished]) -> None:
        if self.journal and came:
            self.journal.put(*came)
        self.failed += sum(done.failure is not None for done in came)
        self.finished |= {done.query_id: done for done in came}

    def _tell(self, watch: Watch | None) -> None:
        if watch:
            done, seconds = len(self.finished), (time.perf_counter_ns() - self.begin) / 1e9
            qps = (done - self.earlier) / seconds
            watch(Progress(self.total, done, self.failed, len(self._calls), qps))

    def _start(self) -> None:
        Thread(target=self._work, name=f"asks {self.searcher.name}", daemon=True).start()
        self._alive += 1

    def _work(self) -> None:
        """Ask one query after another, until there is none left or this thread was given up."""
        while call := self._next():
            try:
                done = self._finish(call)
            except Exception as error:
                # a pause that is no number, say: it is the query's end and not the thread's
                done = call.failed(Failure("failed", self._ask.words(f"{type(error).__name__}: {error}")))
            if not call.claimed():
                return  # another thread is in its place
            del self._calls[call.query.id]
            if done:
                self._hand(done)
        self._hand(time.perf_counter_ns())

    def _hand(self, done: Finished | int) -> None:
        self._held.append(done)
        self._came.put(None)

    def _next(self) -> _Call | None:
        query = None if self._stop.is_set() else next(self._left, None)
        if query is None:
            return None
        call = self._calls[query.id] = _Call(query)
        return call

    def _give_up(self) -> None:
        """Leave the threads that hang to themselves, and put others in their place as long as that helps."""
        now = time.perf_counter_ns()
        said = f"no answer within {self.options.timeout:g} s; the call still hangs"
        for call in list(self._calls.values()):
            deadline = call.deadline  # once: its thread takes it away when it comes back
            if deadline and deadline < now and call.claimed():
                del self._calls[call.query.id]
                self._put([call.failed(Failure("timeout", said))])
                self._leave([now])
                self._lost += 1
                if self._lost <= _LOST * self.options.concurrency:
                    self._start()

    def _finish(self, call: _Call) -> Finished | None:
        """Ask until there is an answer or no hope; None where the run was stopped meanwhile."""
        while self._pace.turn():
            begin, end, found = self._asked(call)
            if isinstance(found, Answer):
                self._pace.answered()
                waited, taken = begin - call.first, end - begin
                return Finished(call.query.id, call.started, call.attempts, waited, taken, found)
            if call.end.locked() or not self._again(call, found, begin):
                return call.failed(Failure(found.kind, found.said))
        return None

    def _asked(self, call: _Call) -> tuple[int, int, Answer | SearchError]:
        """One attempt: when it began and ended, and what came of it."""
        begin = call.begin(self.options.timeout)
        end, found = self._ask(call.query, begin)
        call.deadline = None
        return begin, end, found

    def _again(self, call: _Call, error: SearchError, sent: int) -> bool:
        """Whether to ask once more, said after the pause before it; a limit is a pause for all."""
        chance = random.Random(f"{self.options.seed} {call.query.id} {call.attempts}").random()
        pause = self.options.backoff * 2 ** min(call.attempts - 1, 60) * (1 + chance) / 2
        after = error.after or 0.0
        hope = error.again and call.attempts <= self.options.retries and after <= _PATIENCE
        if error.kind == "limited" or after:
            self._pace.slower(max(pause, after) if after <= _PATIENCE else pause, sent)
        elif hope:
            self._pace.wait(pause)
        return hope


class Attempt:
    """Asks a query once; what comes of it is an answer that can be scored, or an error without secrets."""

    def __init__(self, searcher: Searcher, k: int, timeout: float) -> None:
        self._searcher, self._k, self._timeout = searcher, k, timeout
        self._names = named(repr(searcher.configuration()))

    def __call__(self, query: Query, begin: int) -> tuple[int, Answer | SearchError]:
        """When an attempt that began then ended, and what came of it."""
        try:
            found = self._searcher.ask(query, self._k, self._timeout)
            end = time.perf_counter_ns()
            return end, _in_time(checked(found, self._k), end - begin, self._timeout)
        except SearchError as error:
            end, said = time.perf_counter_ns(), self.words(error.said)
            return end, SearchError(error.kind, said, again=error.again, after=error.after)
        except BaseException as error:  # whatever it is, it is this query's end and not the run's
            end, said = time.perf_counter_ns(), self.words(f"{type(error).__name__}: {error}")
            return end, SearchError("failed", said)

    def words(self, said: str) -> str:
        """What is kept of an error's words: no secret, no password of a URL, no whole page, and only text."""
        kept = re.sub(r"//[^/@\s]*@", "//…@", hidden(said, self._names))[:_LONGEST]
        return kept.encode(errors="replace").decode()


def checked(answer: Any, k: int) -> Answer:
    """An answer that can be scored and stored, in order and cut to k; a SearchError where it is none."""
    if not isinstance(answer, Answer):
        raise SearchError("malformed", f"expected an Answer, found {type(answer).__name__}")
    stages = tuple(stage._replace(documents=_ranked(stage.documents)) for stage in answer.stages)
    return answer._replace(documents=_ranked(answer.documents)[:k], stages=stages)


def _ranked(documents: Any) -> Ranked:
    try:
        found = [(document, float(score)) for document, score in documents]
    except (TypeError, ValueError):
        raise SearchError("malformed", "expected documents as pairs of an id and a score") from None
    for document, score in found:
        if not isinstance(document, str) or not document or score != score:
            raise SearchError("malformed", f"expected text and a number, found {document!r} and {score}")
    if len({document for document, _ in found}) < len(found):
        twice = next(document for document, count in Counter(d for d, _ in found).items() if count > 1)
        raise SearchError("malformed", f"document {twice!r} stands twice in the answer")
    if odd := _ODD.search("\n".join(document for document, _ in found)):
        raise SearchError("malformed", f"expected ids of text, found {odd[0]!r} in one")
    return in_order(found)


def _in_time(answer: Answer, taken: int, timeout: float) -> Answer:
    if taken > timeout * 1e9:
        raise SearchError("timeout", f"answered only after {taken / 1e9:.3g} s; the limit was {timeout:g} s")
    return answer
