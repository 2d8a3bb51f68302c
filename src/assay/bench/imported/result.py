"""One imported result: a trial, with its neighbors if they were stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.bench.sweeps.folder import Pass
from assay.bench.sweeps.identity import content_key
from assay.core.vectors import METRIC_NAMES, Positions


class ImportedResult(NamedTuple):
    """One trial of another harness."""

    record: Mapping[str, Any]  # the content of trial.json
    identity: Mapping[str, Any]  # the fields that identify the trial
    answers: Pass | None = None  # None: no neighbors were stored
    distances: NDArray[np.float64] | None = None  # of the returned ids, as reported

    @property
    def key(self) -> str:
        """The key of the trial, a digest of its identity."""
        return content_key(self.identity)


def make_record(source: str, engine: str, **fields: Any) -> dict[str, Any]:
    """Return the content of trial.json for an imported trial, whose number of threads is unknown."""
    record = {"engine": engine, "source": source, "status": "done", "threads": None}
    return record | {name: value for name, value in fields.items() if value is not None}


def parse_metric(name: str) -> str:
    """Return a metric by any of its names; an unknown name stays unchanged.

    >>> parse_metric("angular"), parse_metric("L2"), parse_metric("hamming")
    ('cosine', 'l2', 'hamming')
    """
    lower = name.lower()
    return METRIC_NAMES.get(lower, lower)


def finite_figures(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures that are present, finite and not negative.

    >>> finite_figures({"qps": 10, "recall": None, "build_seconds": float("nan")})
    {'qps': 10.0}
    """
    numbers = {name: float(value) for name, value in values.items() if value is not None}
    return {name: value for name, value in numbers.items() if isfinite(value) and value >= 0}


def make_pass(ids: Positions, seconds: float, times: NDArray[np.float64] | None = None) -> Pass:
    """Return one pass over all queries in their order; times are the seconds of each query."""
    latencies = np.empty(0, np.int64) if times is None else np.round(times * 1e9).astype(np.int64)
    return Pass(np.arange(len(ids)), ids, latencies, seconds, 0, {})


def digest_arrays(*arrays: NDArray[Any]) -> str:
    """Return a digest of arrays."""
    hash_ = hashlib.blake2b(digest_size=16)
    for array in arrays:
        hash_.update(repr((array.shape, array.dtype.str)).encode())
        hash_.update(np.ascontiguousarray(array).tobytes())
    return hash_.hexdigest()
