"""Any HTTP endpoint that answers in JSON, by a template of what is asked and paths into what comes back."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from assay.core.secrets import expanded_in
from assay.models.encoder import Encoder
from assay.search.searcher import SearchError
from assay.search.systems.service import MOST, Service
from assay.search.systems.system import Found, System, identity, left
from assay.search.systems.templates import Path, filled, mentioned

_KEPT = "!$%&'()*+,/:;=?@[]~{}"  # what is left as it is written in a URL


class Http(System):
    """An endpoint; `{query}`, `{k}`, `{id}`, `{vector}` and columns of the query are put in url and body.

    Where `{page}` (from 1) or `{offset}` (from 0) stands in them, or `next_page` leads to the URL of the next
    page, pages are asked for until k documents are there, or a page brings nothing new.
    """

    _given = System._given | {"page", "offset"}

    def __init__(
        self,
        name: str,
        encoder: Encoder | None = None,
        *,
        url: str,
        ids: str,
        scores: str | None = None,
        method: str | None = None,
        body: dict[str, Any] | list[Any] | None = None,
        headers: dict[str, str] | None = None,
        auth: str | None = None,
        next_page: str | None = None,
        max_bytes: int = MOST,
    ) -> None:
        settings: dict[str, Any] = {"url": url, "ids": ids, "scores": scores, "method": method, "body": body}
        settings |= {"headers": headers, "auth": auth, "next_page": next_page, "max_bytes": max_bytes}
        super().__init__(name, settings, encoder)
        self._service = Service(url, headers, auth, max_bytes, self._names)
        path = self._service.parts._replace(scheme="", netloc="", fragment="").geturl()
        self._path = quote(path or "/", safe=_KEPT)
        self._template = [url, body]
        self._method, self._body = method or ("GET" if body is None else "POST"), expanded_in("body", body)
        self._ids, self._scores = Path(ids, "ids"), Path(scores, "scores") if scores else None
        self._next = Path(next_page, "next_page") if next_page else None
        self._paged = bool({"page", "offset"} & mentioned(self._template))

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The documents of as many pages as k needs."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        made: dict[str, Any] = {}
        path, page = None, 1
        while True:
            known = {**values, "page": page, "offset": len(made)}
            path = path or filled(self._path, known, _quoted)
            answer = self._service.call(self._method, path, filled(self._body, known), left(end))
            before = len(made)
            for key, score in self._rows(answer):
                made.setdefault(key if type(key) is str and key else identity(key), score)
            path, page = self._following(answer), page + 1
            if len(made) == before or len(made) >= k or not (path or self._paged):
                return made.items()

    def _rows(self, answer: Any) -> Found:
        ids = self._ids.all(answer)
        scores = self._scores.all(answer) if self._scores else [None] * len(ids)
        if len(ids) != len(scores):
            raise SearchError(
                "malformed", f"found {len(ids)} ids and {len(scores)} scores: are the paths right?"
            )
        return zip(ids, scores, strict=True)

    def _following(self, answer: Any) -> str | None:
        """The path of the next page; nobody else is sent there, with our headers."""
        to = self._next.one(answer) if self._next else None
        if not to:
            return None
        here = self._service.parts.geturl()
        there = urlsplit(urljoin(here, str(to)))
        if there[:2] != urlsplit(here)[:2]:
            raise SearchError("malformed", f"the next page is on another server: {there.hostname}")
        return there._replace(scheme="", netloc="", fragment="").geturl()

    def close(self) -> None:
        """Close the connections."""
        self._service.close()


def _quoted(value: Any) -> str:
    return quote(str(value), safe="")
