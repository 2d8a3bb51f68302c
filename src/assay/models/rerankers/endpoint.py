"""An endpoint that speaks /v1/rerank as Cohere and Jina do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.models.http import Client, Settings
from assay.models.model import ModelError, Usage
from assay.models.reranker import Reranker


class Endpoint(Reranker):
    """The relevance that the endpoint gives to each text."""

    name = "endpoint"

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        key_env: str | None = None,
        price: float = 0.0,
        price_searches: float = 0.0,
        batch: int = 1000,
        timeout: float = 60.0,
    ) -> None:
        super().__init__()
        self.model, self.batch = model, batch
        self.price, self.price_searches = price, price_searches  # of 1M tokens, of 1,000 searches
        self._client = Client(Settings(base_url, key_env, timeout))

    def scored(self, query: str, texts: list[str]) -> list[float]:
        """The score of each text, asked for in batches."""
        parts = (texts[at : at + self.batch] for at in range(0, len(texts), self.batch))
        return [score for part in parts for score in self._ranked(query, part)]

    def _ranked(self, query: str, texts: list[str]) -> list[float]:
        body = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        answer = self._client.post("/rerank", body)
        self.used(self._paid(answer))
        return _scores(answer, len(texts))

    def _paid(self, answer: Any) -> Usage:
        """What a request used: tokens as Jina counts them, searches as Cohere does."""
        tokens = _told(answer, self.price, "usage", "total_tokens")
        searches = _told(answer, self.price_searches, "meta", "billed_units", "search_units")
        cost = tokens * self.price / 1e6 + searches * self.price_searches / 1e3
        return Usage(tokens, 1, cost)

    def configuration(self) -> Mapping[str, Any]:
        """The model and where it is asked, without the key."""
        return {"name": self.name, "model": self.model, "base_url": self._client.settings.base_url}

    def identity(self) -> Mapping[str, Any]:
        """The same, with the prices that there are."""
        prices = {"price": self.price, "price_searches": self.price_searches}
        return {**self.configuration(), **{name: price for name, price in prices.items() if price}}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _told(answer: Any, price: float, *path: str) -> int:
    """A count in an answer; what has a price must be there."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    if price and not isinstance(answer, int):
        raise ModelError(
            "malformed", f"the endpoint does not say {'.'.join(path)}: no cost; leave out its price"
        )
    return answer if isinstance(answer, int) else 0


def _scores(answer: Any, count: int) -> list[float]:
    """The scores in the order of the texts; the endpoint answers best first."""
    try:
        found = {int(item["index"]): float(item["relevance_score"]) for item in answer["results"]}
        if len(answer["results"]) == count:
            return [found[at] for at in range(count)]
    except (KeyError, TypeError, ValueError):
        pass
    raise ModelError("malformed", f"expected {count} results with index and relevance_score, each index once")
