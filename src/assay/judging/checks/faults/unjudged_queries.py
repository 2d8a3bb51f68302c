"""Queries without judgments, and queries of which no judged document is relevant."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import EXAMPLES, INFO, WARNING, Finding, agree, count_of

_FEW = 0.05  # of the judged queries; more are a warning


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find queries that cannot be scored and queries that score 0 for every system."""
    best = data.labels.group_by("query_id", maintain_order=True).agg(pl.col("grade").max(), labels=pl.len())
    hopeless = best.filter(pl.col("grade") <= 0)
    if len(hopeless):
        yield Finding(
            "queries_without_relevant",
            WARNING if len(hopeless) > _FEW * len(best) else INFO,
            len(hopeless),
            f"{count_of(len(hopeless), 'query', 'queries')} of {len(best):,} "
            f"{agree(len(hopeless), 'has', 'have')} no relevant document: every system scores 0 there, "
            "or the measure is undefined",
            "judge more documents of these queries, or leave the queries out",
            _with_texts(data, hopeless.select("query_id", "labels")),
        )
    unjudged = _unjudged(data, best["query_id"])
    if len(unjudged):
        yield Finding(
            "queries_without_judgments",
            INFO,
            len(unjudged),
            f"{count_of(len(unjudged), 'query', 'queries')} {agree(len(unjudged), 'has', 'have')} no "
            "judgment, and no score",
            "judge them, or drop them from the queries, so that scores stand for all queries",
            _with_texts(data, unjudged.to_frame("query_id")),
        )


def _unjudged(data: EvaluationSet, judged: pl.Series) -> pl.Series:
    ids = list(data.queries.ids if data.queries is not None else data.qrels.empty_queries)
    queries = pl.Series("query_id", ids, dtype=pl.String)
    return queries.filter(~queries.is_in(judged.implode()))


def _with_texts(data: EvaluationSet, rows: pl.DataFrame) -> list[dict[str, object]]:
    """Return the first rows with the texts of their queries, if these are known."""
    first = rows.head(EXAMPLES)
    if len(data.query_texts):
        first = first.join(data.query_texts, on="query_id", how="left", maintain_order="left")
    return first.to_dicts()
