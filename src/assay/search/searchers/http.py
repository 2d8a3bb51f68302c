"""Any HTTP endpoint that answers with JSON: a template of the request, and paths into the response."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from assay.models.encoder import Encoder
from assay.remote.deadline import seconds_until
from assay.remote.errors import RemoteError
from assay.remote.secrets import expand_nested
from assay.search.searchers.configured import ReturnedDocuments, document_id, refuse_same_requests
from assay.search.searchers.service import MAX_RESPONSE_BYTES, ServiceSearcher
from assay.search.searchers.templates import JsonPath, fill_template, placeholders

_UNQUOTED = "!$%&'()*+,/:;=?@[]~{}"  # characters of a URL that are sent as they are


class HttpSearcher(ServiceSearcher):
    """Searches an endpoint; url and body contain `{query}`, `{k}`, `{id}`, `{vector}` and columns.

    If they contain `{page}` (from 1) or `{offset}` (from 0), or `next_page` is the path of the URL of the
    next page, pages are requested until there are k documents, or a page has no new ones.
    """

    _standard_values = ServiceSearcher._standard_values | {"page", "offset"}

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
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        settings: dict[str, Any] = {"url": url, "ids": ids, "scores": scores, "method": method, "body": body}
        settings |= {"headers": headers, "auth": auth, "next_page": next_page, "max_bytes": max_bytes}
        super().__init__(name, settings, encoder)
        self._connect(url, headers, auth, max_bytes)
        path = self._client.parts._replace(scheme="", netloc="", fragment="").geturl()
        self._path = quote(path or "/", safe=_UNQUOTED)
        self._template = [url, body]
        refuse_same_requests("url" if body is None else "body", placeholders(self._template))
        self._method, self._body = method or ("GET" if body is None else "POST"), expand_nested("body", body)
        self._ids, self._scores = JsonPath(ids, "ids"), JsonPath(scores, "scores") if scores else None
        self._next = JsonPath(next_page, "next_page") if next_page else None
        self._is_paged = bool({"page", "offset"} & placeholders(self._template))

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the documents of as many pages as k needs."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        documents: dict[str, Any] = {}
        path, page = None, 1
        while True:
            page_values = {**values, "page": page, "offset": len(documents)}
            path = path or fill_template(self._path, page_values, _quote)
            body = fill_template(self._body, page_values)
            answer = self._client.call(self._method, path, body, timeout=seconds_until(end))
            count = len(documents)
            for key, score in self._rows(answer):
                documents.setdefault(key if type(key) is str and key else document_id(key), score)
            path, page = self._next_target(answer), page + 1
            if len(documents) == count or len(documents) >= k or not (path or self._is_paged):
                return documents.items()

    def _rows(self, answer: Any) -> ReturnedDocuments:
        ids = self._ids.all(answer)
        scores = self._scores.all(answer) if self._scores else [None] * len(ids)
        if len(ids) != len(scores):
            raise RemoteError(
                "malformed", f"found {len(ids)} ids and {len(scores)} scores: are the paths right?"
            )
        return zip(ids, scores, strict=True)

    def _next_target(self, answer: Any) -> str | None:
        """Return the path of the next page; another server would receive the headers, so it is refused."""
        next_url = self._next.first(answer) if self._next else None
        if not next_url:
            return None
        current = self._client.parts.geturl()
        target = urlsplit(urljoin(current, str(next_url)))
        if target[:2] != urlsplit(current)[:2]:
            raise RemoteError("malformed", f"the next page is on another server: {target.hostname}")
        return target._replace(scheme="", netloc="", fragment="").geturl()


def _quote(value: Any) -> str:
    return quote(str(value), safe="")
