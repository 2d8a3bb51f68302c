"""Qdrant over HTTP: the nearest points of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.models.encoder import Encoder
from assay.remote.secrets import expand_nested
from assay.search.searchers.configured import ReturnedDocuments
from assay.search.searchers.service import ServiceSearcher
from assay.search.searchers.templates import JsonPath, fill_template


class Qdrant(ServiceSearcher):
    """Searches a collection; `document` is the payload field with the id, if it is not that of the point."""

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        *,
        url: str,
        collection: str,
        using: str | None = None,
        params: dict[str, Any] | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002  # Qdrant's own name
        document: str | None = None,
        api_key: str | None = None,
    ) -> None:
        request: dict[str, Any] = {"using": using, "params": params, "filter": filter}
        settings = {"url": url, "collection": collection, **request, "document": document, "api_key": api_key}
        super().__init__(name, settings, encoder, encodes=True)
        self._connect(url, {"api-key": api_key} if api_key else None)
        request["with_payload"] = [document] if document else None
        self._template = {k: expand_nested(k, value) for k, value in request.items() if value is not None}
        self._path = f"{self._client.base_path}/collections/{quote(collection, safe='')}/points/query"
        self._ids = JsonPath(f"$.result.points[*].{f'payload.{document}' if document else 'id'}", "document")

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the nearest points."""
        body = {"query": values["vector"], "limit": k, **fill_template(self._template, values)}
        answer = self._client.call("POST", self._path, body, timeout=timeout)
        return zip(self._ids.all(answer), JsonPath("$.result.points[*].score").all(answer), strict=True)
