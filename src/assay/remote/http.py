"""The HTTP client: JSON over kept connections, with one error for everything that can go wrong."""

from __future__ import annotations

import base64
import json
import math
import ssl
import time
from collections.abc import Mapping, Set
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from assay.core.errors import InputError
from assay.remote.connection import CONNECTION_ERRORS, HttpConnection, Response, ResponseTooLargeError
from assay.remote.deadline import seconds_left
from assay.remote.errors import RemoteError
from assay.remote.redaction import redact, redact_login
from assay.remote.secrets import is_secret

_TRANSIENT_STATUSES = (408, 425, 429)  # so are those of 500 and above
_MAX_EXCERPT_SOURCE = 100_000  # bytes of a body that are searched for an error message
_MIN_CREDENTIAL_LENGTH = 4  # characters: a shorter value would be found in ordinary words


class HttpClient:
    """A server that is called with JSON, from any thread.

    `headers` are sent with every request, besides the login in the URL. `secrets` are the names of
    environment variables whose values are taken out of error messages. A call is sent once: repeating
    it is up to the caller (`assay.remote.retry`).
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        label: str | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        secrets: Set[str] = frozenset(),
    ) -> None:
        self.parts = parse_url(url, ("http", "https"))
        port = f":{self.parts.port}" if self.parts.port else ""
        self.label = label or f"{self.parts.scheme}://{self.parts.hostname}{port}"
        self.base_path = self.parts.path.rstrip("/")
        self.headers = {"Accept": "application/json", **url_auth_header(self.parts), **(headers or {})}
        self.timeout, self.max_bytes, self._secrets = timeout, max_bytes, frozenset(secrets)
        self._credentials = _credentials(self.headers)
        self._connections: list[HttpConnection] = []  # all that were opened
        self._idle: list[HttpConnection] = []

    def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        timeout: float | None = None,
        content_type: str = "application/json",
        allow_empty: bool = False,
    ) -> Any:
        """Return the JSON of the response; a RemoteError if there is none, or its status is no success.

        `target` is an absolute path, with the query if there is one. Bytes are sent as they are, any
        other body as JSON. With `allow_empty` the value of an empty response is None.
        """
        content = body if isinstance(body, bytes) or body is None else compact_json(body)
        headers = self.headers if content is None else {**self.headers, "Content-Type": content_type}
        response = self._exchange(method, target, content, headers, timeout)
        if not 200 <= response.status < 300:
            raise self._status_error(response)
        return None if allow_empty and not response.body else self._parse(response)

    def _exchange(
        self,
        method: str,
        target: str,
        content: bytes | None,
        headers: Mapping[str, str],
        timeout: float | None,
    ) -> Response:
        limits = (timeout, self.timeout, seconds_left())
        seconds = min(math.inf if limit is None else limit for limit in limits)
        try:
            return self._send(method, target, content, headers, seconds)
        except TimeoutError:
            reason = f"{self.label} did not answer in {max(0.0, seconds):.3g} s"
            raise RemoteError("timeout", reason, is_transient=True) from None
        except ResponseTooLargeError as error:
            raise RemoteError("too large", f"{self.label} answered with {error}") from None
        except CONNECTION_ERRORS as error:
            is_untrusted = isinstance(error, ssl.SSLCertVerificationError)
            reason = f"{self.label} cannot be reached: {self._redact(_error_text(error))}"
            raise RemoteError("connection", reason, is_transient=not is_untrusted) from None

    def _send(
        self,
        method: str,
        target: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float,
    ) -> Response:
        if seconds <= 0:
            raise TimeoutError
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = HttpConnection(self.parts, self.max_bytes)
            self._connections.append(connection)
        try:
            timeout = None if math.isinf(seconds) else seconds
            return connection.request(method, target, content, headers, timeout)
        finally:
            self._idle.append(connection)

    def _status_error(self, response: Response) -> RemoteError:
        status = response.status
        if 300 <= status < 400:
            location = urlsplit(response.headers.get("Location", ""))
            url = self._redact(location._replace(query="", fragment="").geturl()) or "nowhere"
            reason = f"{self.label} answered {status} and redirects to {url}: use that as url"
            return RemoteError("status", reason, status=status)
        return RemoteError(
            "limited" if status == 429 else "status",
            f"{self.label} answered {status}: {self._redact(_body_text(response))[:300]}",
            is_transient=status >= 500 or status in _TRANSIENT_STATUSES,
            retry_after=parse_retry_after(response.headers.get("Retry-After")),
            status=status,
        )

    def _parse(self, response: Response) -> Any:
        try:
            return json.loads(response.body)
        except ValueError as error:
            content_type = response.headers.get("Content-Type") or "json"
            is_json = "json" in content_type.lower()
            problem = f"no JSON ({error})" if is_json else f"{content_type}, expected JSON"
        text = self._redact(response.body[:_MAX_EXCERPT_SOURCE].decode(errors="replace"))[:60]
        raise RemoteError("malformed", f"{self.label} answered with {problem}: {text!r}")

    def _redact(self, text: str) -> str:
        """Return a text without secrets, nor credentials as they are sent; cut a text only afterwards."""
        text = redact(text, self._secrets)
        for credential in self._credentials:
            text = text.replace(credential, "…")
        return text

    def close(self) -> None:
        """Close all connections; the next call opens a new one."""
        for connection in self._connections:
            connection.close()


def _credentials(headers: Mapping[str, str]) -> list[str]:
    """Return the values of secret headers, without the scheme (Basic, Bearer) before them."""
    values = [value.rpartition(" ")[2] for name, value in headers.items() if is_secret(name)]
    return [value for value in values if len(value) >= _MIN_CREDENTIAL_LENGTH]


def parse_url(url: str, schemes: tuple[str, ...]) -> SplitResult:
    """Return the parts of the URL of a server; an InputError if it is none of these schemes."""
    try:
        parts = urlsplit(url)
        if parts.scheme in schemes and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # the port is not a number
        pass
    raise InputError(f"url: expected {schemes[0]}://HOST:PORT, found {redact_login(url)!r}")


def bearer_header(api_key: str | None) -> dict[str, str]:
    """Return the header of an API key; none if there is no key."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def basic_auth_header(login: str) -> dict[str, str]:
    """Return the header of a login, given as NAME:PASSWORD.

    >>> basic_auth_header("ada:p@ss")
    {'Authorization': 'Basic YWRhOnBAc3M='}
    """
    return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


def url_auth_header(parts: SplitResult) -> dict[str, str]:
    """Return the header of the login in a URL; none if there is no login."""
    if parts.username is None:
        return {}
    return basic_auth_header(f"{unquote(parts.username)}:{unquote(parts.password or '')}")


def compact_json(value: Any) -> bytes:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def error_message(body: Any) -> str:
    """Return the message in the JSON body of an error, wherever the server puts it.

    >>> error_message({"error": {"type": "x", "reason": "no such index"}, "status": 404})
    'no such index'
    >>> error_message({"status": {"error": "Not found"}, "time": 0.1})
    'Not found'
    """
    if isinstance(body, dict):
        keys = ("error", "errors", "reason", "message", "status", "root")
        messages = (error_message(body[key]) for key in keys if body.get(key))
        return next(messages, redact(json.dumps(body))[:300])
    if isinstance(body, list):
        return error_message(body[0]) if body else "no reason given"
    return str(body or "no reason given")


def _body_text(response: Response) -> str:
    try:
        return error_message(json.loads(response.body))
    except ValueError:
        text = response.body[:_MAX_EXCERPT_SOURCE].decode(errors="replace")
        return " ".join(text.split()) or "no reason given"


def _error_text(error: Exception) -> str:
    message = error.strerror if isinstance(error, OSError) else None
    return message or str(error) or type(error).__name__


def parse_retry_after(header: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as a number or as a date.

    >>> parse_retry_after("3"), parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), parse_retry_after("soon")
    (3.0, 0.0, None)
    """
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
