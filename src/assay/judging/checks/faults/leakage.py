"""What a test set shares with the set that a system was trained or tuned on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from assay.core.tables import Queries
from assay.judging.checks.evaluation_set import PAIR, EvaluationSet
from assay.judging.checks.finding import ERROR, INFO, WARNING, Finding, agree, count_of, examples_of
from assay.judging.checks.training_set import TrainingSet
from assay.judging.families import DEFAULT_SIMILARITY, Pairs, join_pairs, near_duplicates

FAMILY_COLUMN = "family"  # of the queries, as `assay dataset sample` writes it
_NO_PAIRS = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))
_QUERY = "a query of the training set"
_COMPARED_CHARACTERS = 500  # of a document; whole texts take long and say the same


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find queries and documents of the test set that the training set has, too, or nearly has."""
    if data.train is None:
        return
    yield from _find_queries(data, data.train)
    yield from _find_documents(data, data.train)


def _find_queries(data: EvaluationSet, train: TrainingSet) -> Iterator[Finding]:
    test_keys, train_keys = _judged_queries(data), train.query_keys
    if not len(test_keys) or not len(train_keys):
        yield from _find_same_ids(data, train)
        return
    exact = test_keys.join(train_keys, on="key", maintain_order="left")
    exact = exact.select("query_id", "text", train_query_id="query_id_right", train_text="text_right")
    yield from _describe_queries(exact, ERROR, "exact", "repeats", "repeat")
    rest = test_keys.join(exact.select("query_id"), on="query_id", how="anti", maintain_order="left")
    links = _link(rest, train_keys, "query_id")
    yield from _describe_queries(links.near, WARNING, "near-duplicate", "nearly repeats", "nearly repeat")
    families = _same_family_column(data.queries, train.queries, rest, train_keys)
    families = links.family if families is None else families
    families = families.join(links.near, on="query_id", how="anti", maintain_order="left")
    yield from _describe_queries(families, WARNING, "family", "is in the family of", "are in the family of")


def _judged_queries(data: EvaluationSet) -> pl.DataFrame:
    """Return the judged queries that have a text, with their keys."""
    judged = data.labels.select("query_id").unique()
    return data.query_keys.join(judged, on="query_id", how="semi", maintain_order="left")


def _find_same_ids(data: EvaluationSet, train: TrainingSet) -> Iterator[Finding]:
    """Compare the ids of the queries, if their texts are not known."""
    shared = data.labels.select("query_id").unique(maintain_order=True)
    shared = shared.join(train.labels, on="query_id", how="semi", maintain_order="left")
    yield from _describe_queries(shared, ERROR, "id", "has the id of", "have the id of")


def _describe_queries(
    rows: pl.DataFrame, severity: str, match: str, singular: str, plural: str
) -> Iterator[Finding]:
    if not len(rows):
        return
    count = rows["query_id"].n_unique()
    yield Finding(
        "leakage",
        severity,
        count,
        f"{count_of(count, 'test query', 'test queries')} {agree(count, singular, plural)} {_QUERY} "
        f"({match}): a system that learned from it scores too high",
        "drop them from the training set, or split again by family (`assay dataset split`)",
        examples_of(rows.with_columns(match=pl.lit(match))),
    )


class _Links(NamedTuple):
    """Test rows with a training row that is near to them: directly, or by a chain of near-duplicates."""

    near: pl.DataFrame
    family: pl.DataFrame


def _link(test: pl.DataFrame, train: pl.DataFrame, key: str) -> _Links:
    """Link each test row with the first training row near to it, and with the first of its family."""
    keys = [*test["key"], *train["key"]]
    is_needed = len(test) > 0 and len(train) > 0
    pairs = near_duplicates(keys, DEFAULT_SIMILARITY) if is_needed else _NO_PAIRS
    border = len(test)
    crosses = (pairs.first < border) != (pairs.second < border)
    first = np.minimum(pairs.first[crosses], pairs.second[crosses])
    second = np.maximum(pairs.first[crosses], pairs.second[crosses]) - border
    order = np.lexsort((second, first))
    near = _side_by_side(test[first[order]], train[second[order]], key)
    group = (
        pl.Series("family", join_pairs(len(keys), pairs)) if len(keys) else pl.Series("family", [], pl.Int64)
    )
    return _Links(
        near, _join_families(test.with_columns(group[:border]), train.with_columns(group[border:]), key)
    )


def _side_by_side(test: pl.DataFrame, train: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return each test row once, with the training row beside it."""
    both = test.select(key, "text").with_columns(
        train[key].alias(f"train_{key}"), train["text"].alias("train_text")
    )
    rows: pl.DataFrame = both.unique(key, keep="first", maintain_order=True)
    return rows


def _join_families(test: pl.DataFrame, train: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return each test row with the first training row of its family."""
    firsts = train.unique("family", keep="first", maintain_order=True)
    rows = test.join(firsts, on="family", maintain_order="left")
    return rows.select(key, "text", pl.col(f"{key}_right").alias(f"train_{key}"), train_text="text_right")


def _same_family_column(
    queries: Queries | None, train_queries: Queries | None, test: pl.DataFrame, train: pl.DataFrame
) -> pl.DataFrame | None:
    """Return each test query with a training query of its family, by the column; None if one has none."""
    left, right = _with_families(queries, test), _with_families(train_queries, train)
    return None if left is None or right is None else _join_families(left, right, "query_id")


def _with_families(queries: Queries | None, keys: pl.DataFrame) -> pl.DataFrame | None:
    """Return the queries with the family that their table names; None if it names none."""
    if queries is None or FAMILY_COLUMN not in queries.columns:
        return None
    values = queries.column(FAMILY_COLUMN, keys["query_id"].to_list())
    names = [None if value is None else str(value) for value in values]
    frame: pl.DataFrame = keys.with_columns(family=pl.Series(names, dtype=pl.String)).drop_nulls("family")
    return frame


def _find_documents(data: EvaluationSet, train: TrainingSet) -> Iterator[Finding]:
    """Find documents that both sets have under different ids, and labels that both have."""
    test_keys, train_keys = data.judged_document_keys, train.document_keys
    test_ids, train_ids = (part.labels.select("doc_id").unique() for part in (data, train))
    shared = test_ids.join(train_ids, on="doc_id", how="semi", maintain_order="left")
    if len(shared):
        yield _describe_shared_documents(data, train, len(shared))
    own = test_keys.join(train_ids, on="doc_id", how="anti", maintain_order="left")
    others = train_keys.join(test_ids, on="doc_id", how="anti", maintain_order="left")
    exact = own.join(others, on="key", maintain_order="left")
    exact = exact.select("doc_id", "text", train_doc_id="doc_id_right", train_text="text_right")
    rest = own.join(exact.select("doc_id"), on="doc_id", how="anti", maintain_order="left")
    cut = pl.col("key").str.slice(0, _COMPARED_CHARACTERS)
    near = _link(rest.with_columns(cut), others.with_columns(cut), "doc_id").near
    yield from _describe_documents(exact, "the same text as", "exact")
    yield from _describe_documents(near, "nearly the text of", "near-duplicate")


def _describe_documents(rows: pl.DataFrame, what: str, match: str) -> Iterator[Finding]:
    if not len(rows):
        return
    count = rows["doc_id"].n_unique()
    yield Finding(
        "leakage",
        WARNING,
        count,
        f"{count_of(count, 'judged test document')} {agree(count, 'has', 'have')} {what} a document of the "
        f"training set under another id ({match})",
        "drop the copies from one of the sets, or give both the same id",
        examples_of(rows.with_columns(pl.col("text", "train_text").str.slice(0, 80), match=pl.lit(match))),
    )


def _describe_shared_documents(data: EvaluationSet, train: TrainingSet, count: int) -> Finding:
    pairs = data.labels.join(train.labels.select(PAIR), on=PAIR, how="semi", maintain_order="left")
    labels = f"; {count_of(len(pairs), 'label')} too" if len(pairs) else ""
    return Finding(
        "shared_documents",
        INFO,
        count,
        f"{count_of(count, 'judged document')} {agree(count, 'is', 'are')} judged in the training set, "
        f"too{labels}: expected if both sets search the same collection",
        "none, unless the sets were meant to have different documents",
        examples_of(pairs) if len(pairs) else [],
    )
