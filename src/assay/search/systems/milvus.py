"""Milvus, Zilliz Cloud (`https://…` and a token) and files of milvus-lite: the nearest of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.core.errors import ConfigurationError, MissingExtraError
from assay.core.secrets import expanded, expanded_url, refuse_written
from assay.models.encoder import Encoder
from assay.search.searcher import SearchError
from assay.search.systems.system import Found, System, shown

try:
    from pymilvus import MilvusClient
except ImportError:
    raise MissingExtraError("pymilvus", "searching in Milvus", "milvus") from None

_LATE = ("DEADLINE_EXCEEDED", "timeout", "Timeout")
_GONE = ("UNAVAILABLE", "connect", "server unavailable")


class Milvus(System):
    """A collection; `document` is the field with the id, where the primary key is not it.

    `params` are those of its index (`ef`, `nprobe`), `filter` is an expression of Milvus.
    """

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        *,
        uri: str,
        collection: str,
        field: str | None = None,
        params: dict[str, Any] | None = None,
        filter: str | None = None,  # noqa: A002  # the engine's own word
        document: str | None = None,
        token: str | None = None,
    ) -> None:
        settings = {"uri": uri, "collection": collection, "field": field, "params": params}
        settings |= {"filter": filter, "document": document, "token": token}
        super().__init__(name, settings, encoder, encodes=True)
        refuse_written("token", "token", token or "")
        refuse_written("uri", "password", urlsplit(uri).netloc.rpartition("@")[0])
        self._collection, self._document = collection, document
        how: dict[str, Any] = {
            "search_params": {"params": params or {}},
            "anns_field": field,
            "filter": filter,
        }
        how["output_fields"] = [document] if document else None
        self._how = {key: value for key, value in how.items() if value is not None}
        secret = expanded("token", token or "")
        try:
            self._client: Any = MilvusClient(expanded_url("uri", uri), token=secret)
        except Exception as error:  # of the client or of gRPC
            raise ConfigurationError({"uri": f"cannot be reached: {_said(error)}"}) from None

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The nearest entities."""
        try:
            answer = self._client.search(
                self._collection, data=[values["vector"]], limit=k, timeout=timeout, **self._how
            )
        except Exception as error:  # of the client or of gRPC
            raise _failed(error) from None
        return [(self._key(hit), hit["distance"]) for hit in answer[0]]

    def _key(self, hit: Any) -> Any:
        return hit["entity"][self._document] if self._document else hit["id"]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _said(error: Exception) -> str:
    return shown(" ".join(str(getattr(error, "message", None) or error).split()), 300)


def _failed(error: Exception) -> SearchError:
    said = _said(error)
    if any(word in said for word in _LATE):
        return SearchError("timeout", said, again=True)
    gone = any(word in said for word in _GONE)
    return SearchError("connection" if gone else "failed", said, again=gone)
