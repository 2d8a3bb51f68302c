"""The rankings that experiments kept, as runs that can be scored by other labels."""

from __future__ import annotations

import polars as pl

from assay.core.errors import InputError, UndecidableError
from assay.core.rankings import Rankings
from assay.core.recorded_run import DEFAULT_DEPTH
from assay.core.records import Experiment
from assay.core.tables import Run
from assay.measures import parse
from assay.store.store import Store
from assay.store.table_files import table_from_parquet


def has_rankings(store: Store, experiment: Experiment) -> bool:
    """Return whether an experiment kept the first documents of its rankings."""
    digest = experiment.digests.get("rankings")
    return digest is not None and store.tables.has(digest)


def read_rankings(store: Store, experiment: Experiment) -> Rankings:
    """Return the first documents of each query; UndecidableError if they were not kept."""
    if not has_rankings(store, experiment):
        raise UndecidableError(
            f"{experiment.name} ({experiment.id}) was saved without its rankings: evaluate and save it again"
        )
    rankings = table_from_parquet(Rankings, store.tables.read(experiment.digests["rankings"]))
    assert isinstance(rankings, Rankings)
    return rankings


def read_stored_run(store: Store, experiment: Experiment, name: str = "") -> Run:
    """Return the kept rankings of an experiment as a run whose scores fall with the rank."""
    frame = read_rankings(store, experiment).frame
    scored = frame.select("query_id", "doc_id", score=-pl.col("rank").cast(pl.Float64))
    return Run(scored, name=name or experiment.name)


def check_depth(measure: str) -> str:
    """Return a measure that the kept documents are enough for, as it is written; else InputError."""
    parsed = parse(measure)
    if parsed.depth is None or parsed.depth > DEFAULT_DEPTH:
        raise InputError(
            f"experiments keep the first {DEFAULT_DEPTH} documents of each query: expected a measure with a "
            f"cutoff of at most {DEFAULT_DEPTH}, such as nDCG@10, found {parsed}"
        )
    return str(parsed)
