"""What makes a query hard, told without any index, and whether those that are hard fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Matrix, Positions
from assay.indexes.exact.distances import of_pairs
from assay.indexes.study.observed import Observed
from assay.indexes.sweeps.data import Data, unit
from assay.stats.intervals import Estimate, wilson
from assay.stats.resampling import resampled_means

Doubles = NDArray[np.float64]
SAMPLE = 4000  # vectors of the base that stand for all
DEPTH = 100  # neighbours that tell how a neighbourhood grows
RESAMPLES = 1000
_SHRUNK = 0.1  # of the covariance: so that directions which the sample hardly has do not decide
_QUERIES, _PAIRS = 1024, 1 << 14  # at a time
_FEWEST = 4  # queries for a correlation


def difficulty(data: Data, seed: int = 0) -> dict[str, Doubles]:
    """How hard each query is, in four ways; NaN where that is undefined.

    relative_contrast: the mean distance to the base over that to the K-th neighbour; low is hard
    (He et al. 2012). lid: the local intrinsic dimension by maximum likelihood from the true neighbours;
    high is hard (Levina and Bickel 2004). hubness: how many other queries have the same neighbours, on
    average. outlyingness: the Mahalanobis distance from the base, 1 being that of a usual
    vector of it; high is hard.
    """
    size = min(SAMPLE, len(data.base))
    chosen = np.random.default_rng(seed).choice(len(data.base), size, replace=False)
    sample, queries = _rows(data, data.base.take(chosen)), _rows(data, data.queries.whole())
    near, far = _distances(data, sample, queries)
    return {
        "relative_contrast": _over(far, near[:, data.k - 1]),
        "lid": _lid(near),
        "hubness": _hubness(data.truth.positions[:, : data.k]),
        "outlyingness": _outlyingness(sample, queries),
    }


def _rows(data: Data, rows: Matrix) -> Doubles:
    return unit(rows) if data.metric == "cosine" else rows.astype(np.float64)


def _over(top: Doubles, bottom: Doubles) -> Doubles:
    """top / bottom, and NaN where bottom is 0 or is not known."""
    made: Doubles = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return made


def _distances(data: Data, sample: Doubles, queries: Doubles) -> tuple[Doubles, Doubles]:
    """The distances to the true neighbours, and the mean distance to the sample, all Euclidean.

    Of vectors of length 1 that is √(2 · (1 − cos)). An inner product is no distance; it becomes one that
    keeps the order by one dimension more, in which all vectors of the base get the length of the longest
    that was seen (Bachrach et al. 2014).
    """
    near = _to_neighbors(data)
    own, squares = (queries**2).sum(axis=1), (sample**2).sum(axis=1)
    if data.metric == "ip":
        squares[:] = max(squares.max(), np.nanmax(-2 * near - own[:, None], initial=0))
        near = np.sqrt(np.maximum(own[:, None] + squares[0] + 2 * near, 0))
    elif data.metric == "cosine":
        near = np.sqrt(np.maximum(2 * near, 0))
    far = np.empty(len(queries))
    for at in range(0, len(queries), _QUERIES):
        some = slice(at, at + _QUERIES)
        apart = own[some, None] + squares - 2 * queries[some] @ sample.T
        far[some] = np.sqrt(np.maximum(apart, 0)).mean(axis=1)
    return near, far


def _to_neighbors(data: Data) -> Doubles:
    """The distances to the true neighbours, computed anew: those of a file may be squared, or negated."""
    positions = data.truth.positions[:, : max(DEPTH, data.k)]
    made = np.full(positions.shape, np.nan)
    step = max(1, _PAIRS // positions.shape[1])
    for at in range(0, len(positions), step):
        rows, columns = np.nonzero(positions[at : at + step] >= 0)
        queries, vectors = data.queries.take(rows + at), data.base.take(positions[rows + at, columns])
        made[rows + at, columns] = of_pairs(data.metric, queries, vectors)
    return made


def _lid(near: Doubles) -> Doubles:
    """One over the mean of log(r_K / r_j), of distances above 0 (Levina and Bickel 2004, eq. 8)."""
    positive = np.where(near > 0, near, np.nan)
    there = (~np.isnan(positive)).sum(axis=1)
    farthest = np.where(there > 0, np.nan_to_num(positive).max(axis=1), 1.0)
    logs = np.nansum(np.log(farthest[:, None] / positive), axis=1)
    return _over(np.maximum(there - 1.0, 0.0), logs)


def _hubness(positions: Positions) -> Doubles:
    """How many other queries have the neighbours of a query, on average over them."""
    there = positions >= 0
    times = np.bincount(positions[there])
    others = np.where(there, times[positions] - 1.0, 0.0).sum(axis=1)
    return _over(others, there.sum(axis=1).astype(np.float64))


def _outlyingness(sample: Doubles, queries: Doubles) -> Doubles:
    """How far queries are from the middle of the base, in its own directions, beside vectors of the base.

    One half of the sample says what the base is like, the other how far its own vectors are.
    """
    some, rest = np.array_split(sample, 2)
    middle, d = some.mean(axis=0), some.shape[1]
    spread = (some - middle).T @ (some - middle) / len(some)
    if len(rest) < 2 or not np.trace(spread):
        return np.full(len(queries), np.nan)
    whole = np.linalg.inv((1 - _SHRUNK) * spread + _SHRUNK * np.trace(spread) / d * np.eye(d))

    def away(rows: Doubles) -> Doubles:
        apart = rows - middle
        made: Doubles = np.sqrt(np.einsum("ij,ij->i", apart @ whole, apart))
        return made

    return _over(away(queries), np.full(len(queries), np.median(away(rest))))


class Relation(NamedTuple):
    """How a feature of queries goes with their recall."""

    feature: str
    correlation: Estimate  # of ranks (Spearman)
    quartiles: tuple[Estimate, ...]  # the share that fails, from the quarter with the least of it to the most


def relations(observed: Observed, features: Mapping[str, Doubles], delta: float) -> list[Relation]:
    """How each feature goes with the recall of queries and with failing at δ, where that is known."""
    if observed.hits is None:
        return []
    recall, fails = observed.hits.recall, observed.hits.reaching(delta) == 0
    made = []
    for (name, values), found in zip(
        features.items(), spearman(list(features.values()), recall), strict=True
    ):
        known = ~(np.isnan(values) | np.isnan(recall))
        made.append(Relation(name, found, _quartiles(values[known], fails[known])))
    return made


def _quartiles(values: Doubles, fails: NDArray[np.bool_]) -> tuple[Estimate, ...]:
    """The share that fails in each quarter; equal values stay together, so that one may be empty."""
    if not len(values):
        return (wilson(0, 0),) * 4
    of = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
    return tuple(wilson(int(fails[of == quarter].sum()), int((of == quarter).sum())) for quarter in range(4))


def spearman(
    columns: Sequence[Doubles], values: Doubles, level: float = 0.95, seed: int = 0
) -> list[Estimate]:
    """The correlation of ranks of each column with the values (NaN: left out), with its bootstrap interval.

    It is undefined where one of both is constant.

    >>> [found.value for found in spearman([np.arange(5.0), np.ones(5)], np.arange(5.0) ** 2)]
    [1.0, None]
    """
    if not columns:
        return []
    # Ranks stay those of all queries: to rank each sample anew changes the interval by a few per cent.
    ranked = [_ranked(column, values) for column in columns]
    means = resampled_means(np.hstack(ranked), RESAMPLES, seed)
    each = zip(ranked, np.hsplit(means, len(columns)), strict=True)
    return [_correlation(found, drawn, level) for found, drawn in each]


def _ranked(column: Doubles, values: Doubles) -> Doubles:
    """The ranks of both, as distances from their means, with their squares and their product."""
    from scipy.stats import rankdata

    known = ~(np.isnan(column) | np.isnan(values))
    a, b = (rankdata(found[known]) - (known.sum() + 1) / 2 for found in (column, values))
    made = np.full((len(values), 5), np.nan)
    made[known] = np.column_stack((a, b, a * a, b * b, a * b))
    return made


def _correlation(ranked: Doubles, drawn: Doubles, level: float) -> Estimate:
    known = ranked[~np.isnan(ranked[:, 0])]
    a, b, aa, bb, ab = drawn.T
    spread = np.sqrt(np.maximum((aa - a * a) * (bb - b * b), 0))
    whole = float(np.sqrt(known[:, 2].sum() * known[:, 3].sum()))
    if len(known) < _FEWEST or not whole:
        return Estimate(None, None, None, level, len(known))
    drawn_anew = ((ab - a * b) / np.maximum(spread, 1e-12))[spread > 1e-12]
    low, high = np.quantile(drawn_anew, [0.5 - level / 2, 0.5 + level / 2]).tolist()
    return Estimate(float(known[:, 4].sum()) / whole, low, high, level, len(known))
