"""The first documents of each query of a run, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from assay.core.errors import UndecidableError
from assay.core.groups import RunBlocks, ScatteredQueryError, Segments, expand_ranges
from assay.core.tables import Qrels, Run
from assay.evaluation import Evaluation, evaluate

TOP_DEPTH = 100  # how many documents of each query of a run are kept


@dataclass(frozen=True)
class RunTop:
    """The first documents of each query of a run: query_id, doc_id, rank."""

    name: str
    frame: pl.DataFrame

    @classmethod
    def from_run(cls, run: RunBlocks, depth: int = TOP_DEPTH) -> RunTop:
        """Return the first documents of each query of a run."""
        try:
            parts = [_top_of_block(block, depth) for block in run.blocks()]
        except ScatteredQueryError:
            parts = [_top_of_block(block, depth) for block in run.blocks_in_memory()]
        return cls(run.name, pl.concat(parts))

    @cached_property
    def run(self) -> Run:
        """The same documents as a run, in which the score is the negative rank."""
        return Run(
            self.frame.select("query_id", "doc_id", score=-pl.col("rank").cast(pl.Int64)), name=self.name
        )


def _top_of_block(block: Segments, depth: int) -> pl.DataFrame:
    counts, ids = block.top(np.arange(len(block.query_ids)), depth)
    names = pl.Series(list(block.query_ids), dtype=pl.String)
    rank = expand_ranges(np.ones_like(counts), counts)
    query = names.gather(np.repeat(np.arange(len(counts)), counts))
    return pl.DataFrame({"query_id": query, "doc_id": pl.Series(ids.tolist(), dtype=pl.String), "rank": rank})


def score_top(qrels: Qrels, top: RunTop, k: int) -> Evaluation | None:
    """Return nDCG@k and Judged@k of a run; None if it shares no query with the qrels."""
    try:
        return evaluate(qrels, top.run, [f"nDCG@{k}", f"Judged@{k}"])
    except UndecidableError:
        return None
