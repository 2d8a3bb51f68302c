"""What tests of studies share: trials with the recall of their queries, as lists of hits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.core.vectors import Held, Neighbors
from assay.indexes.hits import Hits
from assay.indexes.study.observed import Distribution, Observed, Study
from assay.indexes.sweeps.data import Data
from assay.indexes.trials import Trial


def asked(
    hits: Sequence[int], engine: str = "hnswlib", k: int = 10, ids: Any = None, **more: Any
) -> Observed:
    """A trial of which every query is known; its key is its engine and its search."""
    search = more.pop("search", {})
    trial = Trial(" ".join([engine, *map(str, search.values())]), engine, search=search, k=k, **more)
    counts = np.array(hits, np.int64)
    return Observed(
        trial, Hits(counts, np.full(len(counts), k), k, "strict"), None if ids is None else np.array(ids)
    )


def stated(counts: Sequence[int], engine: str = "HNSW", **more: Any) -> Observed:
    """A trial of which only a histogram is known."""
    return Observed(
        Trial(engine, engine, k=len(counts) - 1, **more), published=Distribution(np.array(counts))
    )


def reported(figures: Mapping[str, float], engine: str = "HNSW", k: int = 10) -> Observed:
    """A trial of which only figures are known."""
    return Observed(Trial(engine, engine, k=k, reported=dict(figures)))


def study(*observed: Observed, data: Data | None = None) -> Study:
    return Study(observed, {}, data, "a study")


def plane(truth: Any, base: Any = None, queries: Any = None, k: int = 1, metric: str = "l2") -> Data:
    """Data whose truth is given; of points where nothing else is said."""
    positions = np.array(truth, np.int64)
    base = np.eye(int(positions.max()) + 1) if base is None else np.asarray(base, np.float64)
    queries = (
        np.zeros((len(positions), base.shape[1])) if queries is None else np.asarray(queries, np.float64)
    )
    return Data(Held(base), Held(queries), Neighbors(positions), metric, k, {})
