"""The table Rankings: the first documents of a run for each query, best first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from assay.core.digests import digest_of
from assay.core.recorded_run import TopDocuments

SCHEMA = {"query_id": pl.String(), "rank": pl.UInt32(), "doc_id": pl.String()}


class Rankings:
    """The first documents of each query: query_id, rank from 1, doc_id.

    >>> Rankings(pl.DataFrame({"query_id": ["q", "q"], "rank": [1, 2], "doc_id": ["b", "a"]})).of("q")
    ['b', 'a']
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())

    @classmethod
    def from_tops(cls, tops: Sequence[TopDocuments]) -> Rankings:
        """Return the table of the first documents of the blocks of a run."""
        return cls(pl.concat([pl.DataFrame(schema=SCHEMA), *map(_to_frame, tops)]))

    def of(self, query_id: str) -> list[str]:
        """Return the documents of a query, best first."""
        rows = self.frame.filter(pl.col("query_id") == query_id).sort("rank")
        return rows["doc_id"].to_list()

    def to_dict(self) -> dict[str, list[str]]:
        """Return the documents of each query, best first.

        >>> Rankings(pl.DataFrame({"query_id": ["q", "q"], "rank": [2, 1], "doc_id": ["b", "a"]})).to_dict()
        {'q': ['a', 'b']}
        """
        ordered = self.frame.sort("query_id", "rank")
        groups = ordered.group_by("query_id", maintain_order=True).agg("doc_id")
        return dict(zip(groups["query_id"], groups["doc_id"].to_list(), strict=True))

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        return digest_of(repr(self.frame.sort("query_id", "rank").rows()).encode())

    def __len__(self) -> int:
        return len(self.frame)


def _to_frame(top: TopDocuments) -> pl.DataFrame:
    starts = np.cumsum(top.counts) - top.counts
    return pl.DataFrame(
        {
            "query_id": np.repeat(np.array(top.query_ids, dtype=object), top.counts).tolist(),
            "rank": np.arange(len(top.doc_ids)) - np.repeat(starts, top.counts) + 1,
            "doc_id": top.doc_ids,
        },
        schema_overrides=SCHEMA,
    )
