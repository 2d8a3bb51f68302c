"""OpenSearch and Elasticsearch: the query DSL as a template, by text or by vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.models.encoder import Encoder
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt
from assay.remote.secrets import expand_nested
from assay.search.searchers.configured import ReturnedDocuments, refuse_same_requests
from assay.search.searchers.service import ServiceSearcher
from assay.search.searchers.templates import JsonPath, fill_template, placeholders

_TEXT_QUERY = {"query": {"multi_match": {"query": "{query}"}}}


class OpenSearch(ServiceSearcher):
    """Searches an index by `_search`: `body` is its request, to which the number of documents is added.

    It contains `{query}`, `{k}`, `{vector}` and columns of the query; without it, all fields are searched
    for the text. `document` is the path of the id in a hit: `_id`, or a field such as `_source.doc_id`.
    """

    def __init__(
        self,
        name: str,
        encoder: Encoder | None = None,
        *,
        url: str,
        index: str,
        body: dict[str, Any] | None = None,
        document: str = "_id",
        headers: dict[str, str] | None = None,
        auth: str | None = None,
    ) -> None:
        _, has_source, field = document.partition("_source.")
        request = {"size": "{k}", "_source": [field] if has_source else False, **(body or _TEXT_QUERY)}
        settings = {"url": url, "index": index, "body": request, "document": document}
        super().__init__(name, {**settings, "headers": headers, "auth": auth}, encoder)
        self._connect(url, headers, auth)
        refuse_same_requests("body", placeholders(request))
        self._template = expand_nested("body", request)
        self._path = f"{self._client.base_path}/{index}/_search"
        self._ids = JsonPath(f"$.hits.hits[*].{document}", "document")

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the hits; results from a part of the shards are an error."""
        body = fill_template(self._template, values)
        answer = self._client.call("POST", self._path, body, timeout=timeout)
        if not isinstance(answer, dict) or "hits" not in answer:
            raise RemoteError("malformed", f"{self._client.label} answered without hits: {excerpt(answer)}")
        if answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
            reason = f"{self._client.label} searched only a part: it timed out, or a shard failed"
            raise RemoteError("failed", reason, is_transient=True)
        return zip(self._ids.all(answer), JsonPath("$.hits.hits[*]._score").all(answer), strict=True)
