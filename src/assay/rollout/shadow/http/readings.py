"""What a request asks and what an answer holds, read from their bytes."""

from __future__ import annotations

import json
import zlib
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qs

from assay.core.timing import error_text
from assay.remote.errors import RemoteError
from assay.rollout.shadow.http.calls import RawAnswer
from assay.rollout.shadow.http.frames import MirroredRequest
from assay.rollout.shadow.http.settings import MirrorSettings
from assay.rollout.shadow.records import MAX_HITS, CallAnswer
from assay.search.searchers.configured import document_id
from assay.search.searchers.templates import JsonPath

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 47}


class AnswerReader:
    """Reads requests and answers by the settings of a mirror."""

    def __init__(self, settings: MirrorSettings) -> None:
        self._hits, self._query_path = JsonPath(settings.hits), JsonPath(settings.query_path)
        self._parameter, self._max_body = settings.query_parameter, settings.max_body

    def answer(self, raw: RawAnswer, method: str) -> CallAnswer:
        """Return an answer with the ids of its documents, or why they cannot be read."""
        hits, error, message = None, "", ""
        if raw.status >= 400:
            error, message = ("limited" if raw.status == 429 else "status"), f"status {raw.status}"
        elif method != "HEAD":
            try:
                hits = self._read_hits(raw)
            except RemoteError as problem:
                error, message = problem.kind, problem.reason
            except (ValueError, RecursionError, zlib.error) as problem:
                error, message = "malformed", f"no JSON: {error_text(problem)[:200]}"
        return CallAnswer(raw.latency_ms, hits, error, message, raw.status, raw.size)

    def _read_hits(self, raw: RawAnswer) -> list[str]:
        body = json.loads(_decode(raw.body, raw.encoding, self._max_body))
        return [document_id(value) for value in self._hits.all(body)[:MAX_HITS]]

    def query(self, request: MirroredRequest) -> str | None:
        """Return the text that was searched for; None if the request has none."""
        _, _, query = request.target.partition("?")
        values = parse_qs(query, errors="replace").get(self._parameter)
        if values:
            return values[0]
        return self._body_query(request.body) if request.body else None

    def _body_query(self, body: bytes) -> str | None:
        try:
            value: Any = self._query_path.first(json.loads(body))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, str) else None

    @staticmethod
    def describe(request: MirroredRequest) -> str:
        """Return the method and the path of a request; its parameters may hold secrets."""
        return f"{request.method} {request.target.partition('?')[0]}"

    @staticmethod
    def digest(request: MirroredRequest) -> str:
        """Return a name for what was asked: equal requests have equal ones."""
        content = f"{request.method} {request.target}\n".encode() + request.body
        return blake2b(content, digest_size=12).hexdigest()


def _decode(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return a body without its compression; one that grows beyond the limit is refused."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in _WINDOW_BITS:
        raise RemoteError("malformed", f"expected gzip, deflate or no encoding, found {name[:40]!r}")
    decoder = zlib.decompressobj(_WINDOW_BITS[name])
    content = decoder.decompress(body, max_bytes + 1)
    if len(content) > max_bytes:
        raise RemoteError("too large", f"more than {max_bytes:,} bytes without compression")
    return content
