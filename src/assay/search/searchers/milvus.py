"""Milvus, Zilliz Cloud (`https://…` and a token) and files of milvus-lite: the nearest entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.core.errors import ConfigurationError, MissingExtraError
from assay.models.encoder import Encoder
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt
from assay.remote.secrets import expand_url, expand_variables, refuse_literal_secret
from assay.search.searchers.configured import ConfiguredSearcher, ReturnedDocuments

try:
    from pymilvus import MilvusClient
except ImportError:
    raise MissingExtraError("pymilvus", "searching in Milvus", "milvus") from None

_TIMEOUT_WORDS = ("DEADLINE_EXCEEDED", "timeout", "Timeout")
_CONNECTION_WORDS = ("UNAVAILABLE", "connect", "server unavailable")


class Milvus(ConfiguredSearcher):
    """Searches a collection; `document` is the field with the id, if it is not the primary key.

    `params` are search parameters of its index (`ef`, `nprobe`), `filter` is an expression of Milvus.
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
        filter: str | None = None,  # noqa: A002  # Milvus's own name
        document: str | None = None,
        token: str | None = None,
    ) -> None:
        settings = {"uri": uri, "collection": collection, "field": field, "params": params}
        settings |= {"filter": filter, "document": document, "token": token}
        super().__init__(name, settings, encoder, encodes=True)
        refuse_literal_secret("token", "token", token or "")
        refuse_literal_secret("uri", "password", urlsplit(uri).netloc.rpartition("@")[0])
        self._collection, self._document = collection, document
        options: dict[str, Any] = {
            "search_params": {"params": params or {}},
            "anns_field": field,
            "filter": filter,
        }
        options["output_fields"] = [document] if document else None
        self._search_options = {key: value for key, value in options.items() if value is not None}
        secret = expand_variables("token", token or "")
        try:
            self._client: Any = MilvusClient(expand_url("uri", uri), token=secret)
        except Exception as error:  # raised by the client or by gRPC
            raise ConfigurationError({"uri": f"cannot be reached: {_describe_error(error)}"}) from None

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the nearest entities."""
        try:
            answer = self._client.search(
                self._collection, data=[values["vector"]], limit=k, timeout=timeout, **self._search_options
            )
        except Exception as error:  # raised by the client or by gRPC
            raise _search_error(error) from None
        return [(self._document_id(hit), hit["distance"]) for hit in answer[0]]

    def _document_id(self, hit: Any) -> Any:
        return hit["entity"][self._document] if self._document else hit["id"]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _describe_error(error: Exception) -> str:
    return excerpt(" ".join(str(getattr(error, "message", None) or error).split()), 300)


def _search_error(error: Exception) -> RemoteError:
    reason = _describe_error(error)
    if any(word in reason for word in _TIMEOUT_WORDS):
        return RemoteError("timeout", reason, is_transient=True)
    is_unreachable = any(word in reason for word in _CONNECTION_WORDS)
    return RemoteError("connection" if is_unreachable else "failed", reason, is_transient=is_unreachable)
