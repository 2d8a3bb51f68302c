"""Fuse the runs of several systems into one run: what `assay fuse` does."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InputError
from assay.core.tables import Run
from assay.datasets import trec, write
from assay.datasets.formats import FORMATS
from assay.search.fusion import NORMALISATIONS, Fusion
from assay.search.searcher import sort_ranking
from assay.workflows.inputs import TableFiles

__all__ = ["METHODS", "NORMALISATIONS", "FuseRequest", "FuseResult", "fuse_runs"]
METHODS = ("rrf", "weighted")


@dataclass(frozen=True, kw_only=True)
class FuseRequest:
    """The runs to fuse, how, and where the fused run is written."""

    files: TableFiles
    by: str = "rrf"  # one of METHODS
    k: float = 60.0  # of reciprocal rank fusion
    weights: Sequence[float] | None = None  # one for each run; None: all 1
    normalise: str = "minmax"  # one of NORMALISATIONS
    depth: int | None = None  # the number of documents of each query; None: all
    name: str = "fused"  # of the fused run
    output: str | Path | None = None  # its extension is the format; None: it is not written


@dataclass(frozen=True)
class FuseResult:
    """The fused run, and the number of its queries that not all runs have."""

    run: Run
    incomplete_queries: int

    def to_trec(self) -> str:
        """Return the run as the text of a TREC file."""
        file = io.BytesIO()
        trec.write(self.run, file, "standard output", FORMATS["trec"])
        return file.getvalue().decode().rstrip("\n")


def fuse_runs(request: FuseRequest) -> FuseResult:
    """Fuse runs query by query, and write the result if there is a place for it."""
    if len(request.files.runs) < 2:
        raise InputError(f"expected at least two runs to fuse, found {len(request.files.runs)}")
    if request.depth is not None and request.depth < 1:
        raise InputError(f"expected a depth of at least 1, found {request.depth}")
    fusion = Fusion(request.by, k=request.k, weights=request.weights, normalise=request.normalise)
    fusion.check_count(len(request.files.runs))
    rankings_by_run = [run.to_dict() for run in request.files.read_runs()]
    queries = list(dict.fromkeys(query for rankings in rankings_by_run for query in rankings))
    fused = {}
    for query in queries:
        rankings = [sort_ranking(rankings.get(query, {}).items()) for rankings in rankings_by_run]
        fused[query] = dict(fusion(rankings)[: request.depth])
    run = Run(fused, name=request.name)
    if request.output is not None:
        write(run, request.output)
    incomplete = sum(not all(query in rankings for rankings in rankings_by_run) for query in queries)
    return FuseResult(run, incomplete)
