"""Queries and documents that appear several times, and labels of them that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assay.judging.checks.evaluation_set import PAIR, EvaluationSet
from assay.judging.checks.finding import INFO, WARNING, Finding, agree, count_of, examples_of


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find repeated rows, queries and documents with the same text, and labels that contradict."""
    yield from _find_repeated_rows(data)
    yield from _find_repeated_queries(data)
    yield from _find_same_texts(data)


def _find_repeated_rows(data: EvaluationSet) -> Iterator[Finding]:
    rows = data.repeated_rows
    if rows is None or not len(rows):
        return
    pairs = rows.group_by(PAIR, maintain_order=True).agg(grades=pl.col("grade").unique(maintain_order=True))
    is_contradictory = pl.col("grades").list.len() > 1
    for part, is_wrong in ((pairs.filter(is_contradictory), True), (pairs.filter(~is_contradictory), False)):
        if len(part):
            yield Finding(
                "contradictory_labels" if is_wrong else "duplicate_labels",
                WARNING,
                len(part),
                f"{count_of(len(part), 'pair')} of a query and a document {_appear(len(part))} several times "
                f"in the qrels, with {'different grades' if is_wrong else 'the same grade'}; the check "
                "used the first",
                "keep one row of each pair: `assay judge qrels` derives it by a named rule"
                if is_wrong
                else "keep one row of each pair",
                examples_of(part),
            )


def _appear(count: int) -> str:
    return agree(count, "appears", "appear")


def _find_repeated_queries(data: EvaluationSet) -> Iterator[Finding]:
    judged = data.labels.select("query_id").unique()
    keys = data.query_keys.join(judged, on="query_id", how="semi", maintain_order="left")
    groups = keys.group_by("key", maintain_order=True).agg("query_id", text=pl.col("text").first())
    groups = groups.filter(pl.col("query_id").list.len() > 1)
    if len(groups):
        count = int((groups["query_id"].list.len() - 1).sum())
        yield Finding(
            "duplicate_queries",
            WARNING,
            count,
            f"{count_of(count, 'judged query', 'judged queries')} {agree(count, 'repeats', 'repeat')} the "
            f"text of another one, and {agree(count, 'counts', 'count')} twice in every mean",
            "keep one of the queries with the same text, with the labels of all",
            examples_of(groups.select("query_id", "text")),
        )


def _find_same_texts(data: EvaluationSet) -> Iterator[Finding]:
    """Find pairs of which the texts are equal and the ids are not."""
    rows = _with_text_keys(data)
    pairs = rows.group_by("query", "document", maintain_order=True).agg(
        "query_id", "doc_id", grades="grade", text=pl.col("text").first()
    )
    pairs = pairs.filter(pl.col("grades").list.len() > 1)
    is_same = pl.col("grades").list.n_unique() == 1
    contradictory, same = pairs.filter(~is_same), pairs.filter(is_same)
    names = ("query_id", "doc_id", "grades", "text")
    if len(contradictory):
        yield Finding(
            "contradictory_labels",
            WARNING,
            len(contradictory),
            f"{count_of(len(contradictory), 'pair')} of the same query text and the same document text "
            f"{agree(len(contradictory), 'has', 'have')} different grades under different ids",
            "let one judge decide (`assay judge adjudicate`), and give all copies the same grade",
            examples_of(contradictory.select(names)),
        )
    if len(same):
        yield Finding(
            "duplicate_labels",
            INFO,
            len(same),
            f"{count_of(len(same), 'pair')} of the same query text and the same document text "
            f"{agree(len(same), 'was', 'were')} judged under several ids, with the same grade",
            "drop the copies from the collection, or count them once: a system that returns both is "
            "rewarded twice",
            examples_of(same.select(names)),
        )


def _with_text_keys(data: EvaluationSet) -> pl.DataFrame:
    """Return the labels of which the query or the document has a copy, with the keys of both texts."""
    queries = data.query_keys.select("query_id", query="key")
    documents = data.judged_document_keys.select("doc_id", "text", document="key")
    copies = (
        queries.filter(pl.col("query").is_duplicated()),
        documents.filter(pl.col("document").is_duplicated()),
    )
    has_copy = pl.col("query_id").is_in(copies[0]["query_id"].implode()) | pl.col("doc_id").is_in(
        copies[1]["doc_id"].implode()
    )
    rows = data.labels.filter(has_copy)
    rows = rows.join(queries, on="query_id", how="left", maintain_order="left")
    rows = rows.join(documents, on="doc_id", how="left", maintain_order="left")
    return rows.with_columns(
        pl.col("query").fill_null(pl.col("query_id")), pl.col("document").fill_null(pl.col("doc_id"))
    )
