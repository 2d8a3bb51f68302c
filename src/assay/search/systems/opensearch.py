"""OpenSearch and Elasticsearch: the query DSL as a template, by text or by vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.secrets import expanded_in
from assay.models.encoder import Encoder
from assay.search.searcher import SearchError
from assay.search.systems.service import Service
from assay.search.systems.system import Found, System, shown
from assay.search.systems.templates import Path, filled

_TEXT = {"query": {"multi_match": {"query": "{query}"}}}


class OpenSearch(System):
    """The `_search` of an index: `body` is its request, to which the number of documents is added.

    `{query}`, `{k}`, `{vector}` and columns are put in it; without it, all fields are searched for the words.
    `document` is the path of the id in a hit: `_id`, or a field such as `_source.doc_id`.
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
        _, inside, field = document.partition("_source.")
        asked = {"size": "{k}", "_source": [field] if inside else False, **(body or _TEXT)}
        settings = {"url": url, "index": index, "body": asked, "document": document}
        super().__init__(name, {**settings, "headers": headers, "auth": auth}, encoder)
        self._service = Service(url, headers, auth, names=self._names)
        self._template = expanded_in("body", asked)
        self._path = f"{self._service.parts.path.rstrip('/')}/{index}/_search"
        self._ids = Path(f"$.hits.hits[*].{document}", "document")

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The hits; an answer from a part of the shards is none."""
        answer = self._service.call("POST", self._path, filled(self._template, values), timeout)
        if not isinstance(answer, dict) or "hits" not in answer:
            raise SearchError("malformed", f"{self._service.where} answered without hits: {shown(answer)}")
        if answer.get("timed_out") or answer.get("_shards", {}).get("failed"):
            raise SearchError(
                "failed",
                f"{self._service.where} searched only a part: timed out, or a shard failed",
                again=True,
            )
        return zip(self._ids.all(answer), Path("$.hits.hits[*]._score").all(answer), strict=True)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()
