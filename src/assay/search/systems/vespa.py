"""Vespa over HTTP: a YQL query, by text or by vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.http import message
from assay.core.secrets import expanded_in
from assay.models.encoder import Encoder
from assay.search.searcher import SearchError
from assay.search.systems.service import Service
from assay.search.systems.system import Found, System, shown
from assay.search.systems.templates import Path, filled, mentioned


class Vespa(System):
    """The search of a container.

    The words of a query are never put in `yql`: give them in `parameters` (`query = "{query}"`) and write
    `userQuery()`; a vector likewise (`"input.query(q)" = "{vector}"`). `document` is the path of the id in a
    hit; of an id like `id:space:type::7` the last part counts.
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
        asked = {"yql": yql, "ranking": ranking, **expanded_in("parameters", parameters or {})}
        settings = {"url": url, "yql": yql, "ranking": ranking, "parameters": parameters}
        super().__init__(name, {**settings, "document": document, "headers": headers}, encoder)
        if mentioned(yql) - {"k"}:
            said = 'only {k} may stand in it; give parameters = { query = "{query}" } and write userQuery()'
            raise ConfigurationError({"yql": said})
        self._service = Service(url, headers, names=self._names)
        self._template = {key: value for key, value in asked.items() if value is not None}
        self._path = f"{self._service.parts.path.rstrip('/')}/search/"
        self._id = Path(f"$.{document}", "document")

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The hits; an answer from a part of the content is none."""
        body = {**filled(self._template, values), "hits": k}
        body |= {} if timeout is None else {"timeout": f"{timeout:g}s"}
        answer = self._service.call("POST", self._path, body, timeout)
        root = Path("$.root").one(answer)
        if not isinstance(root, dict):
            raise SearchError("malformed", f"{self._service.where} answered without a root: {shown(answer)}")
        if root.get("errors"):
            raise SearchError("failed", f"{self._service.where} failed: {message(root['errors'])}")
        if not root.get("coverage", {}).get("full", True):
            raise SearchError("failed", f"{self._service.where} searched only a part", again=True)
        hits = root.get("children", [])
        return [(_last(self._id.all(hit)[0]), hit.get("relevance")) for hit in hits]

    def close(self) -> None:
        """Close the connections."""
        self._service.close()


def _last(key: Any) -> Any:
    return key.partition("::")[2] if isinstance(key, str) and key.startswith("id:") and "::" in key else key
