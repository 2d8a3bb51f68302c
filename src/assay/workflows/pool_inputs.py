"""The first documents of runs and of saved experiments, to be pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from assay.core.digests import DigestedRun
from assay.core.errors import InputError
from assay.core.rankings import Rankings
from assay.core.recorded_run import DEFAULT_DEPTH
from assay.core.score_order import ScoreOrder
from assay.judging.pooling import read_top
from assay.store.table_files import table_from_parquet
from assay.workflows.inputs import TableFiles
from assay.workflows.stores import open_existing_store

PREFIX = "experiment:"  # before the name or the id of a saved experiment, where a run may stand


class PooledRuns(NamedTuple):
    """The first documents of each run by query, and the digests of the runs."""

    tops: Mapping[str, Mapping[str, Sequence[str]]]
    digests: Mapping[str, str]


def read_pooled_runs(
    files: TableFiles, order: ScoreOrder, depth: int, deepest: int, store: str | None
) -> PooledRuns:
    """Return the first `deepest` documents of runs; a saved experiment must have kept `depth`."""
    paths = [source for source in files.runs if not source.startswith(PREFIX)]
    runs = [DigestedRun(run) for run in replace(files, runs=paths).open_runs()] if paths else []
    tops: dict[str, Mapping[str, Sequence[str]]] = {
        run.name: read_top(order.apply(run), deepest) for run in runs
    }
    digests = {f"run {run.name}": run.digest for run in runs}
    for source in files.runs:
        if source.startswith(PREFIX):
            name, rankings = _read_rankings(source.removeprefix(PREFIX), depth, store)
            if name in tops:
                raise InputError(f"two runs have the name {name!r}; give each experiment by its id once")
            tops[name] = _tops_of(rankings)
            digests[f"run {name}"] = rankings.digest
    return PooledRuns(tops, digests)


def _read_rankings(name: str, depth: int, store_location: str | None) -> tuple[str, Rankings]:
    with open_existing_store(store_location) as store:
        experiment = store.get(name)
        digest = experiment.digests.get("rankings")
        if digest is None or not store.tables.has(digest):
            raise InputError(f"the experiment {name} has kept no rankings: give its run file")
        rankings = table_from_parquet(Rankings, store.tables.read(digest))
    assert isinstance(rankings, Rankings)
    if depth > DEFAULT_DEPTH:
        raise InputError(
            f"the experiment {name} has kept the first {DEFAULT_DEPTH} documents of each query: give its run "
            f"file, or --depth of at most {DEFAULT_DEPTH}"
        )
    return experiment.name, rankings


def _tops_of(rankings: Rankings) -> dict[str, list[str]]:
    frame = rankings.frame.sort("query_id", "rank").group_by("query_id", maintain_order=True)
    rows = frame.agg(pl.col("doc_id"))
    return dict(zip(rows["query_id"].to_list(), rows["doc_id"].to_list(), strict=True))
