"""Fuse the runs of several systems into one run: what `assay fuse` does."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core.errors import InputError
from assay.core.groups import RunBlocks, ScoreChanges
from assay.core.score_order import ScoreOrder
from assay.core.tables import Run
from assay.datasets import trec, write
from assay.datasets.formats import FORMATS, format_by_extension
from assay.datasets.output_files import refuse_inputs_as_outputs
from assay.evaluation.evaluate import DEFAULT_ORDER
from assay.evaluation.order_warnings import order_warnings
from assay.search.fusion import NORMALISATIONS, Fusion
from assay.search.searcher import RankedDocuments
from assay.workflows.inputs import TableFiles

__all__ = ["METHODS", "NORMALISATIONS", "FuseRequest", "FuseResult", "fuse_runs"]
METHODS = ("rrf", "weighted")


@dataclass(frozen=True, kw_only=True)
class FuseRequest:
    """The runs to fuse, how, and where the fused run is written."""

    files: TableFiles
    order: ScoreOrder = DEFAULT_ORDER  # in which scores order documents
    by: str = "rrf"  # one of METHODS
    k: float | None = None  # of reciprocal rank fusion; None: 60
    weights: Sequence[float] | None = None  # one for each run; None: all 1
    normalise: str | None = None  # one of NORMALISATIONS, for `weighted`; None: minmax
    depth: int | None = None  # the number of documents of each query; None: all
    name: str = "fused"  # of the fused run
    output: str | Path | None = None  # its extension is the format; None: it is not written


@dataclass(frozen=True)
class FuseResult:
    """The fused run, the number of its queries that not all runs have, and doubts about the runs."""

    run: Run
    incomplete_queries: int
    warnings: Mapping[str, Sequence[str]]  # by the name of the run

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
    fusion = _fusion(request)
    fusion.check_count(len(request.files.runs))
    if request.output is not None:
        _check_output(str(request.output), request.files.runs)
    runs = [request.order.apply(run) for run in request.files.open_runs()]
    rankings_by_run, warnings = [], {}
    for run in runs:
        rankings, changes = _read_rankings(run)
        if request.by == "weighted":
            _check_finite(run.name, rankings)
        rankings_by_run.append(rankings)
        warnings[run.name] = order_warnings(changes, run.rank_changes, request.order)
    queries = list(dict.fromkeys(query for rankings in rankings_by_run for query in rankings))
    fused = {}
    for query in queries:
        sorted_rankings = [_rank(rankings.get(query, {})) for rankings in rankings_by_run]
        fused[query] = dict(fusion(sorted_rankings)[: request.depth])
    fused_run = Run(fused, name=request.name)
    if request.output is not None:
        write(fused_run, request.output)
    incomplete = sum(not all(query in rankings for rankings in rankings_by_run) for query in queries)
    return FuseResult(fused_run, incomplete, warnings)


def _fusion(request: FuseRequest) -> Fusion:
    """Return the fusion that is asked for; an option that the method does not use is refused."""
    if request.by == "rrf" and request.normalise is not None:
        raise InputError("--normalise belongs to weighted fusion: give --by weighted, or leave it out")
    if request.by == "weighted" and request.k is not None:
        raise InputError("--k belongs to reciprocal rank fusion: give --by rrf, or leave it out")
    k = 60.0 if request.k is None else request.k
    return Fusion(request.by, k=k, weights=request.weights, normalise=request.normalise or "minmax")


def _check_output(output: str, runs: Sequence[str]) -> None:
    """Refuse an output that would replace a run, or whose format is unknown, before anything is read."""
    if os.path.isdir(output):
        raise InputError(f"-o {output}: expected a file to write, found a folder")
    if format_by_extension(output, "run") is None:
        extensions = sorted({e for f in FORMATS.values() if "run" in f.writes for e in f.extensions})
        raise InputError(f"-o {output}: expected a name that ends in {', '.join(extensions)}")
    refuse_inputs_as_outputs([output], runs)


def _read_rankings(run: RunBlocks) -> tuple[dict[str, dict[str, float]], ScoreChanges]:
    """Return the scores of each query, and how they change from row to row."""
    rankings: dict[str, dict[str, float]] = {}
    changes = ScoreChanges()
    for block in run.blocks_in_memory():
        ids, values = block.ids_at(np.arange(len(block))).tolist(), block.values.tolist()
        bounds = block.offsets.tolist()
        for query, start, end in zip(block.query_ids, bounds[:-1], bounds[1:], strict=True):
            rankings[query] = dict(zip(ids[start:end], values[start:end], strict=True))
        changes += block.score_changes
    return rankings, changes


def _rank(scores: Mapping[str, float]) -> RankedDocuments:
    """Return the documents of a run in the order in which it is scored: equal scores by larger id."""
    return sorted(scores.items(), key=lambda pair: (pair[1], pair[0].encode()), reverse=True)


def _check_finite(name: str, rankings: Mapping[str, Mapping[str, float]]) -> None:
    """Refuse infinite scores, which cannot be normalised."""
    for query, scores in rankings.items():
        for doc, score in scores.items():
            if not math.isfinite(score):
                raise InputError(
                    f"{name}: document {doc!r} in query {query!r} has the score {score}, which cannot be "
                    "normalised: give a finite number, or fuse by ranks (--by rrf)"
                )
