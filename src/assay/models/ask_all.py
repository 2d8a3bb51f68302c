"""Ask a language model many requests in threads: within a budget, recorded, and each only once.

Each thread records a reply before it sends its next request. So if the process is killed, at most one
request of each thread is without its reply; it is asked again, and its highest cost counts as spent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import NamedTuple

from assay.core.errors import InputError
from assay.models.language_model import LanguageModel, Reply, most_prompt_tokens
from assay.models.reply_journal import RecordedReply, ReplyJournal, Request
from assay.remote.errors import RemoteError

_FATAL_STATUSES = (401, 402, 403, 404)  # every further request would fail alike
_BILLED_KINDS = ("malformed", "too large")  # a response came
_MAX_FAILURES_IN_A_ROW = 5
_REPORT_SECONDS = 0.2
_STOP_SECONDS = 10.0  # for the requests in flight when the work is stopped


@dataclass(frozen=True)
class AskOptions:
    """How requests are sent."""

    workers: int = 4
    budget: float = math.inf  # in the currency of the prices; includes what earlier sessions spent
    ask_again: Callable[[RecordedReply], bool] = field(default=lambda recorded: False)

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers: expected at least 1, found {self.workers}")
        if not self.budget >= 0:
            raise InputError(f"budget: expected 0 or more, found {self.budget}")


class AskProgress(NamedTuple):
    """How far the work is; replies of earlier sessions count as done."""

    total: int
    done: int
    failed: int
    cost: float  # of all replies in the journal
    per_second: float  # of this session


AskWatch = Callable[[AskProgress], None]


@dataclass
class Replies:
    """The replies to requests, and what this session and all sessions of the journal spent."""

    replies: Mapping[str, RecordedReply]  # by the key of the request
    failures: Mapping[str, RemoteError]  # of this session
    reused: int = 0  # replies of earlier sessions
    asked: int = 0  # requests of this session that were answered
    cost: float = 0.0  # of this session
    prompt_tokens: int = 0  # of this session
    completion_tokens: int = 0  # of this session
    total_cost: float = 0.0  # of all replies in the journal
    possible_cost: float = 0.0  # at most, of requests and attempts without a reply, in all sessions
    unanswered: int = 0  # requests whose reply was not recorded, in all sessions
    seconds: float = 0.0  # of this session
    stopped_by: str = ""  # "budget", or why the endpoint cannot be used


def ask_all(
    model: LanguageModel,
    requests: Iterable[Request],
    journal: ReplyJournal,
    options: AskOptions | None = None,
    watch: AskWatch | None = None,
) -> Replies:
    """Ask the requests that have no reply in the journal, which must be open; equal ones are asked once.

    An endpoint that cannot be used at all raises its RemoteError.
    """
    session = _Session(model, list(requests), journal, options or AskOptions())
    session.run(watch)
    replies = session.result()
    if replies.stopped_by and replies.failures and not replies.replies:
        raise next(iter(replies.failures.values()))
    return replies


class _Session:
    """The threads that ask, and what they share."""

    def __init__(
        self, model: LanguageModel, requests: list[Request], journal: ReplyJournal, options: AskOptions
    ) -> None:
        self.model, self.journal, self.options = model, journal, options
        self.requests = {request.key: request for request in requests}
        self.known = {key for key in self.requests if self._is_answered(key)}
        self.answered: dict[str, RecordedReply] = {}
        self.failures: dict[str, RemoteError] = {}
        self.failures_in_a_row, self.stopped_by = 0, ""
        self.error: BaseException | None = None  # of a thread
        self.begin = time.monotonic()
        self._remaining: Iterator[str] = iter([key for key in self.requests if key not in self.known])
        self._lock, self._stop, self._ended = Lock(), Event(), SimpleQueue[BaseException | None]()

    def _is_answered(self, key: str) -> bool:
        recorded = self.journal.replies.get(key)
        return recorded is not None and not self.options.ask_again(recorded)

    def run(self, watch: AskWatch | None) -> None:
        """Ask until all is done or the work is stopped; an interruption is passed on."""
        count = min(self.options.workers, len(self.requests) - len(self.known))
        threads = [Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            while count:
                count -= self._wait(_REPORT_SECONDS)
                if watch:
                    watch(self._progress())
        finally:
            self._close(count)
        if self.error is not None:
            raise self.error

    def _wait(self, seconds: float) -> int:
        """Wait for the end of a thread; return 1 if one ended."""
        try:
            error = self._ended.get(timeout=max(0.0, seconds))
        except Empty:
            return 0
        if error is not None:  # such as a full disk: nothing more can be recorded
            self._stop.set()
            self.error = self.error or error
        return 1

    def _close(self, count: int) -> None:
        """Send nothing more; replies in flight are recorded if they come soon."""
        self._stop.set()
        end = time.monotonic() + _STOP_SECONDS
        while count and time.monotonic() < end:
            count -= self._wait(end - time.monotonic())

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            while (key := self._take()) is not None:
                self._ask(key)
        except BaseException as caught:
            error = caught
        finally:
            self._ended.put(error)

    def _take(self) -> str | None:
        """Return the next request, once its cost is reserved; None if there is nothing more to send."""
        with self._lock:
            if self._stop.is_set() or self.stopped_by:
                return None
            key = next(self._remaining, None)
            if key is not None and not self.journal.reserve(
                key, self._highest_cost(key), self.options.budget
            ):
                self.stopped_by = "budget"
                return None
            return key

    def _highest_cost(self, key: str) -> float:
        request = self.requests[key]
        return self.model.highest_cost(request.messages, request.parameters.max_tokens)

    def _ask(self, key: str) -> None:
        request, lost_before = self.requests[key], self.model.lost_attempts
        at, begin = time.time(), time.monotonic()
        try:
            reply = self.model.reply(request.messages, request.parameters, request.schema, request.tools)
        except RemoteError as error:
            lost = self.model.lost_attempts - lost_before
            if error.kind not in _BILLED_KINDS:
                self._record_failure(key, error, lost)
                return
            reply = self._unusable_reply(request, error)
        lost = self.model.lost_attempts - lost_before
        recorded = RecordedReply(reply, at, time.monotonic() - begin, lost)
        self.journal.put(key, recorded, lost * self._highest_cost(key))
        with self._lock:
            self.answered[key], self.failures_in_a_row = recorded, 0

    def _unusable_reply(self, request: Request, error: RemoteError) -> Reply:
        """Return what is recorded of a response that cannot be read: it may have been billed."""
        tokens, most = most_prompt_tokens(request.messages), request.parameters.max_tokens
        cost = self.model.prices.cost(tokens, most)
        return Reply("", "", "", tokens, most, cost, is_usage_reported=False, problem=str(error))

    def _record_failure(self, key: str, error: RemoteError, lost: int) -> None:
        self.journal.put_failure(key, error, lost * self._highest_cost(key))
        with self._lock:
            self.failures[key] = error
            self.failures_in_a_row += 1
            if error.status in _FATAL_STATUSES or self.failures_in_a_row >= _MAX_FAILURES_IN_A_ROW:
                self.stopped_by = str(error)

    def _progress(self) -> AskProgress:
        done, seconds = len(self.answered), time.monotonic() - self.begin
        failed = len(self.failures)
        total = len(self.requests)
        return AskProgress(
            total, len(self.known) + done, failed, self.journal.cost, done / max(seconds, 1e-9)
        )

    def result(self) -> Replies:
        """Return the replies to the requests."""
        new = [recorded.reply for recorded in self.answered.values()]
        replies = {key: self.journal.replies[key] for key in self.requests if key in self.journal.replies}
        return Replies(
            replies=replies,
            failures=self.failures,
            reused=len(self.known),
            asked=len(new),
            cost=sum(reply.cost for reply in new),
            prompt_tokens=sum(reply.prompt_tokens for reply in new),
            completion_tokens=sum(reply.completion_tokens for reply in new),
            total_cost=self.journal.cost,
            possible_cost=self.journal.possible_cost,
            unanswered=sum(map(len, self.journal.unanswered.values())),
            seconds=time.monotonic() - self.begin,
            stopped_by=self.stopped_by,
        )
