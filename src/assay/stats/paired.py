"""Tests of paired differences: p for each column of an n × m table (NaN: left out).

Each asks how often a difference at least as large, either way, comes about where there is none.
Where nothing can be said (fewer than two queries) p is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.core.texts import Floats
from assay.stats import resampling

_FEW = 13  # ranks up to which scipy tries all signs where some are tied


def t(differences: Floats) -> Floats:
    """Student's paired t test, as scipy.stats.ttest_rel.

    Where all differences of a column are equal, t is undefined; the exact randomisation test then
    answers in its place: 1 where they are 0, 2^(1 - n) where they are not.
    """
    from scipy.special import stdtr

    n = np.count_nonzero(~np.isnan(differences), axis=0)
    mean, deviation = moments(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(mean) / (deviation / np.sqrt(np.maximum(n, 1))))
    return _where_two(_where_unequal(p, differences), n)


def wilcoxon(differences: Floats) -> Floats:
    """Wilcoxon's signed ranks of the differences that are not 0, as scipy.stats.wilcoxon has it for them."""
    from scipy.stats import rankdata
    from scipy.stats import wilcoxon as signed_ranks

    def one(column: Floats) -> float:
        moved = column[column != 0]
        if len(moved) > _FEW:
            return float(signed_ranks(moved).pvalue)
        ranks = rankdata(np.abs(moved)) * np.sign(moved)  # all signs are tried, as scipy does, but at once
        return float(resampling.randomisation(ranks[:, None], 2**_FEW)[0])

    return _each(differences, one)


def sign(differences: Floats) -> Floats:
    """The sign test: whether more queries got better than worse (ties left out), exact.

    >>> sign(np.array([[0.1], [0.3], [0.2], [0.1], [0.0]])).tolist()
    [0.125]
    """
    up, down = (np.count_nonzero(side, axis=0) for side in (differences > 0, differences < 0))
    return _where_two(
        _coin(np.minimum(up, down), up + down), np.count_nonzero(~np.isnan(differences), axis=0)
    )


mcnemar = sign  # of passes and failures: only the queries that pass in one and fail in the other count


def randomisation(differences: Floats, permutations: int = resampling.PERMUTATIONS, seed: int = 0) -> Floats:
    """Fisher's randomisation test: the signs of the differences flipped at random."""
    p = resampling.randomisation(differences, permutations, seed)
    return _where_two(p, np.count_nonzero(~np.isnan(differences), axis=0))


def bootstrap(differences: Floats, resamples: int = resampling.PERMUTATIONS, seed: int = 0) -> Floats:
    """The paired bootstrap of Student's t, moved to where the mean is 0 (Efron and Tibshirani 1993, 16.4).

    Of the mean alone it would give a false alarm for one in ten sets of ten queries, not one in twenty.
    """
    n = np.count_nonzero(~np.isnan(differences), axis=0)
    mean, deviation = moments(differences)
    centred = differences - mean
    made = resampling.resampled_means(np.hstack((centred, centred**2)), resamples, seed)
    means, squares = np.hsplit(made, 2)
    variance = deviation**2 * (n - 1) / np.maximum(n, 1)
    least = (1 - 1e-9) * mean**2 * (squares - means**2)  # times, not over: a sample's spread may be 0
    hits = np.count_nonzero(means**2 * variance >= least, axis=0)
    return _where_two(_where_unequal((hits + 1) / (resamples + 1), differences), n)


TESTS: dict[str, Callable[..., Floats]] = {
    "t": t,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "randomisation": randomisation,
    "bootstrap": bootstrap,
}


def moments(differences: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (n - 1) of each column; NaN where there are too few."""
    known = ~np.isnan(differences)
    n = known.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known, differences, 0.0).sum(axis=0) / n
        spread = (np.where(known, differences - mean, 0.0) ** 2).sum(axis=0)
        return mean, np.sqrt(spread / np.where(n > 1, n - 1, np.nan))


def _coin(fewer: Floats, n: Floats) -> Floats:
    """Twice the chance of so few heads or fewer in n throws of a fair coin, at most 1."""
    from scipy.special import bdtr

    p: Floats = np.minimum(2 * bdtr(fewer, np.maximum(n, 1), 0.5), 1.0)
    return np.where(n == 0, 1.0, p)


def _each(differences: Floats, one: Callable[[Floats], float]) -> Floats:
    p = np.array([one(column[~np.isnan(column)]) for column in differences.T])
    return _where_two(p, np.count_nonzero(~np.isnan(differences), axis=0))


def _where_unequal(p: Floats, differences: Floats) -> Floats:
    """p where the differences of a column differ; else that of the exact randomisation test."""
    mean, deviation = moments(differences)
    flat = deviation <= 1e-12 * np.abs(np.nan_to_num(differences)).max(axis=0, initial=0)
    n = np.count_nonzero(~np.isnan(differences), axis=0)
    return np.where(flat, np.where(mean == 0, 1.0, 2.0 ** (1 - n)), p)


def _where_two(p: Floats, n: Floats) -> Floats:
    """p where there are two queries at least."""
    return np.where(n >= 2, p, np.nan)
