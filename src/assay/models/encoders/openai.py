"""Endpoints with OpenAI's /v1/embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.encoder import Encoder, Prefixes
from assay.models.endpoint import EndpointSettings, ModelEndpoint, parse_items, read_count
from assay.models.model import Usage
from assay.remote.errors import RemoteError


class OpenAI(Encoder):
    """Vectors of an endpoint; an empty text is sent as a space, since many endpoints refuse empty ones."""

    name = "openai"

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "https://api.openai.com/v1",
        key_env: str | None = None,
        dimensions: int | None = None,
        price: float | None = None,
        batch: int = 256,
        batch_characters: int = 200_000,
        timeout: float = 60.0,
        retries: int = 5,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        super().__init__()
        self.model, self.dimensions, self.price = model, dimensions, price  # the price per 1M tokens
        self.batch, self.batch_characters, self.d = batch, batch_characters, dimensions
        self.prefixes = Prefixes(query_prefix, document_prefix)
        self._client = ModelEndpoint(EndpointSettings(base_url, key_env, timeout, retries))

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text, requested in batches."""
        inputs = [text or " " for text in self.prefixes.add_to(texts, role)]
        batches = split_batches(inputs, self.batch, self.batch_characters)
        rows = [self._embed_batch(batch) for batch in batches]
        if len({part.shape[1] for part in rows}) > 1:
            raise RemoteError("malformed", "the endpoint answered with vectors of several dimensions")
        return np.concatenate(rows)

    def _embed_batch(self, texts: list[str]) -> NDArray[Any]:
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        response = self._client.post("/embeddings", body)
        tokens = read_count(response, "usage.total_tokens", is_required=self.price is not None)
        self.add_usage(Usage(tokens, 1, tokens * (self.price or 0) / 1e6))
        return parse_items(response, "data", "embedding", len(texts), _to_matrix)

    def configuration(self) -> Mapping[str, Any]:
        """Return the model and its endpoint, without the key."""
        return {
            "name": self.name,
            "model": self.model,
            "base_url": self._client.settings.base_url,
            "dimensions": self.dimensions,
            "prefixes": self.prefixes._asdict(),
        }

    def identity(self) -> Mapping[str, Any]:
        """Return the configuration with the price if it is set."""
        return {**self.configuration(), **({} if self.price is None else {"price": self.price})}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def split_batches(texts: list[str], max_texts: int, max_characters: int) -> Iterator[list[str]]:
    """Yield batches of at most so many texts and characters; a longer text is a batch of its own.

    >>> list(split_batches(["aa", "b", "cccc", "d"], 2, 3))
    [['aa', 'b'], ['cccc'], ['d']]
    """
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == max_texts or size + len(text) > max_characters):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _to_matrix(vectors: list[Any]) -> NDArray[Any]:
    rows = np.array(vectors, np.float64)
    if rows.ndim != 2:
        raise ValueError("expected vectors of numbers")
    return rows
