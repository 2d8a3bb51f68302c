"""How hard a query is: a ridge regression of the budget that training queries needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.index import Rows

_PENALTY = 10.0
_CUT = 4.0  # standard deviations beyond which a feature says no more


class Difficulty(NamedTuple):
    """A sum of features and of their products, each feature brought to mean 0 and deviation 1."""

    mean: Rows
    scale: Rows
    constant: Rows
    linear: Rows
    products: Rows  # features × features, upper half

    def scores(self, features: Rows) -> Rows:
        """The logarithm of the budget that each query is expected to need."""
        even = _even(features, self.mean, self.scale)
        made: Rows = self.constant + np.einsum("ij,ij->i", even @ self.products + self.linear, even)
        return made


def fitted(features: Rows, needed: NDArray[Any]) -> Difficulty:
    """The weights that tell the needed budgets best, held small.

    >>> features = np.linspace(-1, 1, 200, dtype=np.float32)[:, None]
    >>> model = fitted(features, np.exp(features[:, 0]))
    >>> [round(float(score), 1) for score in model.scores(np.array([[-1], [0.5]], np.float32))]
    [-1.0, 0.5]
    """
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-6)
    even = _even(features, mean, scale).astype(np.float64)
    d, pairs = even.shape[1], np.triu_indices(even.shape[1])
    terms = np.hstack((np.ones((len(even), 1)), even, even[:, pairs[0]] * even[:, pairs[1]]))
    held = np.diag([0.0] + [_PENALTY] * (terms.shape[1] - 1))  # the constant is free
    weights = np.linalg.solve(terms.T @ terms + held, terms.T @ np.log(needed)).astype(np.float32)
    products = np.zeros((d, d), np.float32)
    products[pairs] = weights[1 + d :]
    return Difficulty(mean, scale, weights[:1], weights[1 : 1 + d], products)


def _even(features: Rows, mean: Rows, scale: Rows) -> Rows:
    made: Rows = np.minimum(np.maximum((features - mean) / scale, -_CUT), _CUT)
    return made
