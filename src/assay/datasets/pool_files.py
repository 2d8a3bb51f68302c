"""Pools of pairs to judge: query_id, doc_id, inclusion_probability and, for stratified ones, stratum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from assay.core.columns import match_columns
from assay.core.errors import FormatError, TableError
from assay.core.pair_probabilities import PairProbabilities
from assay.core.tables import Qrels
from assay.datasets.columnar import read_frame
from assay.datasets.delimited import DelimitedRows
from assay.datasets.detection import detect_format
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import read_rows
from assay.datasets.rows import parse_id, parse_number

PROBABILITY, STRATUM = "inclusion_probability", "stratum"
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": Qrels.aliases["query_id"],
    "doc_id": Qrels.aliases["doc_id"],
    PROBABILITY: ("probability", "pi"),
    STRATUM: (),
}
_NUMBERED = Iterator[tuple[int, Mapping[str, Any]]]


def read_pool(path: str) -> PairProbabilities:
    """Return the pairs of a pool with their inclusion probabilities; also of qrels that have the columns."""
    source = InputFile(path)
    names: dict[str, str] = {}
    rows: dict[tuple[str, str], tuple[float, str]] = {}
    for line, row in _rows(source):
        try:
            names = names or _match_names(list(row))
            pair, values = _parse(row, names)
        except TableError as error:
            raise FormatError(str(error), source.label, line) from None
        if pair in rows:
            raise FormatError(f"document {pair[1]!r} of query {pair[0]!r} appears twice", source.label, line)
        rows[pair] = values
    if not rows:
        raise FormatError("expected the pairs of a pool, found none", source.label)
    chances, strata = zip(*rows.values(), strict=True)
    queries, docs = zip(*rows, strict=True)
    has_strata = STRATUM in names and any(strata)
    return PairProbabilities(queries, docs, np.array(chances, np.float64), strata if has_strata else None)


def _rows(source: InputFile) -> _NUMBERED:
    name = detect_format(source, None, {})
    if name in ("csv", "tsv"):
        yield from DelimitedRows(source, name, {})
    elif name == "jsonl":
        yield from read_rows(source)
    elif name in ("parquet", "arrow"):
        yield from enumerate(read_frame(source, name).iter_rows(named=True), 1)
    else:
        problem = f"expected a pool as JSONL, CSV, TSV or Parquet with a column {PROBABILITY}, found {name}"
        raise FormatError(problem, source.label)


def _match_names(columns: list[str]) -> dict[str, str]:
    """Return the column of the file for each of ours."""
    names = {target: column for column, target in match_columns(columns, _ALIASES, {}).items()}
    missing = [name for name in ("query_id", "doc_id", PROBABILITY) if name not in names]
    if missing:
        raise TableError(f"expected a column {missing[0]}, found {', '.join(columns)}")
    return names


def _parse(row: Mapping[str, Any], names: Mapping[str, str]) -> tuple[tuple[str, str], tuple[float, str]]:
    pair = (parse_id(row.get(names["query_id"]), "query_id"), parse_id(row.get(names["doc_id"]), "doc_id"))
    value = row.get(names[PROBABILITY])
    if value is None or value == "":
        raise TableError(
            f"the pair {' '.join(pair)} has no {PROBABILITY}: the pool was chosen by its labels, and its "
            "measures cannot be weighted; leave --pool out"
        )
    chance = parse_number(value, PROBABILITY)
    if not 0 < chance <= 1:
        raise TableError(f"expected an {PROBABILITY} above 0, at most 1; found {value!r}")
    stratum = row.get(names[STRATUM]) if STRATUM in names else None
    return pair, (chance, "" if stratum is None else str(stratum))
