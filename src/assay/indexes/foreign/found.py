"""What was found in others' results: one trial, with its neighbours where they were kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import METRIC_NAMES, Positions
from assay.indexes.sweeps.plan import name_of
from assay.indexes.sweeps.results import Repetition


class Found(NamedTuple):
    """One trial of others."""

    told: Mapping[str, Any]  # as it is kept in trial.json
    same: Mapping[str, Any]  # what makes it this trial and no other
    answers: Repetition | None = None  # None: no neighbours were kept
    distances: NDArray[np.float64] | None = None  # of what was returned, as reported

    @property
    def key(self) -> str:
        """The name of the trial by its content."""
        return name_of(self.same)


def told(source: str, engine: str, **more: Any) -> dict[str, Any]:
    """What trial.json holds of a trial that others measured; how many threads it had is not known."""
    made = {"engine": engine, "source": source, "status": "done", "threads": None}
    return made | {name: value for name, value in more.items() if value is not None}


def metric_of(word: str) -> str:
    """A metric by any of its names; a name that is not known stays as it is.

    >>> metric_of("angular"), metric_of("L2"), metric_of("hamming")
    ('cosine', 'l2', 'hamming')
    """
    lower = word.lower()
    return METRIC_NAMES.get(lower, lower)


def figures(values: Mapping[str, Any]) -> dict[str, float]:
    """The figures that were measured: what is missing, not finite or below 0 is left out.

    >>> figures({"qps": 10, "recall": None, "build_seconds": float("nan")})
    {'qps': 10.0}
    """
    known = {name: float(value) for name, value in values.items() if value is not None}
    return {name: value for name, value in known.items() if isfinite(value) and value >= 0}


def passed(ids: Positions, seconds: float, times: NDArray[np.float64] | None = None) -> Repetition:
    """One pass over all queries, in their order; times are in seconds, for each query."""
    latencies = np.empty(0, np.int64) if times is None else np.round(times * 1e9).astype(np.int64)
    return Repetition(np.arange(len(ids)), ids, latencies, seconds, 0, {})


def digest(*arrays: NDArray[Any]) -> str:
    """A name for arrays by their content."""
    made = hashlib.blake2b(digest_size=16)
    for array in arrays:
        made.update(repr((array.shape, array.dtype.str)).encode())
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()
