"""Randomisation and bootstrap for many measures at once, reproducible by a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from assay.core.arrays import Floats, Ints, Words
from assay.core.parallel import ordered_map
from assay.core.strings import mix

PERMUTATIONS = 100_000
_BLOCK = 1 << 18  # signs (or weights) computed at a time, so that they fit in the CPU cache
_PIECE = 1 << 18  # up to this many multiplications OpenBLAS uses one thread
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NOISE = 1e-12  # relative difference of sums that are equal except for the order of addition


def randomisation(differences: Floats, permutations: int = PERMUTATIONS, seed: int = 0) -> Floats:
    """Fisher's randomisation test of paired differences: p for each column (n × m; NaN: ignored).

    Under the null hypothesis, each query's difference could as well have the other sign. All queries
    of a permutation are flipped for all columns in one matrix product. If there are no more sign
    patterns than permutations, each pattern is tried once and p is exact.

    >>> randomisation(np.array([[1.0], [1.0], [1.0], [1.0]])).tolist()
    [0.125]
    """
    values = np.nan_to_num(differences)
    total = values.sum(axis=0)
    least = np.abs(total) - _NOISE * np.abs(values).sum(axis=0)
    exact = len(values) < 60 and 2 ** len(values) <= permutations
    count = 2 ** len(values) if exact else permutations

    def count_hits(span: tuple[int, int]) -> Floats:
        bits = _patterns(*span, len(values)) if exact else _coins(*span, len(values), seed)
        sums = total - 2.0 * _product(bits, values)
        hits_of_span: Floats = (np.abs(sums) >= least).sum(axis=0, dtype=np.float64)
        return hits_of_span

    hits = np.zeros(values.shape[1])
    for hits_of_span in ordered_map(count_hits, _spans(count, len(values))):
        hits += hits_of_span
    return hits / count if exact else (hits + 1) / (count + 1)


def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """The means of each column (n × m; NaN: ignored) in samples of queries drawn with replacement."""
    filled = np.nan_to_num(values)
    is_defined = (~np.isnan(values)).astype(np.float64)
    is_complete = bool(is_defined.all())

    def sample_means(span: tuple[int, int]) -> Floats:
        weights = _weights(*span, len(values), seed)
        counts = max(len(values), 1) if is_complete else np.maximum(_product(weights, is_defined), 1.0)
        means: Floats = _product(weights, filled) / counts
        return means

    return np.concatenate(list(ordered_map(sample_means, _spans(resamples, len(values)))))


@lru_cache(maxsize=8)  # the measures of one evaluation share the samples
def _weights(first: int, last: int, n: int, seed: int) -> Floats:
    """How often each of n queries is drawn in each of the samples from `first` up to `last`."""
    rows = draw_samples(first, last, n, seed) + n * np.arange(last - first)[:, None]
    return np.bincount(rows.ravel(), minlength=rows.size).reshape(rows.shape).astype(np.float64)


def draw_samples(first: int, last: int, n: int, seed: int) -> Ints:
    """The samples from `first` up to `last`, each of n numbers below n."""
    words = _words(first * n, last * n, seed)
    numbers = ((words >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return numbers.astype(np.int64).reshape(last - first, n)


def resample_summary(
    summary: Callable[[Floats], Floats], values: Floats, resamples: int, seed: int
) -> Floats:
    """A summary (of the rows of a table) of each sample of the values, drawn with replacement."""

    def summarize_span(span: tuple[int, int]) -> Floats:
        return summary(values[draw_samples(*span, len(values), seed)])

    return np.concatenate(list(ordered_map(summarize_span, _spans(resamples, len(values)))))


def _product(rows: Floats, columns: Floats) -> Floats:
    """`rows @ columns`, in pieces that BLAS computes in one thread, since the caller runs threads itself."""
    step = max(1, _PIECE // max(1, len(rows) * columns.shape[1]))
    product: Floats = rows[:, :step] @ columns[:step]
    for first in range(step, len(columns), step):
        product += rows[:, first : first + step] @ columns[first : first + step]
    return product


def _spans(count: int, n: int) -> Iterator[tuple[int, int]]:
    """Ranges that cover 0 … count, each with as many rows of n as fit in a block."""
    step = max(1, _BLOCK // max(n, 1))
    return ((first, min(first + step, count)) for first in range(0, count, step))


def _words(first: int, last: int, seed: int) -> Words:
    """The words from `first` up to `last` of the random stream of the seed (SplitMix64)."""
    start = (seed + 1) * 0xD1342543DE82EF95 % (1 << 64)
    return mix((np.arange(first, last, dtype=np.uint64) + np.uint64(start)) * _STEP)


def _coins(first: int, last: int, n: int, seed: int) -> Floats:
    """The rows from `first` up to `last` of n coin throws each, 0 or 1."""
    width = -(-n // 64)
    words = _words(first * width, last * width, seed).view(np.uint8)
    return np.unpackbits(words.reshape(last - first, 8 * width), axis=1, count=n).astype(np.float64)


def _patterns(first: int, last: int, n: int) -> Floats:
    """The binary digits of the numbers from `first` up to `last`."""
    numbers = np.arange(first, last)[:, None]
    return ((numbers >> np.arange(n)) & 1).astype(np.float64)
