"""What tests of a choice share: trials whose answers are known, query by query."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import PassSpread, Trial
from assay.indexes.hits import Hits


def measured_trial(
    name: str, hits: Sequence[int] | None, qps: float | None = 100.0, *, passes: int = 3, **more: Any
) -> ScoredTrial:
    """A trial with so many hits of ten for each query, or failed, or with figures alone."""
    spread = None if qps is None else PassSpread(qps, 0.9 * qps, 1.1 * qps, passes)
    trial = Trial(name, name, qps=spread, **more)
    if hits is None:
        return ScoredTrial(trial)
    counts = np.array(hits, np.int64)
    return ScoredTrial(trial, Hits(counts, np.full(len(counts), 10, np.int64), 10, "ties"))


def reported_trial(name: str, **reported: float) -> ScoredTrial:
    """A trial of which others state figures."""
    return ScoredTrial(Trial(name, name, reported=reported))


def make_study(*observed: ScoredTrial) -> Study:
    """Trials of the same data."""
    return Study(observed, {}, None, "somewhere")
