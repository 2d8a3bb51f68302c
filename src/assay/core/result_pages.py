"""Result pages: which documents a query showed in which order, and which of them were clicked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.arrays import Floats, Ints
from assay.core.errors import TableError

NO_DOCUMENT = -1  # at the ranks below the last document of a page
Codes = NDArray[np.int32]
_BLOCK_ROWS = 1 << 19


class ResultPage(NamedTuple):
    """One page: a query, its documents by rank, which were clicked, and how long people stayed there."""

    query: str
    documents: Sequence[str]
    clicks: Sequence[int]
    dwell: Sequence[float | None] | None = None  # seconds, None: unknown


class PairCodes(NamedTuple):
    """The pairs of a query and a document that pages show, and the position of the pair at each rank."""

    keys: Ints  # sorted: code of the query × number of documents + code of the document
    codes: Codes  # page × rank; NO_DOCUMENT: the page is shorter


@dataclass(frozen=True)
class Pages:
    """Result pages as arrays of one row each: the code of the query, and a column for each rank.

    >>> Pages.from_rows([ResultPage("vpn", ["a", "b"], [0, 1]), ResultPage("vpn", ["a"], [1])])
    Pages(2 pages, 1 queries, 2 documents, 2 ranks, 2 clicks)
    """

    query_ids: pl.Series
    doc_ids: pl.Series
    queries: Codes  # of each page
    documents: Codes  # page × rank; NO_DOCUMENT: the page is shorter
    clicks: NDArray[np.bool_]  # page × rank
    dwell: NDArray[np.float32] | None = None  # page × rank, in seconds; NaN: no click, or unknown
    weights: Ints | None = None  # how many equal pages each row stands for; None: one
    pairs: PairCodes | None = None  # once `encode_pairs` has computed them

    @classmethod
    def from_rows(cls, rows: Iterable[ResultPage]) -> Self:
        """Return the pages of tuples."""
        pages = list(rows)
        if not pages:
            raise TableError("expected result pages, found none")
        lengths = np.array([len(page.documents) for page in pages])
        queries, query_ids = _encode([page.query for page in pages])
        documents, doc_ids = _encode([doc for page in pages for doc in page.documents])
        dwell = None
        if any(page.dwell is not None for page in pages):
            dwell = _pad([_seconds(page) for page in pages], lengths, np.nan, np.float32)
        clicks = [np.asarray(page.clicks, dtype=bool) for page in pages]
        return cls(
            query_ids,
            doc_ids,
            queries,
            _pad([documents], lengths, NO_DOCUMENT, np.int32),
            _pad(clicks, lengths, False, np.bool_),
            dwell,
        )

    def __len__(self) -> int:
        """The number of pages; equal pages that share a row are counted."""
        return len(self.queries) if self.weights is None else int(self.weights.sum())

    def __repr__(self) -> str:
        clicks = int((self.clicks * self.row_weights[:, None]).sum())
        return (
            f"Pages({len(self):,} pages, {len(self.query_ids):,} queries, {len(self.doc_ids):,} documents, "
            f"{self.ranks} ranks, {clicks:,} clicks)"
        )

    @property
    def ranks(self) -> int:
        """The length of the longest page."""
        return int(self.documents.shape[1])

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether a page has a document at a rank."""
        shown: NDArray[np.bool_] = self.documents != NO_DOCUMENT
        return shown

    @property
    def row_weights(self) -> Ints:
        """How many pages each row stands for."""
        return np.ones(len(self.queries), np.int64) if self.weights is None else self.weights

    @property
    def pair_keys(self) -> Ints:
        """A number for the query and the document at each rank, unique among these ids; −1: no document."""
        keys = self.queries[:, None].astype(np.int64) * len(self.doc_ids) + self.documents
        return np.where(self.shown, keys, NO_DOCUMENT)

    def take(self, rows: NDArray[Any] | slice) -> Pages:
        """Return some of the rows, with the same ids."""
        return replace(
            self,
            queries=self.queries[rows],
            documents=self.documents[rows],
            clicks=self.clicks[rows],
            dwell=None if self.dwell is None else self.dwell[rows],
            weights=None if self.weights is None else self.weights[rows],
            pairs=None if self.pairs is None else self.pairs._replace(codes=self.pairs.codes[rows]),
        )

    def encode_pairs(self) -> Pages:
        """Return the pages with the codes of their pairs, which counts are made of."""
        if self.pairs is not None:
            return self
        blocks = [
            self.take(slice(begin, begin + _BLOCK_ROWS)) for begin in range(0, len(self.queries), _BLOCK_ROWS)
        ]
        parts = [pl.Series("key", block.pair_keys.ravel()).unique() for block in blocks]
        keys = pl.concat(parts).unique().sort()
        known = keys.filter(keys >= 0).to_frame().with_row_index("code")
        codes = [_find_keys(block.pair_keys, known) for block in blocks]
        return replace(self, pairs=PairCodes(known["key"].to_numpy(), np.concatenate(codes)))

    def cut(self, ranks: int) -> Pages:
        """Return the pages without the documents below a rank."""
        return replace(
            self,
            documents=self.documents[:, :ranks],
            clicks=self.clicks[:, :ranks],
            pairs=None,
            dwell=None if self.dwell is None else self.dwell[:, :ranks],
        )

    def recode(self, other: Pages) -> Pages:
        """Return these pages with the ids of `other` first, so that equal ids have equal codes in both."""
        queries, query_ids = _recode(self.query_ids, self.queries, other.query_ids)
        documents, doc_ids = _recode(self.doc_ids, self.documents, other.doc_ids)
        return replace(
            self, query_ids=query_ids, doc_ids=doc_ids, queries=queries, documents=documents, pairs=None
        )

    def merge_equal(self) -> Pages:
        """Return each different page once, with the number of times it occurs; dwell times are dropped."""
        columns = {"query": self.queries, "weight": self.row_weights}
        columns |= {f"d{i}": self.documents[:, i] for i in range(self.ranks)}
        columns |= {f"c{i}": self.clicks[:, i] for i in range(self.ranks)}
        keys = [name for name in columns if name != "weight"]
        frame = pl.DataFrame(columns).group_by(keys, maintain_order=True).agg(pl.col("weight").sum())
        return replace(
            self,
            queries=frame["query"].to_numpy(),
            documents=frame.select(f"d{i}" for i in range(self.ranks)).to_numpy().astype(np.int32),
            clicks=frame.select(f"c{i}" for i in range(self.ranks)).to_numpy().astype(bool),
            dwell=None,
            weights=frame["weight"].to_numpy(),
            pairs=None,
        )


def _find_keys(keys: Ints, known: pl.DataFrame) -> Codes:
    """Return the position of each key among the known ones."""
    rows = pl.DataFrame({"key": keys.ravel()}).join(known, on="key", how="left", maintain_order="left")
    codes = rows["code"].cast(pl.Int32).fill_null(NO_DOCUMENT).to_numpy()
    return codes.reshape(keys.shape)


def _encode(values: Sequence[str]) -> tuple[Codes, pl.Series]:
    """Return the code of each text, and the texts in the order in which they first occur."""
    column = pl.Series(values, dtype=pl.String)
    ids = column.unique(maintain_order=True)
    return _codes_of(column, ids), ids


def _codes_of(values: pl.Series, ids: pl.Series) -> Codes:
    """Return the position of each value among ids."""
    known = pl.DataFrame({"id": ids, "code": pl.arange(len(ids), dtype=pl.Int32, eager=True)})
    joined = pl.DataFrame({"id": values}).join(known, on="id", how="left", maintain_order="left")
    return joined["code"].to_numpy()


def _recode(ids: pl.Series, codes: Codes, first_ids: pl.Series) -> tuple[Codes, pl.Series]:
    """Return the codes among the ids of another table followed by those that it lacks."""
    merged = pl.concat([first_ids, ids], rechunk=True).unique(maintain_order=True)
    new_codes = np.append(_codes_of(ids, merged), np.int32(NO_DOCUMENT))  # the code −1 stays −1
    return new_codes[codes], merged


def _pad(parts: Sequence[NDArray[Any]], lengths: Ints, fill: Any, dtype: type[np.generic]) -> NDArray[Any]:
    """Return a row for each page, filled up to the longest."""
    rows = np.full((len(lengths), max(1, int(lengths.max()))), fill, dtype)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = np.concatenate(parts) if parts else []
    return rows


def _seconds(page: ResultPage) -> Floats:
    values = page.dwell if page.dwell is not None else [None] * len(page.documents)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
