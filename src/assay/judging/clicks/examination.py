"""EM for models in which a click is an examination of a position and an attraction of a document."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.judging.clicks.cells import Cells
from assay.judging.clicks.model import FitProgress, FitSettings
from assay.stats.intervals import Estimate

_LEAST_QUERIES = 5  # of equal size, for a variance between queries
_LEAST_HALF_WIDTH = 1e-9  # of a logarithm; less is rounding
_BLOCK_VALUES = 1 << 22
_CACHE_VALUES = 1 << 15
_MOST_EMPTY = 2  # places of a table of pairs and groups for each cell


class ExaminationFit(NamedTuple):
    """The attraction of each pair, the examination of each group of positions, and the cells they fit."""

    cells: Cells
    attraction: Floats
    examination: Floats  # NaN: the group was never shown
    progress: FitProgress


def fit_examination(cells: Cells, settings: FitSettings) -> ExaminationFit:
    """Maximise the likelihood by EM from the prior mean (Chuklin, Markov and de Rijke 2015, section 4.2.2).

    Every impression with a click was examined and attractive; of the others, the shares are expected.
    """
    attraction = np.full(len(cells.pairs), settings.prior_mean)
    examination = np.full(cells.groups, settings.prior_mean)
    shown = cells.sum_by_pair(cells.shown), cells.sum_by_group(cells.shown)
    clicked = cells.sum_by_pair(cells.clicked), cells.sum_by_group(cells.clicked)
    expect, change = _choose_expectation(cells), np.inf
    for _ in range(settings.iterations):
        attracted, examined = expect(attraction, examination)
        before = examination
        attraction = settings.smooth(clicked[0] + attracted, shown[0])
        examination = settings.smooth(clicked[1] + examined, shown[1])
        change = float(np.abs(examination - before).max())
    examination[shown[1] == 0] = np.nan
    return ExaminationFit(cells, attraction, examination, FitProgress(settings.iterations, change))


_Expectation = Callable[[Floats, Floats], tuple[Floats, Floats]]


def _choose_expectation(cells: Cells) -> _Expectation:
    """Return the E-step: attractions of pairs and examinations of groups expected without a click."""
    is_dense = len(cells.pairs) * cells.groups <= _MOST_EMPTY * len(cells.pair)
    return _expect_dense(cells) if is_dense else _expect_sparse(cells)


def _expect_sparse(cells: Cells) -> _Expectation:
    not_clicked = cells.not_clicked

    def expect(attraction: Floats, examination: Floats) -> tuple[Floats, Floats]:
        attracted, examined = attraction[cells.pair], examination[cells.group]
        weights = not_clicked / (1 - attracted * examined)
        by_pair = cells.sum_by_pair(weights * (1 - examined))
        return attraction * by_pair, examination * cells.sum_by_group(weights * (1 - attracted))

    return expect


def _expect_dense(cells: Cells) -> _Expectation:
    """Return the E-step on a table of pairs and groups, in blocks of pairs that fit the cache."""
    not_clicked = np.zeros((len(cells.pairs), cells.groups))
    not_clicked[cells.pair, cells.group] = cells.not_clicked
    rows = max(1, _CACHE_VALUES // cells.groups)
    starts = range(0, len(not_clicked), rows)

    def expect(attraction: Floats, examination: Floats) -> tuple[Floats, Floats]:
        unexamined, by_pair = 1 - examination, np.empty(len(attraction))

        def expect_block(begin: int) -> Floats:
            part = slice(begin, begin + rows)
            attracted = attraction[part]
            weights = np.multiply.outer(attracted, -examination)
            weights += 1
            np.divide(not_clicked[part], weights, out=weights)
            np.dot(weights, unexamined, out=by_pair[part])
            block: Floats = (1 - attracted) @ weights
            return block

        by_group = np.sum(list(map(expect_block, starts)), axis=0)
        return attraction * by_pair, examination * by_group

    return expect


def attraction_information(fit: ExaminationFit) -> Floats:
    """Return how many certainly examined impressions of each pair would tell as much of its attraction."""
    attracted, examined = fit.attraction[fit.cells.pair], fit.examination[fit.cells.group]
    expected = fit.cells.shown * examined / (attracted * (1 - attracted * examined))
    return fit.attraction * (1 - fit.attraction) * fit.cells.sum_by_pair(expected)


def relative_examination(fit: ExaminationFit, level: float) -> list[Estimate]:
    """Return the examination of each group divided by that of the first, with intervals.

    Only ratios are determined by clicks: halving all examinations and doubling all attractions gives the
    same chances. In logarithms the model is additive, so the attractions are eliminated from the information
    matrix; the variance is clustered by query (a sandwich), since the clicks on a page are dependent. A group
    that no chain of documents shown at several ranks joins to the first has no ratio: only the prior gave it.
    """
    cells, shown = fit.cells, fit.cells.sum_by_group(fit.cells.shown)
    used = np.flatnonzero((shown > 0) & _is_joined_to_first(cells, shown))
    ratios = np.full(cells.groups, np.nan)
    ratios[used] = fit.examination[used] / fit.examination[0]
    queries = _effective_queries(cells)
    half = np.full(cells.groups, np.nan)
    half[used[:1]] = 0.0
    if queries >= _LEAST_QUERIES and len(used) > 1:
        half[used[1:]] = _half_widths(fit, used[1:], level, queries)
    impressions = shown.astype(int).tolist()
    return [
        _ratio_estimate(*row, level=level) for row in zip(ratios.tolist(), half, impressions, strict=True)
    ]


def _is_joined_to_first(cells: Cells, shown: Floats) -> Bools:
    """Return which groups share a pair with the first that was shown, or with one that is joined to it."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = cells.groups + len(cells.pairs)
    edges = coo_array((cells.shown > 0, (cells.group, cells.groups + cells.pair)), (nodes, nodes))
    component = connected_components(edges, directed=False)[1][: cells.groups]
    return np.asarray(component == component[np.argmax(shown > 0)])


def _ratio_estimate(ratio: float, half: float, n: int, level: float) -> Estimate:
    if np.isnan(ratio):
        return Estimate(None, None, None, level, n)
    if np.isnan(half):
        return Estimate(ratio, None, None, level, n)
    return Estimate(ratio, ratio * float(np.exp(-half)), ratio * float(np.exp(half)), level, n)


def _effective_queries(cells: Cells) -> float:
    """Return the number of queries of equal size that would be as many clusters (Σn)² / Σn²."""
    _, query = np.unique(cells.pairs.query_codes, return_inverse=True)
    shown = np.bincount(query, cells.pairs.impressions)
    return float(shown.sum() ** 2 / (shown**2).sum())


def _half_widths(fit: ExaminationFit, used: Ints, level: float, queries: float) -> Floats:
    """Return half the width of the interval of the logarithm of each ratio."""
    from scipy.special import stdtrit

    information, scores = _information_and_scores(fit)
    bread = np.linalg.pinv(information[np.ix_(used, used)])
    scores = scores[:, used]
    covariance = bread @ (scores.T @ scores) @ bread * queries / (queries - 1)
    half = np.sqrt(np.maximum(np.diag(covariance), 0)) * float(stdtrit(queries - 1, 0.5 + level / 2))
    return np.where(half > _LEAST_HALF_WIDTH, half, np.nan)  # without a spread, queries tell no width


def _information_and_scores(fit: ExaminationFit) -> tuple[Floats, Floats]:
    """Return the information of the logarithms of the examinations, and the score of each query."""
    cells = fit.cells
    chance = fit.attraction[cells.pair] * np.nan_to_num(fit.examination)[cells.group]
    weight = cells.shown * chance / (1 - chance)
    score = cells.clicked - cells.not_clicked * chance / (1 - chance)
    of_pair = np.maximum(cells.sum_by_pair(weight), 1e-300)
    score = score - weight * (cells.sum_by_pair(score) / of_pair)[cells.pair]
    _, query = np.unique(cells.pairs.query_codes, return_inverse=True)
    codes = query[cells.pair] * cells.groups + cells.group
    scores = np.bincount(codes, score, (int(query.max()) + 1) * cells.groups).reshape(-1, cells.groups)
    information = np.diag(cells.sum_by_group(weight))
    rows = max(1, _BLOCK_VALUES // cells.groups)
    for begin in range(0, len(cells.pairs), rows):
        end = min(begin + rows, len(cells.pairs))
        part = slice(*np.searchsorted(cells.pair, (begin, end)))
        dense = np.zeros((end - begin, cells.groups))
        dense[cells.pair[part] - begin, cells.group[part]] = weight[part]
        information -= dense.T @ (dense / of_pair[begin:end, None])
    return information, scores.astype(np.float64, copy=False)
