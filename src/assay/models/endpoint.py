"""A model behind an HTTP endpoint: JSON by POST, repeated after transient failures."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from threading import Event, local
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from assay.core.errors import InputError
from assay.remote.errors import RemoteError
from assay.remote.http import HttpClient, bearer_header
from assay.remote.rate_limit import RateLimit
from assay.remote.redaction import redact_login
from assay.remote.retry import MAX_RETRY_AFTER, RetryPolicy, call_with_retries
from assay.remote.secrets import refuse_invalid_header

MAX_RESPONSE_BYTES = 1 << 29
_USUAL_CLIENTS = 16  # threads that are assumed to share a limit
_REFUSED = os.strerror(errno.ECONNREFUSED)  # a request that was never sent is not billed
T = TypeVar("T")


class EndpointSettings(NamedTuple):
    """How an endpoint is called."""

    base_url: str
    key_env: str | None  # the environment variable that holds the key
    timeout: float
    retries: int = 0
    rate: float | None = None  # requests per second of all threads together
    has_shared_pauses: bool = False  # whether a limit that one thread meets pauses all threads


class ModelEndpoint:
    """An endpoint of a model provider, called from any thread."""

    def __init__(self, settings: EndpointSettings) -> None:
        _check_url(settings.base_url)
        self.settings = settings
        self._policy = RetryPolicy(settings.retries, longest=60.0)
        self._thread_values = local()
        self._rate_limit = RateLimit(
            settings.rate, _USUAL_CLIENTS, Event()
        )  # without a rate it does not wait
        self._client = HttpClient(
            settings.base_url,
            bearer_header(_read_key(settings.key_env)),
            label=settings.base_url,
            timeout=settings.timeout,
            max_bytes=MAX_RESPONSE_BYTES,
            secrets={settings.key_env} if settings.key_env else frozenset(),
        )

    def post(self, path: str, body: Any) -> Any:
        """Return the JSON of the response; a RemoteError if all attempts fail."""
        return call_with_retries(lambda: self._call(path, body), self._policy)

    def _call(self, path: str, body: Any) -> Any:
        self._rate_limit.wait_for_turn()
        sent_at = time.perf_counter_ns()
        try:
            value = self._client.call("POST", self._client.base_path + path, body)
        except RemoteError as error:
            if error.kind in ("timeout", "connection") and _REFUSED not in error.reason:
                self._thread_values.lost = self.lost_attempts + 1
            if error.kind == "limited" and self.settings.has_shared_pauses:
                self._rate_limit.slow_down(self._pause(error), sent_at)
            raise error.with_reason(error.reason + self._hint(error)) from None
        self._rate_limit.record_answer()
        return value

    @property
    def lost_attempts(self) -> int:
        """How many attempts of the calling thread so far were cut: they may have been billed."""
        return getattr(self._thread_values, "lost", 0)

    def _pause(self, error: RemoteError) -> float:
        """Return how long all threads pause after a limit."""
        return min(MAX_RETRY_AFTER, self._policy.backoff if error.retry_after is None else error.retry_after)

    def _hint(self, error: RemoteError) -> str:
        if error.kind == "timeout":
            return "; raise timeout"
        variable = self.settings.key_env or "name the variable that holds it by key_env"
        return f"; check the key ({variable})" if error.status in (401, 403) else ""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise InputError(f"base_url: expected https://HOST/v1, found {redact_login(url.partition('?')[0])!r}")
    if parts.username is not None:
        raise InputError("base_url: a URL must not contain a key; name its environment variable by key_env")


def _read_key(variable: str | None) -> str:
    key = os.environ.get(variable, "") if variable else ""
    if variable and not key:
        raise InputError(f"key_env: the environment variable {variable} is not set")
    refuse_invalid_header("key_env", f"the environment variable {variable}", key)
    return key


def read_count(response: Any, path: str, *, is_required: bool) -> int:
    """Return a count in a response, 0 if it is missing; a RemoteError if it is required for the cost.

    >>> read_count({"usage": {"total_tokens": 7}}, "usage.total_tokens", is_required=True)
    7
    """
    value = response
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, int):
        return value
    if is_required:
        reason = f"the response has no {path}, so the cost is unknown; leave out its price"
        raise RemoteError("malformed", reason)
    return 0


def parse_items(response: Any, items: str, field: str, count: int, convert: Callable[[list[Any]], T]) -> T:
    """Return the field of each item, in the order of their `index`, converted to the type of the result.

    >>> response = {"data": [{"index": 1, "x": "b"}, {"index": 0, "x": "a"}]}
    >>> parse_items(response, "data", "x", 2, tuple)
    ('a', 'b')
    """
    try:
        values = {int(item["index"]): item[field] for item in response[items]}
        if len(response[items]) == count:
            return convert([values[index] for index in range(count)])
    except (KeyError, TypeError, ValueError):
        pass
    reason = f"expected {count} {items} with index and {field}, each index from 0 to {count - 1} once"
    raise RemoteError("malformed", reason)
