"""What a system was trained or tuned on, to be compared with the set that it is tested on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from assay.core.tables import Documents, Qrels, Queries
from assay.judging.checks.texts import document_texts, query_texts, with_keys

_LABELS = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}


@dataclass(frozen=True)
class TrainingSet:
    """The queries that a system learned from; with labels, only the queries that have some."""

    qrels: Qrels | None = None
    queries: Queries | None = None
    documents: Documents | None = None

    @cached_property
    def labels(self) -> pl.DataFrame:
        """The labels: query_id, doc_id, grade."""
        return pl.DataFrame(schema=_LABELS) if self.qrels is None else self.qrels.frame

    @cached_property
    def query_keys(self) -> pl.DataFrame:
        """The queries that have a text: query_id, text, key."""
        texts = query_texts(self.queries)
        if self.qrels is not None:
            texts = texts.join(self.labels, on="query_id", how="semi", maintain_order="left")
        return with_keys(texts)

    @cached_property
    def document_keys(self) -> pl.DataFrame:
        """The judged documents that have a text: doc_id, text, key."""
        judged = document_texts(self.documents).join(
            self.labels, on="doc_id", how="semi", maintain_order="left"
        )
        return with_keys(judged)
