"""Split an evaluation set by family, time or a column: what `assay dataset split` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Ints
from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Qrels, Queries
from assay.datasets import Collection, read, read_collection, write
from assay.datasets.output_files import make_folder
from assay.judging.families import DEFAULT_SIMILARITY, find_families
from assay.judging.sampling import take_rows
from assay.judging.splits import (
    SplitPart,
    check_shares,
    describe_parts,
    join_groups,
    parse_times,
    part_names,
    slice_columns,
    split_groups,
    split_times,
)
from assay.workflows.dataset_sample import write_recipe
from assay.workflows.dataset_versions import PREFIX, open_collection

TIME_COLUMNS = ("at", "timestamp", "time", "date", "first_seen", "created_at")


@dataclass(frozen=True, kw_only=True)
class SplitRequest:
    """The evaluation set to split, and how."""

    source: str  # qrels, a folder or dataset:NAME
    by: str  # family, time or a column of the query table
    shares: Sequence[float]
    output: str | None = None  # a folder that gets a folder for each part; None: nothing is written
    queries: str | None = None
    names: Sequence[str] = ()
    time_column: str | None = None
    slices: Sequence[str] = ()  # columns to count by; none: those with few values
    near_duplicates: float | None = DEFAULT_SIMILARITY
    seed: int = 0
    store: str | None = None

    def __post_init__(self) -> None:
        check_shares(self.shares)
        part_names(self.names, len(self.shares))
        if self.time_column is not None and self.by != "time":
            raise InputError("--time-column is for --by time")


@dataclass(frozen=True)
class DatasetSplit:
    """The parts of an evaluation set."""

    parts: tuple[SplitPart, ...]
    labels: Mapping[str, int]  # judged pairs of each part
    recipe: Mapping[str, Any]
    output: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the split as plain data, as `assay dataset split --format json` prints it."""
        parts = [{**part.to_dict(), "labels": self.labels[part.name]} for part in self.parts]
        return {**self.recipe, "parts": parts, "output": self.output}


def split_dataset(request: SplitRequest) -> DatasetSplit:
    """Split an evaluation set and write its parts."""
    queries, qrels = _read(request)
    families = _families(request, queries)
    parts = _parts(request, queries, families)
    names = part_names(request.names, len(request.shares))
    columns = list(request.slices) or slice_columns(queries)
    split_parts = describe_parts(queries, parts, families, names, request.shares, columns)
    collections = {part.name: _take(queries, qrels, part.rows) for part in split_parts}
    labels = {name: 0 if c.qrels is None else len(c.qrels) for name, c in collections.items()}
    recipe = {
        "by": request.by,
        "shares": list(request.shares),
        "seed": request.seed,
        "near_duplicates": request.near_duplicates,
        "digests": {"queries": queries.digest} | ({"qrels": qrels.digest} if qrels is not None else {}),
    }
    split = DatasetSplit(tuple(split_parts), labels, recipe, request.output)
    if request.output is not None:
        _write(split, collections, request.output)
    return split


def _read(request: SplitRequest) -> tuple[Queries, Qrels | None]:
    if request.source.startswith(PREFIX):
        collection = open_collection(request.source, request.store)
    else:
        collection = read_collection(request.source)
    queries = read(request.queries, "queries") if request.queries else collection.queries
    if queries is None:
        raise InputError(f"{request.source} has no query table: give it with --queries FILE")
    judged = collection.qrels.query_ids if collection.qrels is not None else ()
    unknown = [query for query in judged if query not in queries.row_by_id]
    if unknown:
        raise InputError(
            f"{len(unknown):,} judged queries are not in the query table, such as {unknown[0]!r}: give the "
            "query table of these judgments with --queries"
        )
    return queries, collection.qrels


def _families(request: SplitRequest, queries: Queries) -> Ints:
    """Return the families by text, joined with those of the column `family`, if there is one."""
    if "text" not in queries.columns and "family" not in queries.columns:
        raise InputError("a split keeps families together: the query table needs a column text or family")
    families = np.arange(len(queries))
    if "text" in queries.columns:
        texts = [text or query for text, query in zip(queries.columns["text"], queries.ids, strict=True)]
        families = find_families(texts, request.near_duplicates)
    return join_groups(families, _values(queries, "family")) if "family" in queries.columns else families


def _values(queries: Queries, column: str) -> Ints:
    """Return a number for each value of a column; a query without a value has its own."""
    numbers: dict[Any, int] = {}
    pairs = zip(queries.columns[column], queries.ids, strict=True)
    keys = [("query", query) if value is None else ("value", value) for value, query in pairs]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _parts(request: SplitRequest, queries: Queries, families: Ints) -> Ints:
    """Return the number of the part of each query."""
    rng = np.random.default_rng(request.seed)
    if request.by == "family":
        return split_groups(families, request.shares, rng)
    if request.by == "time":
        column = request.time_column or _time_column(queries)
        _require_column(queries, column)
        times = parse_times(queries.columns[column], queries.ids, column)
        return split_times(families, times, request.shares)
    _require_column(queries, request.by)
    return split_groups(join_groups(families, _values(queries, request.by)), request.shares, rng)


def _time_column(queries: Queries) -> str:
    column = next((name for name in TIME_COLUMNS if name in queries.columns), None)
    if column is None:
        raise InputError(
            f"--by time needs a column with times ({', '.join(TIME_COLUMNS)}); the query table has "
            f"{', '.join(queries.columns)}: name it with --time-column"
        )
    return column


def _require_column(queries: Queries, column: str) -> None:
    if column not in queries.columns:
        hint = did_you_mean(column, ["family", "time", *queries.columns])
        names = ", ".join(queries.columns)
        raise InputError(f"there is no column {column!r} in the query table ({names}){hint and f'; {hint}'}")


def _take(queries: Queries, qrels: Qrels | None, rows: Ints) -> Collection:
    """Return the queries at these rows with their judgments."""
    part = take_rows(queries, rows)
    if qrels is None:
        return Collection(part)
    judged = {query: docs for query, docs in qrels.to_dict().items() if query in part.row_by_id}
    return Collection(part, Qrels(judged) if judged else None)


def _write(split: DatasetSplit, collections: Mapping[str, Collection], output: str) -> None:
    folder = make_folder(output)
    for part in split.parts:
        write(collections[part.name], folder / part.name)
        recipe = {**split.recipe, "part": part.to_dict(), "labels": split.labels[part.name]}
        write_recipe({"split": recipe}, folder / part.name / "recipe.json")
