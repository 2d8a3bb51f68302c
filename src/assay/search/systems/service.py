"""A service that is asked in JSON: one connection for each thread, and what goes wrong said in one way."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Mapping, Set
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from assay.core.errors import ConfigurationError, InputError
from assay.core.http import (
    BROKEN,
    Link,
    Response,
    TooLargeError,
    basic,
    basic_of,
    compact,
    message,
    parsed,
    waiting,
    words,
)
from assay.core.secrets import expanded, expanded_url, hidden, named, refuse_unsendable, refuse_written
from assay.search.searcher import SearchError

MOST = 10_000_000  # bytes of an answer
_AGAIN = (408, 425)  # below 500, and yet worth another try
_LOOKED_AT = 100_000  # bytes of an answer in which words for an error are looked for


class Service:
    """A server, with the headers that every request carries; secrets in them come from the environment."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None,
        auth: str | None = None,
        most: int = MOST,
        names: Set[str] = frozenset(),  # of the environment, whose values are sent as well
    ) -> None:
        _refuse_secrets(url, headers or {}, auth)
        self.parts, self._most = _parsed(url), most
        port = f":{self.parts.port}" if self.parts.port else ""
        self.where = f"{self.parts.scheme}://{self.parts.hostname}{port}"
        self._headers = {"Accept": "application/json", **_expanded(headers or {})}
        self._basic = basic(expanded("auth", auth)) if auth else basic_of(self.parts)
        self._names = named(f"{url} {headers} {auth}").union(names)
        self._own, self._links = threading.local(), list[Link]()

    def call(self, method: str, path: str, body: Any, timeout: float | None) -> Any:
        """What the service answers, read as JSON; a SearchError where that is no success."""
        content = None if body is None else compact(body)
        kind = {} if body is None else {"Content-Type": "application/json"}
        link = self._link()
        link.timeout = timeout
        try:
            answer = link.exchanged(method, path, content, {**self._headers, **self._basic, **kind})
        except TimeoutError:
            raise SearchError("timeout", f"{self.where} did not answer in time", again=True) from None
        except TooLargeError as error:
            raise SearchError("too large", f"{self.where} answered with {error}") from None
        except BROKEN as error:
            raise self._broken(error) from None
        if not 200 <= answer.status < 300:
            raise self._failure(answer)
        return self._read(answer)

    def _link(self) -> Link:
        link: Link | None = getattr(self._own, "link", None)
        if link is None:
            link = self._own.link = Link(self.parts, None, self._most)
            self._links.append(link)
        return link

    def _broken(self, error: Exception) -> SearchError:
        untrusted = isinstance(error, ssl.SSLCertVerificationError)
        return SearchError(
            "connection", f"{self.where} cannot be reached: {words(error)}", again=not untrusted
        )

    def _failure(self, answer: Response) -> SearchError:
        status, after = answer.status, waiting(answer.headers.get("Retry-After"))
        said = f"{self.where} answered {status}"
        if 300 <= status < 400:
            to = urlsplit(answer.headers.get("Location", ""))._replace(query="", fragment="").geturl()
            told = f"{said} and sends to {self._hidden(to) or 'nowhere'}: give that as url"
            return SearchError("status", told)
        said = f"{said}: {self._hidden(_words(answer))[:300]}"
        if status == 429:
            return SearchError("limited", said, again=True, after=after)
        return SearchError("status", said, again=status >= 500 or status in _AGAIN, after=after)

    def _read(self, answer: Response) -> Any:
        kind = answer.headers.get("Content-Type", "json")
        try:
            if "json" in kind.lower():
                return json.loads(answer.body)
            problem = f"{kind}, expected JSON"
        except ValueError as error:
            problem = f"no JSON ({error})"
        shown = self._hidden(answer.body[:_LOOKED_AT].decode(errors="replace"))[:60]
        raise SearchError("malformed", f"{self.where} answered with {problem}: {shown!r}")

    def _hidden(self, text: str) -> str:
        """A text without secrets, nor the name and password as they are sent; only then may it be cut."""
        sent = self._basic.get("Authorization", "Basic …")[6:]
        return hidden(text.replace(sent, "…"), self._names)

    def close(self) -> None:
        """Close the connections of all threads."""
        for link in self._links:
            link.close()


def _refuse_secrets(url: str, headers: Mapping[str, str], auth: str | None) -> None:
    """Refuse secrets that are written down."""
    parts = urlsplit(url)
    refuse_written("url", "password", parts.netloc.rpartition("@")[0])  # a name alone may be a key
    for name, value in parse_qsl(parts.query):
        refuse_written("url", name, "" if value.startswith("{") else value)
    for name, value in headers.items():
        refuse_written(f"headers.{name}", name, value)
    refuse_written("auth", "password", (auth or "").partition(":")[2])


def _parsed(url: str) -> SplitResult:
    try:
        return parsed(expanded_url("url", url), ("http", "https"))
    except ConfigurationError:
        raise
    except InputError:  # it would repeat what the environment has
        raise ConfigurationError({"url": f"expected http://HOST:PORT/…, found {url!r}"}) from None


def _expanded(headers: Mapping[str, str]) -> dict[str, str]:
    made = {name: expanded(f"headers.{name}", value) for name, value in headers.items()}
    for name, value in made.items():
        refuse_unsendable(f"headers.{name}", " and ".join(sorted(named(headers[name]))) or "it", value)
    return made


def _words(answer: Response) -> str:
    try:
        return message(json.loads(answer.body))
    except ValueError:
        return " ".join(answer.body[:_LOOKED_AT].decode(errors="replace").split()) or "no reason given"
