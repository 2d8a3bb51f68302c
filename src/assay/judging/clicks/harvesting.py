"""Position bias from documents that were shown at several ranks for the same query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.judging.clicks.cells import Cells
from assay.stats.intervals import Estimate

_GROUPS = 20  # of queries, which are left out one after the other
_BLOCK_VALUES = 1 << 22


class HarvestedExamination(NamedTuple):
    """The examination of each rank relative to rank 1, and how many pairs it rests on."""

    relative: list[Estimate]  # n: pairs that were shown at this rank and at another
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as plain data."""
        return {"examination_relative": [e.to_dict() for e in self.relative], "pairs": self.pairs}


def harvest_examination(cells: Cells, level: float) -> HarvestedExamination:
    """Estimate examination from all pairs of ranks between which documents moved (Agarwal et al. 2019).

    At both ranks the same documents are shown, so the ratio of their click rates is that of the
    examinations; the logarithms of the ratios are fitted by weighted least squares. Nothing is assumed of
    the relevance of documents. The interval is a jackknife over 20 groups of queries.
    """
    from scipy.special import stdtrit

    sums, moved, pairs = _sum_rates(cells)
    fitted = _fit_logarithms(sums.sum(axis=0))
    parts = np.array(
        [_fit_logarithms(np.delete(sums, group, axis=0).sum(axis=0)) for group in range(_GROUPS)]
    )
    spread = np.sqrt((_GROUPS - 1) / _GROUPS * ((parts - parts.mean(axis=0)) ** 2).sum(axis=0))
    half = float(stdtrit(_GROUPS - 1, 0.5 + level / 2)) * spread
    rows = zip(fitted.tolist(), half.tolist(), moved.tolist(), strict=True)
    return HarvestedExamination([_estimate(*row, level=level) for row in rows], pairs)


def _estimate(logarithm: float, half: float, n: int, level: float) -> Estimate:
    if np.isnan(logarithm):
        return Estimate(None, None, None, level, n)
    low, high = (None if np.isnan(half) else float(np.exp(logarithm + sign * half)) for sign in (-1, 1))
    return Estimate(float(np.exp(logarithm)), low, high, level, n)


def _sum_rates(cells: Cells) -> tuple[Floats, Ints, int]:
    """Return, for groups of queries, rank r and rank s: clicks at r of documents also shown at s, weighted.

    The weight of a pair of ranks gives a document the same impressions at both: their harmonic mean.
    The second value is the number of pairs at each rank that were also shown at another, then that of pairs.
    """
    ranks = cells.groups
    sums = np.zeros((_GROUPS, ranks, ranks))
    moved, pairs = np.zeros(ranks, np.int64), 0
    group = cells.pairs.query_codes % _GROUPS
    rows = max(1, _BLOCK_VALUES // (ranks * ranks))
    for begin in range(0, len(cells.pairs), rows):
        end = min(begin + rows, len(cells.pairs))
        part = slice(*np.searchsorted(cells.pair, (begin, end)))
        shown, clicked = (np.zeros((end - begin, ranks)) for _ in range(2))
        place = cells.pair[part] - begin, cells.group[part]
        shown[place], clicked[place] = cells.shown[part], cells.clicked[part]
        is_moved = (shown > 0).sum(axis=1) > 1
        shown, clicked, groups = shown[is_moved], clicked[is_moved], group[begin:end][is_moved]
        moved, pairs = moved + (shown > 0).sum(axis=0), pairs + len(shown)
        both = shown[:, :, None] * shown[:, None, :]
        weights = np.divide(
            both, shown[:, :, None] + shown[:, None, :], out=np.zeros_like(both), where=both > 0
        )
        rates = np.divide(clicked, shown, out=np.zeros_like(clicked), where=shown > 0)
        np.add.at(sums, groups, weights * rates[:, :, None])
    return sums, moved, pairs


def _fit_logarithms(sums: Floats) -> Floats:
    """Return the logarithm of the examination of each rank, 0 at rank 1; NaN: not connected to rank 1."""
    ranks = len(sums)
    r, s = np.triu_indices(ranks, 1)
    is_known = (sums[r, s] > 0) & (sums[s, r] > 0)
    r, s = r[is_known], s[is_known]
    weights = 1 / (1 / sums[r, s] + 1 / sums[s, r])
    differences = np.log(sums[r, s] / sums[s, r])
    laplacian, right = np.zeros((ranks, ranks)), np.zeros(ranks)
    for a, b, sign in ((r, s, 1), (s, r, -1)):
        np.add.at(laplacian, (a, a), weights)
        np.add.at(laplacian, (a, b), -weights)
        np.add.at(right, a, sign * weights * differences)
    reached = _connected_to_first(laplacian)
    fitted = np.full(ranks, np.nan)
    fitted[0] = 0.0 if len(r) else np.nan
    rest = np.flatnonzero(reached)[1:]
    if len(rest):
        fitted[rest] = np.linalg.solve(laplacian[np.ix_(rest, rest)], right[rest])
    return fitted


def _connected_to_first(laplacian: Floats) -> Any:
    """Return which ranks are linked to rank 1 by documents that moved."""
    reached = np.zeros(len(laplacian), bool)
    reached[0] = True
    for _ in range(len(laplacian)):
        reached |= (laplacian[:, reached] != 0).any(axis=1)
    return reached
