"""The table Rankings: the first documents of a run for each query, best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import polars as pl

from assay.core.digests import DigestedRun, digest_of
from assay.core.groups import RunBlocks, Segments
from assay.core.score_order import ScoreOrder

DEFAULT_DEPTH = 20
SCHEMA = {"query_id": pl.String(), "rank": pl.UInt32(), "doc_id": pl.String()}


class Rankings:
    """The first documents of each query: query_id, rank from 1, doc_id.

    >>> Rankings(pl.DataFrame({"query_id": ["q", "q"], "rank": [1, 2], "doc_id": ["b", "a"]})).of("q")
    ['b', 'a']
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())

    def of(self, query_id: str) -> list[str]:
        """Return the documents of a query, best first."""
        rows = self.frame.filter(pl.col("query_id") == query_id).sort("rank")
        return rows["doc_id"].to_list()

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        return digest_of(repr(self.frame.sort("query_id", "rank").rows()).encode())

    def __len__(self) -> int:
        return len(self.frame)


def first_documents(run: RunBlocks, depth: int = DEFAULT_DEPTH, order: ScoreOrder | None = None) -> Rankings:
    """Return the first documents of a run, which is read once.

    >>> from assay.core.tables import Run
    >>> first_documents(Run({"q": {"a": 1.0, "b": 2.0}})).of("q")
    ['b', 'a']
    """
    recorded = RecordedRun(run, depth, order)
    for _ in recorded.blocks():
        pass
    return recorded.rankings


class RecordedRun(DigestedRun):
    """A run whose digest is computed and whose first documents are collected while its blocks are read."""

    def __init__(self, run: RunBlocks, depth: int = DEFAULT_DEPTH, order: ScoreOrder | None = None) -> None:
        super().__init__(run)
        self._depth, self._order = depth, order or ScoreOrder()
        self._tops: list[pl.DataFrame] = []

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return the blocks, and collect the first documents of their queries."""
        self._tops = []
        for block in super().convert_blocks(blocks):
            self._tops.append(self._top(block))
            yield block

    def _top(self, block: Segments) -> pl.DataFrame:
        ordered = block.with_values(self._order.convert(block.values))
        lengths, ids = ordered.top(np.arange(len(block.query_ids)), self._depth)
        starts = np.cumsum(lengths) - lengths
        return pl.DataFrame(
            {
                "query_id": np.repeat(np.array(block.query_ids, dtype=object), lengths).tolist(),
                "rank": np.arange(len(ids)) - np.repeat(starts, lengths) + 1,
                "doc_id": ids.tolist(),
            },
            schema_overrides=SCHEMA,
        )

    @property
    def rankings(self) -> Rankings:
        """The first documents of the blocks read so far."""
        return Rankings(pl.concat([pl.DataFrame(schema=SCHEMA), *self._tops]))
