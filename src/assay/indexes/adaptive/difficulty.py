"""The predicted difficulty of a query: a ridge regression of the budget that training queries needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.index import Rows

_PENALTY = 10.0
_MAX_DEVIATIONS = 4.0  # features are clipped to this many standard deviations


class DifficultyModel(NamedTuple):
    """A linear model of standardized features and their products."""

    mean: Rows
    scale: Rows
    constant: Rows
    linear: Rows
    products: Rows  # features × features, upper half

    def scores(self, features: Rows) -> Rows:
        """Return the predicted logarithm of the budget that each query needs."""
        z = _standardize(features, self.mean, self.scale)
        scores: Rows = self.constant + np.einsum("ij,ij->i", z @ self.products + self.linear, z)
        return scores


def fit_difficulty(features: Rows, budgets: NDArray[Any]) -> DifficultyModel:
    """Return the model that predicts the needed budgets best, with small weights.

    >>> features = np.linspace(-1, 1, 200, dtype=np.float32)[:, None]
    >>> model = fit_difficulty(features, np.exp(features[:, 0]))
    >>> [round(float(score), 1) for score in model.scores(np.array([[-1], [0.5]], np.float32))]
    [-1.0, 0.5]
    """
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-6)
    z = _standardize(features, mean, scale).astype(np.float64)
    d, pairs = z.shape[1], np.triu_indices(z.shape[1])
    terms = np.hstack((np.ones((len(z), 1)), z, z[:, pairs[0]] * z[:, pairs[1]]))
    penalty = np.diag([0.0] + [_PENALTY] * (terms.shape[1] - 1))  # the constant is not penalized
    weights = np.linalg.solve(terms.T @ terms + penalty, terms.T @ np.log(budgets)).astype(np.float32)
    products = np.zeros((d, d), np.float32)
    products[pairs] = weights[1 + d :]
    return DifficultyModel(mean, scale, weights[:1], weights[1 : 1 + d], products)


def _standardize(features: Rows, mean: Rows, scale: Rows) -> Rows:
    z: Rows = np.minimum(np.maximum((features - mean) / scale, -_MAX_DEVIATIONS), _MAX_DEVIATIONS)
    return z
