"""A run whose digest and first documents are known once it has been read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Ints
from assay.core.digests import DigestedRun
from assay.core.groups import RunBlocks, Segments
from assay.core.score_order import ScoreOrder

DEFAULT_DEPTH = 20


class TopDocuments(NamedTuple):
    """The first documents of some queries: how many each has, and their ids, best first."""

    query_ids: Sequence[str]
    counts: Ints
    doc_ids: Sequence[str]


class RecordedRun(DigestedRun):
    """A run whose digest is computed and whose first documents are collected while its blocks are read."""

    def __init__(self, run: RunBlocks, depth: int = DEFAULT_DEPTH, order: ScoreOrder | None = None) -> None:
        super().__init__(run)
        self._depth, self._order = depth, order or ScoreOrder()
        self.tops: list[TopDocuments] = []  # of the blocks read so far

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return the blocks, and collect the first documents of their queries."""
        self.tops = []
        for block in super().convert_blocks(blocks):
            ordered = block.with_values(self._order.convert(block.values))
            counts, ids = ordered.top(np.arange(len(block.query_ids)), self._depth)
            self.tops.append(TopDocuments(block.query_ids, counts, ids.tolist()))
            yield block


def first_documents(run: RunBlocks, depth: int = DEFAULT_DEPTH) -> list[TopDocuments]:
    """Return the first documents of a run, which is read once.

    >>> from assay.core.tables import Run
    >>> first_documents(Run({"q": {"a": 1.0, "b": 2.0}}))[0].doc_ids
    ['b', 'a']
    """
    recorded = RecordedRun(run, depth)
    for _ in recorded.blocks():
        pass
    return recorded.tops
