"""Weaviate over GraphQL: the objects of a class nearest to a vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import ConfigurationError
from assay.models.encoder import Encoder
from assay.remote.errors import RemoteError
from assay.remote.http import bearer_header, error_message
from assay.search.searchers.configured import ReturnedDocuments
from assay.search.searchers.service import ServiceSearcher
from assay.search.searchers.templates import JsonPath


class Weaviate(ServiceSearcher):
    """Searches a class (`collection`); `document` is the property with the id, if it is not the UUID."""

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
        self._connect(url, bearer_header(api_key))
        self._path, self._class = f"{self._client.base_path}/v1/graphql", collection
        self._fields = f"{document + ' ' if document else ''}_additional {{ id distance }}"
        objects = f"$.data.Get.{collection}[*]"
        self._ids = JsonPath(f"{objects}.{document or '_additional.id'}", "document")
        self._distances = JsonPath(f"{objects}._additional.distance")

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the nearest objects."""
        arguments = f"limit: {k}, nearVector: {{vector: {values['vector']}}}"
        request = {"query": f"{{ Get {{ {self._class}({arguments}) {{ {self._fields} }} }} }}"}
        answer = self._client.call("POST", self._path, request, timeout=timeout)
        if isinstance(answer, dict) and answer.get("errors"):
            raise RemoteError("failed", f"{self._client.label} failed: {error_message(answer['errors'])}")
        return zip(self._ids.all(answer), self._distances.all(answer), strict=True)
