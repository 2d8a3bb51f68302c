"""One attempt to ask a query: an answer that can be scored, or an error without secrets."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from contextlib import nullcontext, redirect_stdout
from threading import current_thread, main_thread
from typing import Any

from assay.core.errors import InputError, describe_exception
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt
from assay.remote.secrets import variable_names
from assay.search.searcher import Answer, Query, RankedDocuments, Searcher, sort_ranking

_MAX_REASON_LENGTH = 300  # characters of an error
_INVALID_ID_CHARACTERS = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs
_MAX_SECONDS = 1e6  # waiting longer raises OverflowError


class Attempt:
    """Asks a query once."""

    def __init__(self, searcher: Searcher, k: int, timeout: float) -> None:
        self._searcher, self._k, self._timeout = searcher, k, timeout
        self._names = variable_names(repr(searcher.configuration()))

    def __call__(self, query: Query, start: int) -> tuple[int, Answer | RemoteError]:
        """Return when the attempt that began at `start` ended, and its answer or error."""
        try:
            answer = self._searcher.ask(query, self._k, self._timeout)
            end = time.perf_counter_ns()
            return end, _check_latency(check_answer(answer, self._k), end - start, self._timeout)
        except RemoteError as error:
            return time.perf_counter_ns(), error.with_reason(self.redact(error.reason))
        except BaseException as error:  # any error ends this query, and not the run
            end, reason = time.perf_counter_ns(), self.redact(describe_exception(error))
            return end, RemoteError("failed", reason)

    def redact(self, reason: str) -> str:
        """Return what is kept of the reason of an error: no secrets, no whole page, and valid text."""
        return excerpt(reason, _MAX_REASON_LENGTH, self._names).encode(errors="replace").decode()


def check_answer(answer: Any, k: int) -> Answer:
    """Return an answer in order and cut to k; a RemoteError if it cannot be scored and stored."""
    if not isinstance(answer, Answer):
        raise RemoteError("malformed", f"expected an Answer, found {type(answer).__name__}")
    stages = tuple(stage._replace(documents=_check_ranking(stage.documents)) for stage in answer.stages)
    return answer._replace(documents=_check_ranking(answer.documents)[:k], stages=stages)


def _check_ranking(documents: Any) -> RankedDocuments:
    try:
        pairs = [(document, float(score)) for document, score in documents]
    except (TypeError, ValueError):
        raise RemoteError("malformed", "expected documents as pairs of an id and a score") from None
    for document, score in pairs:
        if not isinstance(document, str) or not document or score != score:
            raise RemoteError("malformed", f"expected text and a number, found {document!r} and {score}")
    if len({document for document, _ in pairs}) < len(pairs):
        repeated = next(document for document, count in Counter(d for d, _ in pairs).items() if count > 1)
        raise RemoteError("malformed", f"document {repeated!r} appears twice in the answer")
    if match := _INVALID_ID_CHARACTERS.search("\n".join(document for document, _ in pairs)):
        raise RemoteError("malformed", f"expected ids of text, found {match[0]!r} in one")
    return sort_ranking(pairs)


def _check_latency(answer: Answer, nanoseconds: int, timeout: float) -> Answer:
    if nanoseconds > timeout * 1e9:
        reason = f"answered only after {nanoseconds / 1e9:.3g} s; the limit was {timeout:g} s"
        raise RemoteError("timeout", reason)
    return answer


def check_time_setting(name: str, value: float) -> None:
    """Refuse seconds, or requests per second, for which a thread cannot wait."""
    if not 1 / _MAX_SECONDS <= value <= _MAX_SECONDS:
        raise InputError(f"{name}: expected more than 0 and at most {_MAX_SECONDS:,.0f}, found {value:g}")


def stdout_to_stderr() -> redirect_stdout[Any] | nullcontext[None]:
    """Redirect standard output of all threads to standard error; only the main thread may do that."""
    return redirect_stdout(sys.stderr) if current_thread() is main_thread() else nullcontext()
