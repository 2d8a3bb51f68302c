"""Judgments against the qrels that were made of them, and judges that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assay.core.judgments import Judgments
from assay.judging.checks.evaluation_set import PAIR, EvaluationSet
from assay.judging.checks.finding import INFO, WARNING, Finding, agree, count_of, examples_of


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find grades that no judge gave, judgments that were lost, and judges who contradict themselves."""
    if data.judgments is None:
        return
    yield from _find_other_grades(data, data.judgments)
    yield from _find_lost_judgments(data, data.judgments)
    yield from _find_self_contradictions(data, data.judgments)


def _find_other_grades(data: EvaluationSet, judgments: Judgments) -> Iterator[Finding]:
    grades = judgments.frame.drop_nulls("grade").group_by(PAIR, maintain_order=True)
    spans = grades.agg(lowest=pl.col("grade").min(), highest=pl.col("grade").max())
    rows = data.labels.join(spans, on=PAIR, how="inner", maintain_order="left")
    rows = rows.filter((pl.col("grade") < pl.col("lowest")) | (pl.col("grade") > pl.col("highest")))
    if len(rows):
        yield Finding(
            "contradictory_labels",
            WARNING,
            len(rows),
            f"{count_of(len(rows), 'label')} of the qrels {agree(len(rows), 'lies', 'lie')} outside the "
            "grades that the judges gave to the pair",
            "derive the qrels from these judgments again (`assay judge qrels`)",
            examples_of(rows),
        )


def _find_lost_judgments(data: EvaluationSet, judgments: Judgments) -> Iterator[Finding]:
    judged = judgments.frame.drop_nulls("grade").select(PAIR).unique(maintain_order=True)
    lost = judged.join(data.labels, on=PAIR, how="anti", maintain_order="left")
    if len(lost):
        yield Finding(
            "lost_judgments",
            INFO,
            len(lost),
            f"{count_of(len(lost), 'judged pair')} {agree(len(lost), 'is', 'are')} not in the qrels",
            "derive the qrels from all judgments (`assay judge qrels`), or say in the recipe why they "
            "are left out",
            examples_of(lost),
        )


def _find_self_contradictions(data: EvaluationSet, judgments: Judgments) -> Iterator[Finding]:
    """Find judges who gave different grades to pairs with the same texts."""
    queries = data.query_keys.select("query_id", query="key")
    documents = data.judged_document_keys.select("doc_id", document="key")
    rows = judgments.frame.drop_nulls("grade").select(*PAIR, "judge", "grade")
    rows = rows.join(queries, on="query_id", how="left").join(documents, on="doc_id", how="left")
    rows = rows.with_columns(
        pl.col("query").fill_null(pl.col("query_id")), pl.col("document").fill_null(pl.col("doc_id"))
    )
    groups = rows.group_by("judge", "query", "document", maintain_order=True)
    pairs = groups.agg("query_id", "doc_id", grades="grade").filter(pl.col("grades").list.n_unique() > 1)
    if len(pairs):
        yield Finding(
            "contradictory_judgments",
            WARNING,
            len(pairs),
            f"{count_of(len(pairs), 'pair')} of the same texts got different grades from the same judge",
            "show these pairs to the judge again, and make the guidelines clearer where they differ",
            examples_of(pairs.select("judge", "query_id", "doc_id", "grades")),
        )
