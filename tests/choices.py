"""What tests of a choice share: trials whose answers are known, query by query."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.indexes.hits import Hits
from assay.indexes.study.observed import Observed, Study
from assay.indexes.trials import Spread, Trial


def seen(
    name: str, hits: Sequence[int] | None, qps: float | None = 100.0, *, passes: int = 3, **more: Any
) -> Observed:
    """A trial with so many hits of ten for each query, or failed, or with figures alone."""
    spread = None if qps is None else Spread(qps, 0.9 * qps, 1.1 * qps, passes)
    trial = Trial(name, name, qps=spread, **more)
    if hits is None:
        return Observed(trial)
    counts = np.array(hits, np.int64)
    return Observed(trial, Hits(counts, np.full(len(counts), 10, np.int64), 10, "ties"))


def stated(name: str, **reported: float) -> Observed:
    """A trial of which others state figures."""
    return Observed(Trial(name, name, reported=reported))


def study(*observed: Observed) -> Study:
    """Trials of the same data."""
    return Study(observed, {}, None, "somewhere")
