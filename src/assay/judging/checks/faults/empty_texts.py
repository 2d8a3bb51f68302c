"""Queries and documents without text: nobody can judge them, and no system can find them by words."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import INFO, WARNING, Finding, agree, count_of

_FEW = 0.01  # of the rows; more are a warning


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find rows without text in the queries and in the documents."""
    judged_queries, judged_documents = data.labels["query_id"], data.labels["doc_id"]
    yield from _find_empty(data.query_texts, judged_queries, "query", "queries")
    yield from _find_empty(data.document_texts, judged_documents, "document", "documents")


def _find_empty(texts: pl.DataFrame, judged: pl.Series, noun: str, plural: str) -> Iterator[Finding]:
    ids = texts.filter(pl.col("text").fill_null("") == "")[:, 0]
    if not len(ids):
        return
    judged_ids = ids.filter(ids.is_in(judged.unique().implode()))
    verb = agree(len(ids), "has", "have")
    yield Finding(
        "empty_texts",
        WARNING if len(ids) > _FEW * len(texts) else INFO,
        len(ids),
        f"{count_of(len(ids), noun, plural)} {verb} no text; {len(judged_ids):,} of them judged",
        f"add the texts, or drop these {plural} with their judgments",
        [{ids.name: name, "is_judged": name in judged_ids} for name in ids.head(5)],
    )
