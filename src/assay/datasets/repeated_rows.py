"""Qrels of a file that has a pair several times, for a check: any other reader refuses such a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from assay.core.columns import match_pair_columns
from assay.core.errors import FormatError, TableError
from assay.core.tables import Qrels
from assay.datasets.columnar import read_frame
from assay.datasets.delimited import DelimitedRows
from assay.datasets.detection import detect_format
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import read_rows
from assay.datasets.rows import Row, parse_id, parse_number
from assay.datasets.trec import QRELS, read_batches

_NAMES = ("query_id", "doc_id", "grade")


class RepeatedRows(NamedTuple):
    """The first row of each pair as qrels, and all rows of the pairs that appear several times."""

    qrels: Qrels
    rows: pl.DataFrame  # query_id, doc_id, grade


def read_repeated_rows(path: str, columns: Mapping[str, str]) -> RepeatedRows | None:
    """Return the qrels of a file with repeated pairs; None if its format cannot be read row by row."""
    source = InputFile(path)
    name = detect_format(source, "qrels", columns)
    frame = _read_frame(source, name, columns)
    if frame is None:
        return None
    is_repeated = pl.struct("query_id", "doc_id").is_duplicated()
    first = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return RepeatedRows(Qrels(first), frame.filter(is_repeated))


def _read_frame(source: InputFile, name: str, columns: Mapping[str, str]) -> pl.DataFrame | None:
    if name == "trec":
        return _frame_of_trec(source)
    if name in ("csv", "tsv"):
        return _frame_of_rows(DelimitedRows(source, name, columns), columns, source.label)
    if name == "jsonl":
        return _frame_of_rows(read_rows(source), columns, source.label)
    if name in ("parquet", "arrow"):
        rows = read_frame(source, name).iter_rows(named=True)
        return _frame_of_rows(enumerate(rows, 1), columns, source.label)
    return None


def _frame_of_trec(source: InputFile) -> pl.DataFrame:
    parts = []
    for batch in read_batches(source, QRELS):
        lengths = np.diff(np.append(batch.starts, len(batch.ids)))
        queries = pl.Series(batch.queries.tolist(), dtype=pl.String)
        query = queries.gather(np.repeat(np.arange(len(lengths)), lengths))
        documents = pl.Series(batch.ids.tolist(), dtype=pl.String)
        parts.append(pl.DataFrame({"query_id": query, "doc_id": documents, "grade": batch.values}))
    return pl.concat(parts).with_columns(pl.col("grade").cast(pl.Int64))


def _frame_of_rows(rows: Iterable[Row], columns: Mapping[str, str], label: str) -> pl.DataFrame:
    values = list(_read_pairs(rows, columns, label))
    return pl.DataFrame(
        values, schema=dict(zip(_NAMES, (pl.String, pl.String, pl.Int64), strict=True)), orient="row"
    )


def _read_pairs(
    rows: Iterable[Row], columns: Mapping[str, str], label: str
) -> Iterator[tuple[str, str, int]]:
    names = None
    for line, row in rows:
        try:
            names = names or match_pair_columns(list(row), Qrels.aliases, "grade", columns)
            query = parse_id(row.get(names.query_id), "query_id")
            document = parse_id(row.get(names.doc_id), "doc_id")
            yield query, document, int(parse_number(row.get(names.value), "grade"))
        except TableError as error:
            raise FormatError(str(error), label, line) from None
