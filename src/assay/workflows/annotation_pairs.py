"""The pairs of a new annotation project and what raters read of them: from pools, qrels, runs and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.columns import match_columns
from assay.core.errors import FormatError, InputError, first_line
from assay.core.tables import Documents, KeyedTable, Qrels, Queries, Run
from assay.datasets import Collection, read, read_collection
from assay.datasets.judgment_files import read_judgments
from assay.judging.annotation.project import ProjectPair
from assay.workflows.dataset_versions import PREFIX, open_collection

_ALIASES = {
    "query_id": Qrels.aliases["query_id"],
    "doc_id": Qrels.aliases["doc_id"],
    "inclusion_probability": (),
}
_POOL_EXTENSIONS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_NOT_POOLS = {"grade", "score", "rank", *Qrels.aliases["grade"], *Run.aliases["score"]}
_TEXT_COLUMNS = {"query": ("text", "description", "narrative"), "document": ("title", "text")}
Texts = dict[str, dict[str, str]]  # by id: what a rater reads, by name


class PairSource(NamedTuple):
    """The pairs of a file, and the queries and documents beside them if there are any."""

    pairs: list[ProjectPair]
    queries: Queries | None = None
    documents: Documents | None = None


def read_pairs(source: str, depth: int, store: str | None = None) -> PairSource:
    """Return the pairs of a pool, of qrels, of the first `depth` documents of a run, or of a folder.

    The pairs of a pool keep their inclusion probabilities; ranks, scores and names of systems are left out.
    """
    if source.startswith(PREFIX):
        return _pairs_of_collection(source, open_collection(source, store))
    if os.path.isdir(source):
        return _pairs_of_collection(source, read_collection(source))
    frame = _read_pool(source)
    if frame is not None:
        return PairSource(_unique(_pairs_of_pool(frame, source)))
    table = read(source)
    if isinstance(table, Collection):
        return _pairs_of_collection(source, table)
    if isinstance(table, Qrels):
        return PairSource(_pairs_of_qrels(table))
    if isinstance(table, Run):
        return PairSource(_pairs_of_run(table, depth))
    raise InputError(
        f"{source}: expected pairs (a pool, qrels or a run), found {type(table).__name__.lower()}"
    )


def _pairs_of_collection(source: str, collection: Collection) -> PairSource:
    if collection.qrels is None:
        raise InputError(f"{source}: expected pairs in qrels, found no qrels")
    return PairSource(_pairs_of_qrels(collection.qrels), collection.queries, collection.documents)


def _pairs_of_qrels(qrels: Qrels) -> list[ProjectPair]:
    return [ProjectPair(query, doc) for query, docs in qrels.to_dict().items() for doc in docs]


def _pairs_of_run(run: Run, depth: int) -> list[ProjectPair]:
    groups = run.groups
    lengths, ids = groups.top(np.arange(len(groups.query_ids)), depth)
    queries = np.repeat(np.arange(len(lengths)), lengths).tolist()
    pairs = zip(queries, ids.tolist(), strict=True)
    return [ProjectPair(groups.query_ids[query], doc) for query, doc in pairs]


def _read_pool(source: str) -> pl.DataFrame | None:
    """Return the table of a pool; None if the file is not one, by its name or its columns."""
    if not source.lower().endswith(_POOL_EXTENSIONS):
        return None
    try:
        frame = _read_frame(source)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or first_line(error)})") from None
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"expected a table of pairs: {first_line(error)}", source) from None
    names = {name.lower() for name in frame.columns}
    return frame if "inclusion_probability" in names or not names & _NOT_POOLS else None


def _read_frame(source: str) -> pl.DataFrame:
    extension = os.path.splitext(source.lower())[1]
    if extension == ".parquet":
        return pl.read_parquet(source, hive_partitioning=False)
    if extension in (".jsonl", ".ndjson"):
        return pl.read_ndjson(source, infer_schema_length=None)
    return pl.read_csv(source, separator="\t" if extension == ".tsv" else ",", infer_schema=False)


def _pairs_of_pool(frame: pl.DataFrame, source: str) -> list[ProjectPair]:
    names = {target: name for name, target in match_columns(frame.columns, _ALIASES, {}).items()}
    if not {"query_id", "doc_id"} <= names.keys():
        found = ", ".join(frame.columns)
        raise FormatError(f"expected columns query_id and doc_id, found {found}: rename them", source)
    ids = [frame[names[name]].cast(pl.String).to_list() for name in ("query_id", "doc_id")]
    shares: list[Any] = [None] * len(frame)
    if "inclusion_probability" in names:
        shares = frame[names["inclusion_probability"]].cast(pl.Float64, strict=False).to_list()
    pairs = [ProjectPair(q, d, inclusion_probability=p) for q, d, p in zip(*ids, shares, strict=True)]
    for row, pair in enumerate(pairs, 1):
        if not pair.query_id or not pair.doc_id:
            raise FormatError(f"row {row} lacks query_id or doc_id", source)
    return pairs


def _unique(pairs: Iterable[ProjectPair]) -> list[ProjectPair]:
    """Return each pair once, as it first appears."""
    return list({pair[:2]: pair for pair in reversed(list(pairs))}.values())[::-1]


def read_gold(path: str) -> list[ProjectPair]:
    """Return the pairs of a file with their known grades; a note says why the grade is right."""
    judgments = read_judgments(path)
    if len(judgments.judges) > 1:
        names = ", ".join(judgments.judges[:3])
        raise InputError(f"{path}: expected one known grade for each pair, found {names} as judges")
    rows = judgments.frame.select("query_id", "doc_id", "grade", "note").iter_rows()
    pairs = [ProjectPair(q, d, gold_grade=grade, gold_note=note) for q, d, grade, note in rows]
    for pair in pairs:
        if pair.gold_grade is None:
            raise InputError(f"{path}: {pair.doc_id!r} of query {pair.query_id!r} has no grade: give one")
    return pairs


def collect_texts(kind: str, table: KeyedTable | None, ids: Sequence[str], fields: Sequence[str]) -> Texts:
    """Return what raters read of queries or documents: their texts and the columns named in `fields`.

    InputError if there is no table, or if it lacks some of them.
    """
    plural = "queries" if kind == "query" else "documents"
    if table is None:
        raise InputError(f"raters read the {plural} of the pairs: expected --{plural} FILE, found none")
    missing = [item for item in ids if item not in table.row_by_id]
    if missing:
        raise InputError(
            f"{len(missing)} of the {len(ids)} {plural} of the pairs are not in --{plural}, such as "
            f"{missing[0]!r}: give the file that has them, or take the pairs out"
        )
    names = [name for name in (*_TEXT_COLUMNS[kind], *fields) if name in table.columns]
    values: Mapping[str, list[Any]] = {name: table.column(name, ids) for name in dict.fromkeys(names)}
    return {
        item: {name: str(column[row]) for name, column in values.items() if column[row] not in (None, "")}
        for row, item in enumerate(ids)
    }


def check_fields(fields: Sequence[str], documents: Documents | None) -> None:
    """Raise InputError if a column to show is not in the documents."""
    columns = [] if documents is None else list(documents.columns)
    for name in fields:
        if name not in columns:
            raise InputError(f"--field {name}: the documents have the columns {', '.join(columns) or 'none'}")
