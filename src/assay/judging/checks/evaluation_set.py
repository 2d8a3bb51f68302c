"""The evaluation set that is checked: its tables, and the frames that several checks need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.evaluation import Evaluation
from assay.judging.checks.run_tops import RunTop, score_top
from assay.judging.checks.texts import document_texts, query_texts, with_keys
from assay.judging.checks.training_set import TrainingSet

PAIR = ("query_id", "doc_id")


@dataclass(frozen=True)
class EvaluationSet:
    """An evaluation set with all that is known about it; only the qrels are required."""

    qrels: Qrels
    queries: Queries | None = None
    documents: Documents | None = None
    judgments: Judgments | None = None  # of the single judges, from which the qrels were derived
    runs: Sequence[RunTop] = ()
    train: TrainingSet | None = None  # what a system was trained or tuned on
    previous: EvaluationSet | None = None  # an earlier version
    repeated_rows: pl.DataFrame | None = None  # rows of the qrels file with a pair that it has twice
    grades: Sequence[int] = ()  # the scale that the judges were given; empty: unknown
    by: Sequence[str] = ()  # the columns of slices; empty: all columns with few values
    k: int = 10  # the depth at which runs are scored
    margin: float = 0.01  # the smallest difference that matters

    @cached_property
    def labels(self) -> pl.DataFrame:
        """The qrels: query_id, doc_id, grade."""
        return self.qrels.frame

    @cached_property
    def query_texts(self) -> pl.DataFrame:
        """The texts of the queries: query_id, text."""
        return query_texts(self.queries)

    @cached_property
    def document_texts(self) -> pl.DataFrame:
        """The texts of the documents: doc_id, text."""
        return document_texts(self.documents)

    @cached_property
    def query_keys(self) -> pl.DataFrame:
        """The queries that have a text: query_id, text, and key, which is equal if two texts read alike."""
        return with_keys(self.query_texts)

    @cached_property
    def judged_document_keys(self) -> pl.DataFrame:
        """The judged documents that have a text: doc_id, text, and key."""
        judged = self.labels.select("doc_id").unique()
        return with_keys(self.document_texts.join(judged, on="doc_id", how="semi", maintain_order="left"))

    @cached_property
    def returned(self) -> pl.DataFrame:
        """The first documents of all runs: query_id, doc_id, rank, run."""
        frames = [top.frame.with_columns(run=pl.lit(top.name)) for top in self.runs]
        schema = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "run": pl.String}
        return pl.concat(frames) if frames else pl.DataFrame(schema=schema)

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """The runs that share queries with the qrels, scored at the depth k."""
        scored = (score_top(self.qrels, top, self.k) for top in self.runs)
        return [evaluation for evaluation in scored if evaluation is not None]

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        tables = {"documents": self.documents, "judgments": self.judgments}
        queries = len(self.queries) if self.queries is not None else len(self.qrels.query_ids)
        counts = {"queries": queries, "judged_queries": len(self.qrels.query_ids), "labels": len(self.qrels)}
        counts |= {name: len(table) for name, table in tables.items() if table is not None}
        counts["runs"] = len(self.runs)
        return counts
