"""Qdrant over HTTP: the nearest points of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.core.secrets import expanded_in
from assay.models.encoder import Encoder
from assay.search.systems.service import Service
from assay.search.systems.system import Found, System
from assay.search.systems.templates import Path, filled


class Qdrant(System):
    """A collection; `document` is the field of the payload with the id, where the point's own is not it."""

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        *,
        url: str,
        collection: str,
        using: str | None = None,
        params: dict[str, Any] | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002  # the engine's own word
        document: str | None = None,
        api_key: str | None = None,
    ) -> None:
        asked: dict[str, Any] = {"using": using, "params": params, "filter": filter}
        settings = {"url": url, "collection": collection, **asked, "document": document, "api_key": api_key}
        super().__init__(name, settings, encoder, encodes=True)
        self._service = Service(url, {"api-key": api_key} if api_key else None, names=self._names)
        asked["with_payload"] = [document] if document else None
        self._template = {k: expanded_in(k, value) for k, value in asked.items() if value is not None}
        self._path = (
            f"{self._service.parts.path.rstrip('/')}/collections/{quote(collection, safe='')}/points/query"
        )
        self._ids = Path(f"$.result.points[*].{f'payload.{document}' if document else 'id'}", "document")

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The nearest points."""
        body = {"query": values["vector"], "limit": k, **filled(self._template, values)}
        answer = self._service.call("POST", self._path, body, timeout)
        return zip(self._ids.all(answer), Path("$.result.points[*].score").all(answer), strict=True)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()
