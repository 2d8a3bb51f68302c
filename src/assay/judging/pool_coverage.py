"""What a pool costs and covers, before anyone judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Bools
from assay.judging.pooling import PoolFrame, depth_costs

_DEPTHS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)


class DepthCost(NamedTuple):
    """The cost and the coverage of all pairs down to a depth."""

    depth: int
    pairs: int  # without labels
    hours: float
    judged: Mapping[str, float | None]  # Judged@k of each run

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as plain data."""
        return {**self._asdict(), "judged": dict(self.judged)}


class RunCoverage(NamedTuple):
    """What a pool covers of one run, and what the run adds to it."""

    run: str
    judged: float | None  # Judged@k with the pool
    already: float | None  # with the labels that exist
    unique: int  # pairs of the pool that only this run has
    without: float | None  # Judged@k of its documents if it had not been pooled

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage as plain data."""
        return self._asdict()


def judged_share(frame: PoolFrame, labels: Bools, k: int) -> list[float | None]:
    """Return Judged@k of each run, the mean over its queries, if these pairs had labels."""
    shares: list[float | None] = []
    for ranks in frame.ranks.T:
        in_top = (ranks > 0) & (ranks <= k)
        top = np.bincount(frame.query[in_top], minlength=len(frame.query_ids))
        judged = np.bincount(frame.query[in_top & labels], minlength=len(frame.query_ids))
        answered = top > 0
        shares.append(float((judged[answered] / top[answered]).mean()) if answered.any() else None)
    return shares


def cost_by_depth(frame: PoolFrame, judged: Bools, depth: int, k: int, rate: float) -> list[DepthCost]:
    """Return the cost and the coverage of depths up to the given one; `rate`: pairs judged in an hour."""
    depths = sorted({d for d in _DEPTHS if d < depth} | {depth})
    costs = depth_costs(frame, judged, depths).tolist()
    return [
        DepthCost(d, pairs, pairs / rate, _by_run(frame, (frame.best_rank <= d) | judged, k))
        for d, pairs in zip(depths, costs, strict=True)
    ]


def _by_run(frame: PoolFrame, labels: Bools, k: int) -> dict[str, float | None]:
    return dict(zip(frame.runs, judged_share(frame, labels, k), strict=True))


def cover_runs(frame: PoolFrame, judged: Bools, in_pool: Bools, k: int) -> list[RunCoverage]:
    """Return what the pool covers of each run."""
    retrieved = frame.ranks > 0
    with_pool, before = judged_share(frame, judged | in_pool, k), judged_share(frame, judged, k)
    coverages = []
    for number, run in enumerate(frame.runs):
        others = np.delete(retrieved, number, axis=1).any(axis=1)
        unique = int((in_pool & retrieved[:, number] & ~others).sum())
        without = judged_share(frame, judged | (in_pool & others), k)[number]
        coverages.append(RunCoverage(run, with_pool[number], before[number], unique, without))
    return coverages
