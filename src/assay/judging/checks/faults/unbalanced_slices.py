"""Slices with too few queries to say anything, beside slices with many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from assay.evaluation.slices import Slice, make_slices
from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import EXAMPLES, INFO, WARNING, Finding, agree, count_of

_FEW_QUERIES = 10  # a slice of fewer queries shows no difference
_RATIO = 10  # of the largest to the smallest slice
_MAX_SLICES = 20  # a column with more values is not meant to slice by
_NOT_SLICES = ("query_id", "text", "number", "inclusion_probability")


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find columns of which some slices have few of the judged queries."""
    texts = dict(data.document_texts.drop_nulls().iter_rows()) if "intent" in data.by else None
    for column in data.by or _columns_of_slices(data):
        slices = make_slices([column], data.qrels.query_ids, data.queries, data.qrels, texts)
        yield from _find_small(column, [part for part in slices if part.value != "(none)"], bool(data.by))
        yield from _find_without_relevant(data, slices)


def _columns_of_slices(data: EvaluationSet) -> list[str]:
    """Return the columns of the queries with a few texts as values, each of several queries."""
    if data.queries is None:
        return []
    names = []
    for name, values in data.queries.columns.items():
        labels = [value for value in values if value is not None]
        if name not in _NOT_SLICES and labels and all(isinstance(label, str | bool) for label in labels):
            different = len(set(labels))
            if 1 < different <= min(_MAX_SLICES, len(labels) // 2):
                names.append(name)
    return names


def _find_small(column: str, slices: Sequence[Slice], is_chosen: bool) -> Iterator[Finding]:
    small = [part for part in slices if len(part.rows) < _FEW_QUERIES]
    if not small or len(slices) < 2:
        return
    largest = max(slices, key=lambda part: len(part.rows))
    smallest = min(slices, key=lambda part: len(part.rows))
    is_unbalanced = len(largest.rows) >= _RATIO * len(smallest.rows)
    yield Finding(
        "unbalanced_slices",
        WARNING if is_unbalanced else INFO,
        len(small),
        f"{count_of(len(small), 'slice')} of {len(slices)} by {column} {agree(len(small), 'has', 'have')} "
        f"fewer than {_FEW_QUERIES} judged queries ({smallest.value}: {len(smallest.rows)}; "
        f"{largest.value}: {len(largest.rows):,})",
        f"add queries to these slices (`assay dataset sample --by {column}`), or do not report them",
        [{"column": column, "value": part.value, "queries": len(part.rows)} for part in small[:EXAMPLES]],
    )


def _find_without_relevant(data: EvaluationSet, slices: Sequence[Slice]) -> Iterator[Finding]:
    """Find slices in which no query has a relevant document."""
    best = data.labels.group_by("query_id", maintain_order=True).agg(pl.col("grade").max())
    grades = dict(best.iter_rows())
    queries = data.qrels.query_ids
    empty = [part for part in slices if all(grades[queries[row]] <= 0 for row in part.rows)]
    if empty:
        yield Finding(
            "slices_without_relevant",
            WARNING,
            len(empty),
            f"{count_of(len(empty), 'slice')} by {empty[0].column} {agree(len(empty), 'has', 'have')} no "
            f"query with a relevant document, such as {empty[0].value}",
            "judge more documents of these queries: until then the slice has no score",
            [{"column": p.column, "value": p.value, "queries": len(p.rows)} for p in empty[:EXAMPLES]],
        )
