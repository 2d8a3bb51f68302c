"""The model of Dawid and Skene (1979): every judge has a table of how each true grade becomes a label.

True grades are unknown. Expectation maximisation starts from the shares of the votes and alternates: from
the probabilities of the true grades of each pair, the tables of the judges and the share of each grade
(equations 2.3 and 2.4); from those, the probabilities (equation 2.5). Every cell of a table has a number of
labels added to it (`smoothing`), so that a judge with few labels is not taken to be certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError, UndecidableError
from assay.judging.agreement.labels import Labels

SMOOTHING = 0.1  # labels
MOST_ITERATIONS = 1000
TOLERANCE = 1e-6  # of the log-likelihood per label
_TINY = 1e-10


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model: probabilities of the true grades, tables of the judges, shares of the grades."""

    posterior: Floats  # pairs × grades; NaN for a pair without labels
    confusion: Floats  # judges × true grades × labels
    prior: Floats
    log_likelihood: float  # of all labels
    iterations: int
    has_converged: bool
    smoothing: float

    def to_dict(self) -> dict[str, object]:
        """Return how the fit ended, as plain data."""
        return {
            "prior": self.prior.tolist(),
            "log_likelihood": self.log_likelihood,
            "iterations": self.iterations,
            "has_converged": self.has_converged,
            "smoothing": self.smoothing,
        }


def fit_dawid_skene(
    labels: Labels,
    smoothing: float = SMOOTHING,
    most_iterations: int = MOST_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> DawidSkene:
    """Fit the full confusion model.

    >>> table = np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1]])
    >>> fit_dawid_skene(Labels.from_matrix(table)).posterior.argmax(axis=1).tolist()
    [0, 1, 0, 1, 0]
    """
    if not (np.isfinite(smoothing) and smoothing >= 0):
        raise InputError(f"expected a number of labels of at least 0 as the smoothing, found {smoothing}")
    if not (labels.sizes > 1).any():
        raise UndecidableError("the model of Dawid and Skene needs pairs that two judges rated, found none")
    fit = _Fit(labels, smoothing)
    posterior, likelihood, gain, iterations = fit.start(), -np.inf, np.inf, 0
    while gain >= tolerance * len(labels.code) and iterations < most_iterations:
        before, iterations = likelihood, iterations + 1
        fit.update_tables(posterior)
        posterior, likelihood = fit.update_posterior()
        gain = likelihood - before
    posterior[labels.sizes == 0] = np.nan
    has_converged = gain < tolerance * len(labels.code)
    return DawidSkene(
        posterior, fit.confusion, fit.prior, likelihood, iterations, bool(has_converged), smoothing
    )


class _Fit:
    """One fit: a sparse table of judge and label × pair turns every step into one product."""

    def __init__(self, labels: Labels, smoothing: float) -> None:
        from scipy.sparse import csr_array

        self.labels, self.smoothing = labels, smoothing
        self.judges, self.grades = len(labels.raters), len(labels.scale)
        rows = labels.rater * self.grades + labels.code
        shape = (self.judges * self.grades, labels.items)
        self._by_judge = csr_array((np.ones(len(rows)), (rows, labels.item)), shape=shape)
        self._by_pair = self._by_judge.T.tocsr()
        self._has_labels = labels.sizes > 0
        self.confusion = np.zeros((self.judges, self.grades, self.grades))
        self.prior = np.zeros(self.grades)

    def start(self) -> Floats:
        """Return the share of each grade among the labels of each pair."""
        votes = np.zeros((self.labels.items, self.grades))
        np.add.at(votes, (self.labels.item, self.labels.code), 1.0)
        return np.asarray(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0))

    def update_tables(self, posterior: Floats) -> None:
        """Compute the tables of the judges and the shares of the grades."""
        counts = np.asarray(self._by_judge @ posterior).reshape(self.judges, self.grades, self.grades)
        counts = counts.transpose(0, 2, 1) + self.smoothing
        self.confusion = counts / np.maximum(counts.sum(axis=2, keepdims=True), _TINY)
        self.prior = posterior[self._has_labels].mean(axis=0)

    def update_posterior(self) -> tuple[Floats, float]:
        """Return the probabilities of the true grades of each pair, and the log-likelihood of the labels."""
        tables = np.log(np.maximum(self.confusion, _TINY)).transpose(0, 2, 1)
        logs = np.asarray(self._by_pair @ tables.reshape(-1, self.grades))
        logs += np.log(np.maximum(self.prior, _TINY))
        largest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - largest)
        sums = weights.sum(axis=1, keepdims=True)
        likelihood = (largest + np.log(sums))[self._has_labels].sum()
        posterior = weights / sums
        posterior[~self._has_labels] = 0.0
        return posterior, float(likelihood)
