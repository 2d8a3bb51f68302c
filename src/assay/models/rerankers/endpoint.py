"""Endpoints with the /v1/rerank of Cohere and Jina."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.models.endpoint import EndpointSettings, ModelEndpoint, parse_items, read_count
from assay.models.model import Usage
from assay.models.reranker import Reranker


class EndpointReranker(Reranker):
    """Scores each text by the relevance that the endpoint returns."""

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
        self.price, self.price_searches = price, price_searches  # per 1M tokens, per 1,000 searches
        self._client = ModelEndpoint(EndpointSettings(base_url, key_env, timeout))

    def score_texts(self, query: str, texts: list[str]) -> list[float]:
        """Return the score of each text, requested in batches."""
        parts = (texts[start : start + self.batch] for start in range(0, len(texts), self.batch))
        return [score for part in parts for score in self._score_batch(query, part)]

    def _score_batch(self, query: str, texts: list[str]) -> list[float]:
        body = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        response = self._client.post("/rerank", body)
        self.add_usage(self._request_usage(response))
        return parse_items(response, "results", "relevance_score", len(texts), _to_floats)

    def _request_usage(self, response: Any) -> Usage:
        """Return the usage of a request: tokens as counted by Jina, searches as counted by Cohere."""
        tokens = read_count(response, "usage.total_tokens", is_required=bool(self.price))
        path = "meta.billed_units.search_units"
        searches = read_count(response, path, is_required=bool(self.price_searches))
        cost = tokens * self.price / 1e6 + searches * self.price_searches / 1e3
        return Usage(tokens, 1, cost)

    def configuration(self) -> Mapping[str, Any]:
        """Return the model and its endpoint, without the key."""
        return {"name": self.name, "model": self.model, "base_url": self._client.settings.base_url}

    def identity(self) -> Mapping[str, Any]:
        """Return the configuration with the prices that are set."""
        prices = {"price": self.price, "price_searches": self.price_searches}
        return {**self.configuration(), **{name: price for name, price in prices.items() if price}}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _to_floats(scores: list[Any]) -> list[float]:
    return [float(score) for score in scores]
