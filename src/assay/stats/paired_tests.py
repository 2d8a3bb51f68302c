"""Tests of paired differences: p for each column of an n × m table (NaN: ignored).

The tests are two-sided, of the null hypothesis that there is no difference. With fewer than two
queries p is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.core.arrays import Floats
from assay.stats import resampling
from assay.stats.paired_differences import TOLERANCE, equalize

_MAX_EXACT_RANKS = 13  # up to this many ranks scipy tries all signs if some are tied


def t(differences: Floats) -> Floats:
    """Student's paired t test, as scipy.stats.ttest_rel.

    If all differences of a column are equal, t is undefined; then p is that of the exact randomisation
    test: 1 if they are 0, else 2^(1 - n).
    """
    from scipy.special import stdtr

    n = np.count_nonzero(~np.isnan(differences), axis=0)
    mean, deviation = moments(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(mean) / (deviation / np.sqrt(np.maximum(n, 1))))
    return _nan_below_two(_exact_if_constant(p, differences), n)


def wilcoxon(differences: Floats) -> Floats:
    """Wilcoxon's signed-rank test of the differences that are not 0, as scipy.stats.wilcoxon."""
    from scipy.stats import rankdata
    from scipy.stats import wilcoxon as signed_ranks

    def test_column(column: Floats) -> float:
        nonzero = column[column != 0]
        if len(nonzero) > _MAX_EXACT_RANKS:
            return float(signed_ranks(nonzero).pvalue)
        ranks = rankdata(np.abs(nonzero)) * np.sign(
            nonzero
        )  # all signs are tried, as in scipy, but vectorised
        return float(resampling.randomisation(ranks[:, None], 2**_MAX_EXACT_RANKS)[0])

    return _test_each_column(equalize(differences), test_column)


def sign(differences: Floats) -> Floats:
    """The exact sign test: whether more queries got better than worse (ties ignored).

    >>> sign(np.array([[0.1], [0.3], [0.2], [0.1], [0.0]])).tolist()
    [0.125]
    """
    differences = equalize(differences)
    up, down = (np.count_nonzero(side, axis=0) for side in (differences > 0, differences < 0))
    return _nan_below_two(
        _fair_coin_p(np.minimum(up, down), up + down), np.count_nonzero(~np.isnan(differences), axis=0)
    )


mcnemar = sign  # for passes and failures: only the queries that pass in one and fail in the other count


def randomisation(differences: Floats, permutations: int = resampling.PERMUTATIONS, seed: int = 0) -> Floats:
    """Fisher's randomisation test, with the signs of the differences flipped at random."""
    p = resampling.randomisation(differences, permutations, seed)
    return _nan_below_two(p, np.count_nonzero(~np.isnan(differences), axis=0))


def bootstrap(differences: Floats, resamples: int = resampling.PERMUTATIONS, seed: int = 0) -> Floats:
    """The paired bootstrap of Student's t, shifted to a mean of 0 (Efron and Tibshirani 1993, 16.4).

    A bootstrap of the mean alone gives a false alarm for one in ten sets of ten queries, not one in twenty.
    """
    n = np.count_nonzero(~np.isnan(differences), axis=0)
    mean, deviation = moments(differences)
    deviations = differences - mean
    resampled = resampling.resampled_means(np.hstack((deviations, deviations**2)), resamples, seed)
    means, squares = np.hsplit(resampled, 2)
    variance = deviation**2 * (n - 1) / np.maximum(n, 1)
    least = (
        (1 - 1e-9) * mean**2 * (squares - means**2)
    )  # multiplied instead of divided: a sample's deviation may be 0
    hits = np.count_nonzero(means**2 * variance >= least, axis=0)
    return _nan_below_two(_exact_if_constant((hits + 1) / (resamples + 1), differences), n)


TESTS: dict[str, Callable[..., Floats]] = {
    "t": t,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "randomisation": randomisation,
    "bootstrap": bootstrap,
}


def moments(differences: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (n - 1) of each column; NaN if there are too few values."""
    is_defined = ~np.isnan(differences)
    n = is_defined.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(is_defined, differences, 0.0).sum(axis=0) / n
        spread = (np.where(is_defined, differences - mean, 0.0) ** 2).sum(axis=0)
        return mean, np.sqrt(spread / np.where(n > 1, n - 1, np.nan))


def _fair_coin_p(fewer: Floats, n: Floats) -> Floats:
    """Twice the chance of at most this many heads in n throws of a fair coin, at most 1."""
    from scipy.special import bdtr

    p: Floats = np.minimum(2 * bdtr(fewer, np.maximum(n, 1), 0.5), 1.0)
    return np.where(n == 0, 1.0, p)


def _test_each_column(differences: Floats, test: Callable[[Floats], float]) -> Floats:
    p = np.array([test(column[~np.isnan(column)]) for column in differences.T])
    return _nan_below_two(p, np.count_nonzero(~np.isnan(differences), axis=0))


def _exact_if_constant(p: Floats, differences: Floats) -> Floats:
    """p, or that of the exact randomisation test if all differences of a column are equal."""
    mean, deviation = moments(differences)
    is_constant = deviation <= TOLERANCE * np.abs(np.nan_to_num(differences)).max(axis=0, initial=0)
    n = np.count_nonzero(~np.isnan(differences), axis=0)
    return np.where(is_constant, np.where(np.abs(mean) <= TOLERANCE, 1.0, 2.0 ** (1 - n)), p)


def _nan_below_two(p: Floats, n: Floats) -> Floats:
    """p, or NaN if there are fewer than two queries."""
    return np.where(n >= 2, p, np.nan)
