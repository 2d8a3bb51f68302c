"""The difficulty of queries, computed without any index, and its relation to failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.bench.studies.scored_trial import ScoredTrial
from assay.core.vectors import Matrix, Positions
from assay.indexes.exact.distances import pair_distances
from assay.indexes.vector_data import VectorData, normalize_rows
from assay.stats.intervals import Estimate, estimate_share
from assay.stats.resampling import resampled_means

Doubles = NDArray[np.float64]
SAMPLE_SIZE = 4000  # vectors of the base in the sample
NEIGHBOR_DEPTH = 100  # neighbors used to estimate the local dimension
RESAMPLES = 1000
_SHRINKAGE = 0.1  # of the covariance, so that directions with little variance do not dominate
_QUERY_BLOCK, _PAIR_BLOCK = 1024, 1 << 14  # queries and pairs computed at a time
_MINIMUM_QUERIES = 4  # for a correlation


def query_difficulty(data: VectorData, seed: int = 0) -> dict[str, Doubles]:
    """Return four measures of the difficulty of each query; NaN if undefined.

    relative_contrast: the mean distance to the base over the distance to the K-th neighbor; low is hard
    (He et al. 2012). lid: the local intrinsic dimension by maximum likelihood from the true neighbors;
    high is hard (Levina and Bickel 2004). hubness: the mean number of other queries that share a
    neighbor. outlyingness: the Mahalanobis distance from the base, relative to that of a median
    vector of the base; high is hard.
    """
    size = min(SAMPLE_SIZE, len(data.base))
    positions = np.random.default_rng(seed).choice(len(data.base), size, replace=False)
    sample = _double_rows(data, data.base.take(positions))
    queries = _double_rows(data, data.queries.to_matrix())
    neighbor_distances, mean_distances = _distances(data, sample, queries)
    return {
        "relative_contrast": _divide(mean_distances, neighbor_distances[:, data.k - 1]),
        "lid": _lid(neighbor_distances),
        "hubness": _hubness(data.truth.positions[:, : data.k]),
        "outlyingness": _outlyingness(sample, queries),
    }


def _double_rows(data: VectorData, rows: Matrix) -> Doubles:
    return normalize_rows(rows) if data.metric == "cosine" else rows.astype(np.float64)


def _divide(numerator: Doubles, denominator: Doubles) -> Doubles:
    """Return numerator / denominator, and NaN if the denominator is 0 or NaN."""
    out = np.full(len(numerator), np.nan)
    quotient: Doubles = np.divide(numerator, denominator, out=out, where=denominator > 0)
    return quotient


def _distances(data: VectorData, sample: Doubles, queries: Doubles) -> tuple[Doubles, Doubles]:
    """Return the Euclidean distances to the true neighbors and the mean distance to the sample.

    For vectors of length 1 the distance is √(2 · (1 − cos)). An inner product is not a distance; it becomes
    one that keeps the order with one additional dimension, in which all vectors of the base get the length of
    the longest (Bachrach et al. 2014).
    """
    neighbor_distances = _neighbor_distances(data)
    query_squares, squares = (queries**2).sum(axis=1), (sample**2).sum(axis=1)
    if data.metric == "ip":
        own = query_squares[:, None]
        squares[:] = max(squares.max(), np.nanmax(-2 * neighbor_distances - own, initial=0))
        neighbor_distances = np.sqrt(np.maximum(own + squares[0] + 2 * neighbor_distances, 0))
    elif data.metric == "cosine":
        neighbor_distances = np.sqrt(np.maximum(2 * neighbor_distances, 0))
    mean_distances = np.empty(len(queries))
    for start in range(0, len(queries), _QUERY_BLOCK):
        block = slice(start, start + _QUERY_BLOCK)
        squared_distances = query_squares[block, None] + squares - 2 * queries[block] @ sample.T
        mean_distances[block] = np.sqrt(np.maximum(squared_distances, 0)).mean(axis=1)
    return neighbor_distances, mean_distances


def _neighbor_distances(data: VectorData) -> Doubles:
    """Compute the distances to the true neighbors, since those in a file may be squared or negated."""
    positions = data.truth.positions[:, : max(NEIGHBOR_DEPTH, data.k)]
    distances = np.full(positions.shape, np.nan)
    step = max(1, _PAIR_BLOCK // positions.shape[1])
    for start in range(0, len(positions), step):
        rows, columns = np.nonzero(positions[start : start + step] >= 0)
        queries, vectors = data.queries.take(rows + start), data.base.take(positions[rows + start, columns])
        distances[rows + start, columns] = pair_distances(data.metric, queries, vectors)
    return distances


def _lid(distances: Doubles) -> Doubles:
    """Return 1 / mean of log(r_K / r_j) over distances above 0 (Levina and Bickel 2004, eq. 8)."""
    positive = np.where(distances > 0, distances, np.nan)
    counts = (~np.isnan(positive)).sum(axis=1)
    farthest = np.where(counts > 0, np.nan_to_num(positive).max(axis=1), 1.0)
    logs = np.nansum(np.log(farthest[:, None] / positive), axis=1)
    return _divide(np.maximum(counts - 1.0, 0.0), logs)


def _hubness(positions: Positions) -> Doubles:
    """Return the mean number of other queries that share a neighbor of each query."""
    is_present = positions >= 0
    occurrences = np.bincount(positions[is_present])
    others = np.where(is_present, occurrences[positions] - 1.0, 0.0).sum(axis=1)
    return _divide(others, is_present.sum(axis=1).astype(np.float64))


def _outlyingness(sample: Doubles, queries: Doubles) -> Doubles:
    """Return the Mahalanobis distance of queries from the base, relative to vectors of the base.

    One half of the sample estimates mean and covariance, the other the distance of vectors of the base.
    """
    reference, others = np.array_split(sample, 2)
    center, d = reference.mean(axis=0), reference.shape[1]
    covariance = (reference - center).T @ (reference - center) / len(reference)
    if len(others) < 2 or not np.trace(covariance):
        return np.full(len(queries), np.nan)
    shrunk = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * np.trace(covariance) / d * np.eye(d)
    precision = np.linalg.inv(shrunk)

    def mahalanobis(rows: Doubles) -> Doubles:
        offsets = rows - center
        distances: Doubles = np.sqrt(np.einsum("ij,ij->i", offsets @ precision, offsets))
        return distances

    return _divide(mahalanobis(queries), np.full(len(queries), np.median(mahalanobis(others))))


class DifficultyRelation(NamedTuple):
    """The relation of a feature of queries to their recall."""

    feature: str
    correlation: Estimate  # rank correlation (Spearman)
    quartiles: tuple[Estimate, ...]  # the share of failing queries by ascending quarter of the feature


def difficulty_relations(
    scored_trial: ScoredTrial, features: Mapping[str, Doubles], delta: float
) -> list[DifficultyRelation]:
    """Return the relation of each feature to recall and to failing at δ, for queries with known recall."""
    if scored_trial.hits is None:
        return []
    recall, fails = scored_trial.hits.recall, scored_trial.hits.reaches(delta) == 0
    rows, correlations = [], spearman(list(features.values()), recall)
    for (name, values), correlation in zip(features.items(), correlations, strict=True):
        is_known = ~(np.isnan(values) | np.isnan(recall))
        rows.append(DifficultyRelation(name, correlation, _quartiles(values[is_known], fails[is_known])))
    return rows


def _quartiles(values: Doubles, fails: NDArray[np.bool_]) -> tuple[Estimate, ...]:
    """Return the share that fails in each quarter; equal values stay together, so a quarter may be empty."""
    if not len(values):
        return (estimate_share(0, 0),) * 4
    quarters = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
    return tuple(
        estimate_share(int(fails[quarters == quarter].sum()), int((quarters == quarter).sum()))
        for quarter in range(4)
    )


def spearman(
    columns: Sequence[Doubles], values: Doubles, level: float = 0.95, seed: int = 0
) -> list[Estimate]:
    """Return the rank correlation of each column with the values (NaN: ignored), with a bootstrap interval.

    It is undefined if either is constant.

    >>> [estimate.value for estimate in spearman([np.arange(5.0), np.ones(5)], np.arange(5.0) ** 2)]
    [1.0, None]
    """
    if not columns:
        return []
    # The ranks of all queries are kept: ranking each resample would change the interval by a few per cent.
    rank_terms = [_rank_terms(column, values) for column in columns]
    means = resampled_means(np.hstack(rank_terms), RESAMPLES, seed)
    pairs = zip(rank_terms, np.hsplit(means, len(columns)), strict=True)
    return [_correlation(terms, resampled_terms, level) for terms, resampled_terms in pairs]


def _rank_terms(column: Doubles, values: Doubles) -> Doubles:
    """Return the centered ranks of both, with their squares and their product."""
    from scipy.stats import rankdata

    is_known = ~(np.isnan(column) | np.isnan(values))
    a, b = (rankdata(numbers[is_known]) - (is_known.sum() + 1) / 2 for numbers in (column, values))
    terms = np.full((len(values), 5), np.nan)
    terms[is_known] = np.column_stack((a, b, a * a, b * b, a * b))
    return terms


def _correlation(terms: Doubles, resampled_terms: Doubles, level: float) -> Estimate:
    rows = terms[~np.isnan(terms[:, 0])]
    a, b, aa, bb, ab = resampled_terms.T
    spread = np.sqrt(np.maximum((aa - a * a) * (bb - b * b), 0))
    norm = float(np.sqrt(rows[:, 2].sum() * rows[:, 3].sum()))
    if len(rows) < _MINIMUM_QUERIES or not norm:
        return Estimate(None, None, None, level, len(rows))
    resampled_correlations = ((ab - a * b) / np.maximum(spread, 1e-12))[spread > 1e-12]
    low, high = np.quantile(resampled_correlations, [0.5 - level / 2, 0.5 + level / 2]).tolist()
    value = float(rows[:, 4].sum()) / norm
    return Estimate(value, low, high, level, len(rows), is_resampled=True)
