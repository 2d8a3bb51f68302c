"""Retries of transient failures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import sleep
from typing import TypeVar

from assay.remote.errors import RemoteError

MAX_RETRY_AFTER = 60.0  # seconds: a call is not repeated if the server asks for a longer pause

T = TypeVar("T")
_retries_disabled: ContextVar[bool] = ContextVar("retries_disabled", default=False)


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is repeated after a transient failure, and the pauses before that.

    The pause before the first retry is `backoff` seconds, and doubles with each further one, up to
    `longest`. It is multiplied by a random factor from `jitter`, so that clients do not retry in step.
    """

    retries: int
    backoff: float = 0.5
    longest: float = math.inf
    jitter: tuple[float, float] = (1.0, 1.5)

    def allows(self, error: RemoteError, attempts: int) -> bool:
        """Return whether a call that failed so often, last with this error, is repeated."""
        is_soon = (error.retry_after or 0.0) <= MAX_RETRY_AFTER
        return error.is_transient and attempts <= self.retries and is_soon

    def pause(self, attempts: int, chance: float) -> float:
        """Return the seconds before the next attempt; `chance` from 0 to 1 chooses the jitter.

        >>> [RetryPolicy(retries=3).pause(attempts, chance=0.0) for attempts in (1, 2, 3)]
        [0.5, 1.0, 2.0]
        """
        low, high = self.jitter
        factor = low + (high - low) * chance
        return min(self.longest, self.backoff * 2.0 ** min(attempts - 1, 60) * factor)


def call_with_retries(call: Callable[[], T], policy: RetryPolicy) -> T:
    """Return the value of a call, repeated as the policy allows; the last RemoteError if all fail."""
    attempts = 0
    while True:
        attempts += 1
        try:
            return call()
        except RemoteError as error:
            if _retries_disabled.get() or not policy.allows(error, attempts):
                raise
            pause = error.retry_after
        sleep(policy.pause(attempts, random.random()) if pause is None else pause)


@contextmanager
def without_retries() -> Iterator[None]:
    """Disable retries within: the caller times each attempt, and repeats it outside of the timing."""
    token = _retries_disabled.set(True)
    try:
        yield
    finally:
        _retries_disabled.reset(token)
