"""Files of pairs of a query and a document: a pool, or judgments of which only the pairs count."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from assay.core.columns import match_columns
from assay.core.errors import FormatError, TableError
from assay.core.tables import Qrels
from assay.datasets import read
from assay.datasets.columnar import read_frame
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.jsonl import read_rows

_ALIASES = {name: Qrels.aliases[name] for name in ("query_id", "doc_id")}
_SEPARATORS = {"csv": ",", "tsv": "\t"}


def read_pairs(path: str) -> list[tuple[str, str]]:
    """Return the pairs of a JSONL, CSV, TSV, Parquet or qrels file in their order, each once."""
    source = InputFile(path)
    extension = path.lower().removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    if extension in ("jsonl", "ndjson"):
        rows = [row for _, row in read_rows(source)]
        pairs = _select(source.label, list(rows[0]) if rows else [], ([*row.items()] for row in rows))
    elif extension in _SEPARATORS and _has_header(source):
        lines = (text for _, text in source.text_lines(LONGEST_TEXT))
        reader = csv.DictReader(lines, delimiter=_SEPARATORS[extension])
        names = list(reader.fieldnames or [])
        pairs = _select(source.label, names, ([*row.items()] for row in reader))
    elif extension in ("parquet", "arrow"):
        frame = read_frame(source, extension)
        pairs = _select(source.label, frame.columns, ([*row.items()] for row in frame.iter_rows(named=True)))
    else:
        return [(query, doc) for query, doc, _ in read(path, "qrels").frame.rows()]
    return list(dict.fromkeys(pairs))


def _has_header(source: InputFile) -> bool:
    head = source.head().decode(errors="replace").partition("\n")[0].lower()
    return any(name in head for name in ("doc", "corpus", "query", "qid"))


def _select(
    label: str, names: list[str], rows: Iterator[list[tuple[str, object]]]
) -> Iterator[tuple[str, str]]:
    try:
        columns = {target: name for name, target in match_columns(names, _ALIASES, {}).items()}
    except TableError as error:
        raise FormatError(str(error), label) from None
    missing = [name for name in _ALIASES if name not in columns]
    if missing:
        found = ", ".join(names) or "none"
        raise FormatError(f"expected the columns query_id and doc_id, found {found}", label)
    for number, items in enumerate(rows, 1):
        row = dict(items)
        pair = [row.get(columns[name]) for name in _ALIASES]
        if any(value is None or value == "" for value in pair):
            raise FormatError(f"row {number}: expected a query_id and a doc_id, found {pair}", label)
        yield str(pair[0]), str(pair[1])
