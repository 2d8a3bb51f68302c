"""Signs flipped and queries drawn again, for many measures at once and the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from assay.core.parallel import ordered_map
from assay.core.texts import Floats, Ints, Words, mix

PERMUTATIONS = 100_000
_BLOCK = 1 << 18  # signs (or weights) worked on at a time: they stay in the cache
_PIECE = 1 << 18  # multiplications up to which OpenBLAS works in one thread
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NOISE = 1e-12  # sums that are equal but for the order in which they were added


def randomisation(differences: Floats, permutations: int = PERMUTATIONS, seed: int = 0) -> Floats:
    """Fisher's randomisation test of paired differences: p for each column (n × m; NaN: left out).

    Were there no difference, each query's could as well have had the other sign. All queries of a
    permutation are flipped at once for all columns, as one product of matrices. Where all sign
    patterns are no more than the permutations asked for, each is tried once and p is exact.

    >>> randomisation(np.array([[1.0], [1.0], [1.0], [1.0]])).tolist()
    [0.125]
    """
    known = np.nan_to_num(differences)
    total = known.sum(axis=0)
    least = np.abs(total) - _NOISE * np.abs(known).sum(axis=0)
    exact = len(known) < 60 and 2 ** len(known) <= permutations
    count = 2 ** len(known) if exact else permutations

    def reached(span: tuple[int, int]) -> Floats:
        bits = _patterns(*span, len(known)) if exact else _coins(*span, len(known), seed)
        sums = total - 2.0 * _product(bits, known)
        some: Floats = (np.abs(sums) >= least).sum(axis=0, dtype=np.float64)
        return some

    hits = np.zeros(known.shape[1])
    for some in ordered_map(reached, _spans(count, len(known))):
        hits += some
    return hits / count if exact else (hits + 1) / (count + 1)


def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """The means of each column (n × m; NaN: left out) in samples of queries drawn with replacement."""
    known = np.nan_to_num(values)
    there = (~np.isnan(values)).astype(np.float64)
    whole = bool(there.all())

    def means(span: tuple[int, int]) -> Floats:
        weights = _weights(*span, len(values), seed)
        counts = max(len(values), 1) if whole else np.maximum(_product(weights, there), 1.0)
        made: Floats = _product(weights, known) / counts
        return made

    return np.concatenate(list(ordered_map(means, _spans(resamples, len(values)))))


@lru_cache(maxsize=8)  # the measures of one evaluation draw the same
def _weights(first: int, last: int, n: int, seed: int) -> Floats:
    """How often each of n queries is drawn in the samples `first` to before `last`."""
    rows = drawn(first, last, n, seed) + n * np.arange(last - first)[:, None]
    return np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape).astype(np.float64)


def drawn(first: int, last: int, n: int, seed: int) -> Ints:
    """The samples `first` to before `last`, each n numbers below n."""
    words = _words(first * n, last * n, seed)
    numbers = ((words >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return numbers.astype(np.int64).reshape(last - first, n)


def resampled(summary: Callable[[Floats], Floats], values: Floats, resamples: int, seed: int) -> Floats:
    """A summary (of the rows of a table) of each sample of the values drawn with replacement."""

    def one(span: tuple[int, int]) -> Floats:
        return summary(values[drawn(*span, len(values), seed)])

    return np.concatenate(list(ordered_map(one, _spans(resamples, len(values)))))


def _product(rows: Floats, columns: Floats) -> Floats:
    """`rows @ columns`, in pieces too small for BLAS to share among threads that would wait for ours."""
    step = max(1, _PIECE // max(1, len(rows) * columns.shape[1]))
    made: Floats = rows[:, :step] @ columns[:step]
    for first in range(step, len(columns), step):
        made += rows[:, first : first + step] @ columns[first : first + step]
    return made


def _spans(count: int, n: int) -> Iterator[tuple[int, int]]:
    """0 … count in pieces whose rows of n fit a block."""
    step = max(1, _BLOCK // max(n, 1))
    return ((first, min(first + step, count)) for first in range(0, count, step))


def _words(first: int, last: int, seed: int) -> Words:
    """The words `first` to before `last` of the seed's stream (SplitMix64)."""
    start = (seed + 1) * 0xD1342543DE82EF95 % (1 << 64)
    return mix((np.arange(first, last, dtype=np.uint64) + np.uint64(start)) * _STEP)


def _coins(first: int, last: int, n: int, seed: int) -> Floats:
    """Rows `first` to before `last` of n coins each, 0 or 1."""
    width = -(-n // 64)
    words = _words(first * width, last * width, seed).view(np.uint8)
    return np.unpackbits(words.reshape(last - first, 8 * width), axis=1, count=n).astype(np.float64)


def _patterns(first: int, last: int, n: int) -> Floats:
    """The binary digits of the numbers `first` to before `last`."""
    numbers = np.arange(first, last)[:, None]
    return ((numbers >> np.arange(n)) & 1).astype(np.float64)
