"""What a test set shares with the set that a system was trained or tuned on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from assay.core.tables import Queries
from assay.judging.checks.evaluation_set import PAIR, EvaluationSet
from assay.judging.checks.finding import ERROR, INFO, WARNING, Finding, agree, count_of, examples_of
from assay.judging.checks.training_set import TrainingSet
from assay.judging.families import DEFAULT_SIMILARITY, find_families, near_duplicates

FAMILY_COLUMN = "family"  # of the queries, as `assay dataset sample` writes it
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
    near = _near_pairs(rest, train_keys, "query_id", DEFAULT_SIMILARITY)
    yield from _describe_queries(near, WARNING, "near-duplicate", "nearly repeats", "nearly repeat")
    rest = rest.join(near.select("query_id"), on="query_id", how="anti", maintain_order="left")
    family = _same_family(data, train, rest, train_keys)
    yield from _describe_queries(family, WARNING, "family", "is in the family of", "are in the family of")


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


def _near_pairs(test: pl.DataFrame, train: pl.DataFrame, key: str, similarity: float) -> pl.DataFrame:
    """Return each test row with a near-duplicate among the training rows."""
    schema = {key: pl.String, "text": pl.String, f"train_{key}": pl.String, "train_text": pl.String}
    if not len(test) or not len(train):
        return pl.DataFrame(schema=schema)
    pairs = near_duplicates([*test["key"], *train["key"]], similarity)
    border = len(test)
    crosses = (pairs.first < border) != (pairs.second < border)
    first = np.minimum(pairs.first[crosses], pairs.second[crosses])
    second = np.maximum(pairs.first[crosses], pairs.second[crosses]) - border
    order = np.lexsort((second, first))
    left, right = test[first[order]].select(key, "text"), train[second[order]]
    both = left.with_columns(right[key].alias(f"train_{key}"), right["text"].alias("train_text"))
    nearest: pl.DataFrame = both.unique(key, keep="first", maintain_order=True)
    return nearest


def _same_family(
    data: EvaluationSet, train: TrainingSet, test_keys: pl.DataFrame, train_keys: pl.DataFrame
) -> pl.DataFrame:
    """Return each test query with a training query of its family, by a column or near-duplicates."""
    left, right = _with_families(data.queries, test_keys), _with_families(train.queries, train_keys)
    if left is None or right is None:
        left, right = _number_families(test_keys, train_keys)
    rows = left.join(
        right.unique("family", keep="first", maintain_order=True), on="family", maintain_order="left"
    )
    return rows.select("query_id", "text", train_query_id="query_id_right", train_text="text_right")


def _with_families(queries: Queries | None, keys: pl.DataFrame) -> pl.DataFrame | None:
    """Return the queries with the family that their table names; None if it names none."""
    if queries is None or FAMILY_COLUMN not in queries.columns:
        return None
    values = queries.column(FAMILY_COLUMN, keys["query_id"].to_list())
    names = [None if value is None else str(value) for value in values]
    frame: pl.DataFrame = keys.with_columns(family=pl.Series(names, dtype=pl.String)).drop_nulls("family")
    return frame


def _number_families(test: pl.DataFrame, train: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    families = pl.Series("family", find_families([*test["key"], *train["key"]]))
    border = len(test)
    return test.with_columns(families[:border]), train.with_columns(families[border:])


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
    near = _near_pairs(rest.with_columns(cut), others.with_columns(cut), "doc_id", DEFAULT_SIMILARITY)
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
