"""Tables as Parquet: written so that they are read back unchanged, and checked against their digest."""

from __future__ import annotations

import io
from typing import Any

import polars as pl

from assay.core.document_clicks import DocumentClicks
from assay.core.errors import AssayError, InputError
from assay.core.judgments import Judgments
from assay.core.rankings import Rankings
from assay.core.tables import Documents, Qrels, Queries, Scores
from assay.store.tables import scores_from_frame

StoredTable = Queries | Qrels | Documents | Judgments | Rankings | DocumentClicks
_FROM_FRAMES = (Qrels, Judgments, Rankings, DocumentClicks)  # the others are read from columns
_KEYS: tuple[tuple[type[Any], tuple[str, ...]], ...] = (  # the columns by which a kind is recognised
    (Judgments, ("query_id", "doc_id", "judge")),
    (Qrels, ("query_id", "doc_id", "grade")),
    (DocumentClicks, ("query_id", "doc_id", "impressions", "other_clicks")),
    (Rankings, ("query_id", "rank", "doc_id")),
    (Documents, ("doc_id",)),
    (Queries, ("query_id",)),
)


def table_to_parquet(table: StoredTable) -> bytes:
    """Return a table as Parquet; one that could not be read back unchanged is refused."""
    file = io.BytesIO()
    try:
        table.frame.write_parquet(file, compression="zstd")
        is_unchanged = table_from_parquet(type(table), file.getvalue()).digest == table.digest
    except (TypeError, pl.exceptions.PolarsError):
        is_unchanged = False
    if not is_unchanged:
        raise InputError(
            f"{type(table).__name__.lower()} cannot be stored unchanged: expected columns of text, numbers "
            "and times, found values of several types in one column"
        )
    return file.getvalue()


def table_from_parquet(kind: type[Any], content: bytes) -> StoredTable:
    """Return the table of a kind in a file."""
    frame = pl.read_parquet(io.BytesIO(content))
    table: StoredTable = kind(frame if kind in _FROM_FRAMES else frame.to_dict(as_series=False))
    return table


def has_digest(content: bytes, digest: str) -> bool:
    """Return whether a file holds the table with this digest, of whatever kind it is."""
    names = set(pl.read_parquet_schema(io.BytesIO(content)))
    kinds: list[type[Any]] = [Scores, *(kind for kind, key in _KEYS if names.issuperset(key))]
    tables = (_read(kind, content) for kind in kinds)
    return any(table is not None and table.digest == digest for table in tables)


def _read(kind: type[Any], content: bytes) -> StoredTable | Scores | None:
    """Return a file as a table of a kind; None if it is not one."""
    try:
        if kind is Scores:
            return scores_from_frame(pl.read_parquet(io.BytesIO(content)))
        return table_from_parquet(kind, content)
    except (AssayError, ValueError, TypeError, AttributeError):
        return None
