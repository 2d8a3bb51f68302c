"""Differences between the values of the same queries, without the noise of floating-point subtraction."""

from __future__ import annotations

import numpy as np

from assay.core.arrays import Floats

TOLERANCE = 1e-12  # differences that are nearer to each other, or to 0, are equal; relative to values above 1


def subtract(candidate: Floats, baseline: Floats) -> Floats:
    """Candidate - baseline of each query (NaN: undefined), with equal differences as equal numbers.

    >>> 0.3 - 0.2, 0.8 - 0.7
    (0.09999999999999998, 0.10000000000000009)
    >>> differences = subtract(np.array([0.3, 0.8, 0.1 + 0.2]), np.array([0.2, 0.7, 0.3]))
    >>> differences[0] == differences[1], differences[2]
    (np.True_, np.float64(0.0))
    """
    largest = np.fmax(np.abs(candidate), np.abs(baseline)).max(axis=0, initial=1.0, where=~np.isnan(baseline))
    return equalize(candidate - baseline, largest)


def subtract_means(candidate: float, baseline: float) -> float:
    """Candidate - baseline of two values, 0 if they are equal."""
    difference = candidate - baseline
    return 0.0 if abs(difference) <= TOLERANCE * max(1.0, abs(candidate), abs(baseline)) else difference


def equalize(differences: Floats, largest: Floats | float = 1.0) -> Floats:
    """Differences of values up to `largest`, those of equal size replaced by the smallest of them."""
    columns = np.atleast_2d(differences.T)
    tolerances = TOLERANCE * np.broadcast_to(largest, len(columns))
    pairs = zip(columns, tolerances.tolist(), strict=True)
    equalized = [_equalize_column(column, tolerance) for column, tolerance in pairs]
    return np.array(equalized).T.reshape(differences.shape)


def _equalize_column(differences: Floats, tolerance: float) -> Floats:
    sizes = np.append(np.abs(differences), 0.0)
    order = np.argsort(sizes)
    ordered = sizes[order]
    is_new = ~(np.diff(ordered, prepend=-1.0) <= tolerance)  # NaN is equal to nothing
    sizes[order] = ordered[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
    equalized: Floats = np.copysign(sizes[:-1], differences) + 0.0  # no negative zero
    return equalized
