"""Vespa over HTTP: a YQL query, by text or by vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import ConfigurationError
from assay.models.encoder import Encoder
from assay.remote.errors import RemoteError
from assay.remote.http import error_message
from assay.remote.redaction import excerpt
from assay.remote.secrets import expand_nested
from assay.search.searchers.configured import ReturnedDocuments, refuse_same_requests
from assay.search.searchers.service import ServiceSearcher
from assay.search.searchers.templates import JsonPath, fill_template, placeholders


class Vespa(ServiceSearcher):
    """Searches a container.

    `yql` must not contain the text of a query: pass it in `parameters` (`query = "{query}"`) and write
    `userQuery()`; a vector likewise (`"input.query(q)" = "{vector}"`). `document` is the path of the id
    in a hit; of an id such as `id:space:type::7` the last part is used.
    """

    def __init__(
        self,
        name: str,
        encoder: Encoder | None = None,
        *,
        url: str,
        yql: str,
        ranking: str | None = None,
        parameters: dict[str, Any] | None = None,
        document: str = "id",
        headers: dict[str, str] | None = None,
    ) -> None:
        request = {"yql": yql, "ranking": ranking, **expand_nested("parameters", parameters or {})}
        settings = {"url": url, "yql": yql, "ranking": ranking, "parameters": parameters}
        super().__init__(name, {**settings, "document": document, "headers": headers}, encoder)
        if placeholders(yql) - {"k"}:
            problem = 'expected no {placeholder} but {k}; use parameters = { query = "{query}" }, userQuery()'
            raise ConfigurationError({"yql": problem})
        refuse_same_requests("parameters", placeholders(parameters))
        self._connect(url, headers)
        self._template = {key: value for key, value in request.items() if value is not None}
        self._path = f"{self._client.base_path}/search/"
        self._id = JsonPath(f"$.{document}", "document")

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the hits; results from a part of the content are an error."""
        body = {**fill_template(self._template, values), "hits": k}
        body |= {} if timeout is None else {"timeout": f"{timeout:g}s"}
        answer = self._client.call("POST", self._path, body, timeout=timeout)
        root = JsonPath("$.root").first(answer)
        if not isinstance(root, dict):
            raise RemoteError("malformed", f"{self._client.label} answered without a root: {excerpt(answer)}")
        if root.get("errors"):
            raise RemoteError("failed", f"{self._client.label} failed: {error_message(root['errors'])}")
        if not root.get("coverage", {}).get("full", True):
            raise RemoteError("failed", f"{self._client.label} searched only a part", is_transient=True)
        hits = root.get("children", [])
        return [(_local_id(self._id.all(hit)[0]), hit.get("relevance")) for hit in hits]


def _local_id(key: Any) -> Any:
    return key.partition("::")[2] if isinstance(key, str) and key.startswith("id:") and "::" in key else key
