"""The texts of queries and documents, and keys by which texts that read alike are equal."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from assay.core.tables import Documents, KeyedTable, Queries
from assay.judging.families import normalize_text


def query_texts(queries: Queries | None) -> pl.DataFrame:
    """Return the texts of queries: query_id, text."""
    return _texts_of(queries, "query_id", ("text",))


def document_texts(documents: Documents | None) -> pl.DataFrame:
    """Return the texts of documents, each with its title: doc_id, text."""
    return _texts_of(documents, "doc_id", ("title", "text"))


def _texts_of(table: KeyedTable | None, key: str, names: Sequence[str]) -> pl.DataFrame:
    """Return the id and the text of each row of a table; no rows if it has no texts."""
    columns = [name for name in names if table is not None and name in table.columns]
    if table is None or not columns:
        return pl.DataFrame(schema={key: pl.String, "text": pl.String})
    parts = [pl.Series(name, _as_text(table.columns[name]), dtype=pl.String) for name in columns]
    frame = pl.DataFrame([pl.Series(key, table.ids, dtype=pl.String), *parts])
    return frame.select(key, text=pl.concat_str(columns, separator="\n", ignore_nulls=True).str.strip_chars())


def with_keys(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a text, with a key that is equal if two texts read alike."""
    filled = texts.filter(pl.col("text").fill_null("") != "")
    keys = [normalize_text(text) for text in filled["text"].to_list()]
    return filled.with_columns(key=pl.Series(keys, dtype=pl.String))


def _as_text(values: Sequence[object]) -> list[str | None]:
    return [None if value is None else value if isinstance(value, str) else str(value) for value in values]
