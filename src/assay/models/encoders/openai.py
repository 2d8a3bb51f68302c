"""An endpoint that speaks OpenAI's /v1/embeddings, as many servers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.encoder import Encoder, Prefixes
from assay.models.http import Client, Settings
from assay.models.model import ModelError, Usage


class OpenAI(Encoder):
    """What the endpoint answers; an empty text is sent as a blank, since many refuse an empty one."""

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
        self.model, self.dimensions, self.price = model, dimensions, price  # the price of 1M tokens
        self.batch, self.batch_characters, self.d = batch, batch_characters, dimensions
        self.prefixes = Prefixes(query_prefix, document_prefix)
        self._client = Client(Settings(base_url, key_env, timeout, retries))

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text, asked for in batches."""
        asked = [text or " " for text in self.prefixes.added(texts, role)]
        rows = [self._embedded(batch) for batch in batches(asked, self.batch, self.batch_characters)]
        if len({part.shape[1] for part in rows}) > 1:
            raise ModelError("malformed", "the endpoint answered with vectors of several dimensions")
        return np.concatenate(rows)

    def _embedded(self, texts: list[str]) -> NDArray[Any]:
        body: dict[str, Any] = {"model": self.model, "input": texts, "encoding_format": "float"}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        answer = self._client.post("/embeddings", body)
        self.used(paid(answer, self.price))
        return _rows(answer, len(texts))

    def configuration(self) -> Mapping[str, Any]:
        """The model and where it is asked, without the key."""
        return {
            "name": self.name,
            "model": self.model,
            "base_url": self._client.settings.base_url,
            "dimensions": self.dimensions,
            "prefixes": self.prefixes._asdict(),
        }

    def identity(self) -> Mapping[str, Any]:
        """The same, with the price where there is one."""
        return {**self.configuration(), **({} if self.price is None else {"price": self.price})}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def batches(texts: list[str], count: int, characters: int) -> Iterator[list[str]]:
    """Texts in batches of at most so many texts and characters; a longer text stands alone.

    >>> list(batches(["aa", "b", "cccc", "d"], 2, 3))
    [['aa', 'b'], ['cccc'], ['d']]
    """
    made: list[str] = []
    size = 0
    for text in texts:
        if made and (len(made) == count or size + len(text) > characters):
            yield made
            made, size = [], 0
        made.append(text)
        size += len(text)
    if made:
        yield made


def paid(answer: Any, price: float | None) -> Usage:
    """What a request used, as the endpoint counts it; with a price it must say so."""
    told = answer.get("usage") if isinstance(answer, dict) else None
    tokens = told.get("total_tokens") if isinstance(told, dict) else None
    if price is not None and not isinstance(tokens, int):
        raise ModelError(
            "malformed", "the endpoint does not say usage.total_tokens: no cost; leave out price"
        )
    return Usage(tokens or 0, 1, (tokens or 0) * (price or 0) / 1e6)


def _rows(answer: Any, count: int) -> NDArray[Any]:
    """The vectors in the order of the texts, whatever the order of the answer."""
    try:
        found = {int(item["index"]): item["embedding"] for item in answer["data"]}
        rows = np.array([found[at] for at in range(count)], np.float64)
        if len(answer["data"]) == count and rows.ndim == 2:
            return rows
    except (KeyError, TypeError, ValueError):
        pass
    raise ModelError("malformed", f"expected data with {count} embeddings, index 0 to {count - 1}, once each")
