"""Simulated logs with known parameters, to check click models and to measure their speed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.arrays import Floats
from assay.core.result_pages import Pages


@dataclass(frozen=True)
class SimulatedQueries:
    """Queries with documents of their own and the chance that each document attracts, by query and document.

    A query is drawn with a chance in proportion to 1 / (its number + 1), as head and tail queries are.
    """

    attraction: NDArray[np.float32]  # query × document
    ranks: int

    @classmethod
    def draw(cls, queries: int, documents: int, ranks: int, rng: np.random.Generator) -> SimulatedQueries:
        """Return queries whose chances are beta-distributed with mean 0.25."""
        return cls(rng.beta(1.0, 3.0, (queries, documents)).astype(np.float32), ranks)

    def draw_pages(self, n: int, rng: np.random.Generator) -> Pages:
        """Return pages without clicks, each with a random choice and order of the query's documents."""
        queries, documents = self.attraction.shape
        shares = 1 / np.arange(1, queries + 1)
        cumulated = np.cumsum(shares / shares.sum())
        chosen = np.minimum(np.searchsorted(cumulated, rng.random(n)), queries - 1).astype(np.int32)
        # a random start and a random step that shares no divisor with the number of documents: no sorting
        steps = np.array([step for step in range(1, documents + 1) if np.gcd(step, documents) == 1])
        start, step = rng.integers(0, documents, n), steps[rng.integers(0, len(steps), n)]
        order = ((start[:, None] + step[:, None] * np.arange(self.ranks)) % documents).astype(np.int32)
        shown = chosen[:, None] * np.int32(documents) + order
        return Pages(
            pl.Series([f"q{query}" for query in range(queries)]),
            pl.Series([f"d{document}" for document in range(queries * documents)]),
            chosen,
            shown,
            np.zeros(shown.shape, bool),
        )

    def attraction_of(self, pages: Pages) -> NDArray[np.float32]:
        """Return the chance of the document at each rank."""
        chances: NDArray[np.float32] = self.attraction.ravel()[pages.documents]
        return chances


def click_by_position(
    pages: Pages, attraction: NDArray[np.float32], examination: Floats, rng: np.random.Generator
) -> Pages:
    """Return the pages with clicks of the position-based model."""
    chances = attraction * examination.astype(np.float32)
    return replace(pages, clicks=rng.random(chances.shape, dtype=np.float32) < chances)


def click_by_last_click(
    pages: Pages, attraction: NDArray[np.float32], examination: Floats, rng: np.random.Generator
) -> Pages:
    """Return the pages with clicks of the user browsing model; `examination` is rank × last click."""
    clicks, rows = np.zeros(attraction.shape, bool), np.arange(len(attraction))
    last = np.zeros(len(attraction), np.int64)
    for rank in range(attraction.shape[1]):
        clicks[:, rank] = rng.random(len(rows)) < attraction[:, rank] * examination[rank, last]
        last = np.where(clicks[:, rank], rank + 1, last)
    return replace(pages, clicks=clicks)


def click_by_cascade(
    pages: Pages,
    attraction: NDArray[np.float32],
    after_click: Floats,
    after_none: float,
    rng: np.random.Generator,
) -> Pages:
    """Return the pages with clicks of somebody who reads from the top and may stop at each rank."""
    clicks, is_reading = np.zeros(attraction.shape, bool), np.ones(len(attraction), bool)
    after_click = np.broadcast_to(after_click, attraction.shape)
    for rank in range(attraction.shape[1]):
        clicks[:, rank] = is_reading & (rng.random(len(attraction)) < attraction[:, rank])
        going_on = np.where(clicks[:, rank], after_click[:, rank], after_none)
        is_reading &= rng.random(len(attraction)) < going_on
    return replace(pages, clicks=clicks)
