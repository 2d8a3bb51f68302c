"""What encoders and rerankers have in common: a name, a configuration, and their usage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from threading import Lock, local
from typing import Any, NamedTuple


class Usage(NamedTuple):
    """Tokens, requests and cost so far."""

    tokens: int = 0  # billed tokens, as the endpoint counts them
    requests: int = 0
    cost: float = 0.0  # in the currency of the configured prices

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(self.tokens + other.tokens, self.requests + other.requests, self.cost + other.cost)

    def minus(self, earlier: Usage) -> Usage:
        """Return the usage since an earlier one.

        >>> Usage(30, 2, 0.5).minus(Usage(10, 1, 0.25))
        Usage(tokens=20, requests=1, cost=0.25)
        """
        return self.plus(Usage(-earlier.tokens, -earlier.requests, -earlier.cost))


class Model:
    """A model that may be called from any thread."""

    name: str

    def __init__(self) -> None:
        self._usage_lock, self._usage, self._thread_values = Lock(), Usage(), local()

    @property
    def usage(self) -> Usage:
        """The usage so far."""
        return self._usage

    @property
    def thread_usage(self) -> Usage:
        """The usage so far in the calling thread, so that the usage of one call can be computed."""
        usage: Usage = getattr(self._thread_values, "usage", Usage())
        return usage

    def add_usage(self, usage: Usage) -> None:
        """Add the usage of one request."""
        self._thread_values.usage = self.thread_usage.plus(usage)
        with self._usage_lock:
            self._usage = self._usage.plus(usage)

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that define this model, without secrets: they are shown, stored and hashed."""
        return {"name": self.name}

    def identity(self) -> Mapping[str, Any]:
        """Return the configuration with the prices: they change the cost, and not the result."""
        return self.configuration()

    def close(self) -> None:
        """Release connections and other resources."""


@cache
def library_version(name: str) -> str:
    """Return the name of a library with its installed version."""
    return f"{name} {version(name)}"
