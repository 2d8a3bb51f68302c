"""The table DocumentClicks: how often each document was shown and clicked for the text of a query."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from assay.core.digests import digest_of

SCHEMA = {
    "query_id": pl.String(),  # the text of the query, in lower case with single blanks
    "doc_id": pl.String(),
    "rank": pl.Int64(),  # from 1; null: not known
    "impressions": pl.Int64(),  # result pages with the document at this rank
    "clicks": pl.Int64(),  # of these, pages on which it was clicked
    "other_clicks": pl.Int64(),  # pages on which it was clicked and whose results are not known
}


class DocumentClicks:
    """The impressions and clicks of documents by query and rank.

    >>> row = {"query_id": "vpn", "doc_id": "a", "rank": 1, "impressions": 9, "clicks": 3, "other_clicks": 0}
    >>> DocumentClicks(pl.DataFrame([row])).frame["clicks"].to_list()
    [3]
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        typed = frame.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
        self.frame = typed.sort("query_id", "doc_id", "rank")

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        return digest_of(repr(self.frame.rows()).encode())

    def __len__(self) -> int:
        return len(self.frame)
