"""Weaviate over GraphQL: the objects of a class nearest to a vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.http import message
from assay.models.encoder import Encoder
from assay.search.searcher import SearchError
from assay.search.systems.service import Service
from assay.search.systems.system import Found, System
from assay.search.systems.templates import Path


class Weaviate(System):
    """A class (`collection`); `document` is the property with the id, where the object's UUID is not it."""

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        *,
        url: str,
        collection: str,
        document: str | None = None,
        api_key: str | None = None,
    ) -> None:
        settings = {"url": url, "collection": collection, "document": document, "api_key": api_key}
        super().__init__(name, settings, encoder, encodes=True)
        for field, value in {"collection": collection, "document": document or "id"}.items():
            if not value.isidentifier():
                raise ConfigurationError({field: f"expected a name, found {value!r}"})
        self._service = Service(url, {"Authorization": f"Bearer {api_key}"} if api_key else None)
        self._path, self._class = f"{self._service.parts.path.rstrip('/')}/v1/graphql", collection
        self._wanted = f"{document + ' ' if document else ''}_additional {{ id distance }}"
        found = f"$.data.Get.{collection}[*]"
        self._ids = Path(f"{found}.{document or '_additional.id'}", "document")
        self._distances = Path(f"{found}._additional.distance")

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The nearest objects."""
        near = f"limit: {k}, nearVector: {{vector: {values['vector']}}}"
        asked = {"query": f"{{ Get {{ {self._class}({near}) {{ {self._wanted} }} }} }}"}
        answer = self._service.call("POST", self._path, asked, timeout)
        if isinstance(answer, dict) and answer.get("errors"):
            raise SearchError("failed", f"{self._service.where} failed: {message(answer['errors'])}")
        return zip(self._ids.all(answer), self._distances.all(answer), strict=True)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()
