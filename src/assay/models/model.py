"""What encoders and rerankers have in common: a name, a configuration, and what they used."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from threading import Lock, local
from typing import Any, NamedTuple

from assay.core.errors import AssayError

_asked_once: ContextVar[bool] = ContextVar("asked_once", default=False)
_end: ContextVar[float] = ContextVar("end", default=math.inf)


@contextmanager
def asked_once() -> Iterator[None]:
    """Within, no request is repeated: somebody times a query, and repeats it outside of the clock."""
    before = _asked_once.set(True)
    try:
        yield
    finally:
        _asked_once.reset(before)


def may_repeat() -> bool:
    """Whether a request may be repeated."""
    return not _asked_once.get()


@contextmanager
def until(end: float) -> Iterator[None]:
    """Within, a request is waited for until this moment (of time.monotonic) and no longer."""
    before = _end.set(min(end, _end.get()))
    try:
        yield
    finally:
        _end.reset(before)


def time_left() -> float:
    """The seconds that a request may take."""
    return _end.get() - time.monotonic()


class Usage(NamedTuple):
    """What was used so far."""

    tokens: int = 0  # that somebody is paid for, as the endpoint counts them
    requests: int = 0
    cost: float = 0.0  # in the currency of the prices that were given

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(self.tokens + other.tokens, self.requests + other.requests, self.cost + other.cost)

    def minus(self, earlier: Usage) -> Usage:
        """What was used since.

        >>> Usage(30, 2, 0.5).minus(Usage(10, 1, 0.25))
        Usage(tokens=20, requests=1, cost=0.25)
        """
        return self.plus(Usage(-earlier.tokens, -earlier.requests, -earlier.cost))


class ModelError(AssayError):
    """A model gave nothing usable: `kind` says how, `again` whether asking again may help, `after` when."""

    def __init__(self, kind: str, said: str, *, again: bool = False, after: float | None = None) -> None:
        self.kind, self.said, self.again, self.after = kind, said, again, after
        super().__init__(f"{kind}: {said}")


class Model:
    """A model that may be called from any thread."""

    name: str

    def __init__(self) -> None:
        self._counting, self._usage, self._own = Lock(), Usage(), local()

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        return self._usage

    @property
    def usage_here(self) -> Usage:
        """What was used so far in the thread that asks, so that one call can be told from its neighbours."""
        made: Usage = getattr(self._own, "usage", Usage())
        return made

    def used(self, more: Usage) -> None:
        """Count what one request used."""
        self._own.usage = self.usage_here.plus(more)
        with self._counting:
            self._usage = self._usage.plus(more)

    def configuration(self) -> Mapping[str, Any]:
        """What makes it this model and no other, without secrets: it is shown, stored and hashed."""
        return {"name": self.name}

    def identity(self) -> Mapping[str, Any]:
        """The configuration with the prices: they change no answer, but what it cost."""
        return self.configuration()

    def close(self) -> None:
        """Let go of what is held."""


@cache
def library(name: str) -> str:
    """A library with the version that is installed."""
    return f"{name} {version(name)}"
