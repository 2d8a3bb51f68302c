"""What tests of studies share: trials with the recall of their queries, as lists of hits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.bench.studies.distribution import RecallDistribution
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import Trial
from assay.core.vectors import InMemoryVectors, Neighbors
from assay.indexes.hits import Hits
from assay.indexes.vector_data import VectorData


def trial_with_hits(
    hits: Sequence[int], engine: str = "hnswlib", k: int = 10, ids: Any = None, **more: Any
) -> ScoredTrial:
    """A trial of which every query is known; its key is its engine and its search."""
    search = more.pop("search", {})
    trial = Trial(" ".join([engine, *map(str, search.values())]), engine, search=search, k=k, **more)
    counts = np.array(hits, np.int64)
    return ScoredTrial(
        trial, Hits(counts, np.full(len(counts), k), k, "strict"), None if ids is None else np.array(ids)
    )


def trial_with_histogram(counts: Sequence[int], engine: str = "HNSW", **more: Any) -> ScoredTrial:
    """A trial of which only a histogram is known."""
    return ScoredTrial(
        Trial(engine, engine, k=len(counts) - 1, **more),
        published_distribution=RecallDistribution(np.array(counts)),
    )


def trial_with_figures(figures: Mapping[str, float], engine: str = "HNSW", k: int = 10) -> ScoredTrial:
    """A trial of which only figures are known."""
    return ScoredTrial(Trial(engine, engine, k=k, reported=dict(figures)))


def make_study(*observed: ScoredTrial, data: VectorData | None = None) -> Study:
    return Study(observed, {}, data, "a study")


def make_data(
    truth: Any, base: Any = None, queries: Any = None, k: int = 1, metric: str = "l2"
) -> VectorData:
    """Data whose truth is given; of points where nothing else is said."""
    positions = np.array(truth, np.int64)
    base = np.eye(int(positions.max()) + 1) if base is None else np.asarray(base, np.float64)
    queries = (
        np.zeros((len(positions), base.shape[1])) if queries is None else np.asarray(queries, np.float64)
    )
    return VectorData(InMemoryVectors(base), InMemoryVectors(queries), Neighbors(positions), metric, k, {})
