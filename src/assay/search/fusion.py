"""Fusion of several rankings of the same query."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.search.searcher import RankedDocuments, sort_ranking


class Fusion:
    """Fuses rankings by their ranks (`rrf`) or by their normalised scores (`weighted`).

    Reciprocal rank fusion (Cormack 2009) gives a document the sum of weight / (k + rank) over the rankings
    that contain it. Weighted fusion adds weight × score, after `normalise` has scaled the scores of each
    ranking to 0 … 1 (`minmax`) or to mean 0 and deviation 1 (`zscore`). A document that a ranking does not
    contain gets the lowest score of the ranking; if all its scores are equal, less than that: by that
    score, or by 1 if it is 0.

    >>> Fusion("rrf", k=1)([[("a", 9.0), ("b", 5.0)], [("b", 0.7)]])
    [('b', 0.8333333333333333), ('a', 0.5)]
    """

    def __init__(
        self,
        by: str = "rrf",
        *,
        k: float = 60.0,
        weights: Sequence[float] | None = None,
        normalise: str = "minmax",
    ) -> None:
        if by not in ("rrf", "weighted"):
            raise InputError(f"fuse.by: expected rrf or weighted, found {by!r}")
        if normalise not in NORMALISATIONS:
            raise InputError(
                f"fuse.normalise: expected one of {', '.join(NORMALISATIONS)}, found {normalise!r}"
            )
        if not 0 <= k < math.inf:
            raise InputError(f"fuse.k: expected a number of 0 or more, found {k}")
        if weights is not None and (not all(w >= 0 for w in weights) or not any(weights)):
            raise InputError(f"fuse.weights: expected numbers of 0 or more, not all 0, found {list(weights)}")
        self.by, self.k, self.weights, self.normalise = by, k, weights, normalise

    def check_count(self, count: int) -> None:
        """Refuse a number of rankings that differs from the number of weights."""
        if self.weights is not None and len(self.weights) != count:
            raise InputError(
                f"fuse.weights: expected {count}, one for each ranking, found {len(self.weights)}"
            )

    def __call__(self, rankings: Sequence[RankedDocuments]) -> RankedDocuments:
        """Return the fused ranking, best first; documents of equal score are in the order of the rankings."""
        self.check_count(len(rankings))
        weights = [1.0] * len(rankings) if self.weights is None else list(self.weights)
        contributions = [
            self._rank_contributions(ranking) if self.by == "rrf" else self._score_contributions(ranking)
            for ranking in rankings
        ]
        totals = dict.fromkeys((doc for ranking in rankings for doc, _ in ranking), 0.0)
        for weight, (values, missing_value) in zip(weights, contributions, strict=True):
            for doc in totals:
                totals[doc] += weight * values.get(doc, missing_value)
        return sort_ranking(totals.items())

    def _rank_contributions(self, ranking: RankedDocuments) -> tuple[Mapping[str, float], float]:
        return {doc: 1 / (self.k + rank) for rank, (doc, _) in enumerate(ranking, 1)}, 0.0

    def _score_contributions(self, ranking: RankedDocuments) -> tuple[Mapping[str, float], float]:
        if not ranking:
            return {}, 0.0
        normalise = NORMALISATIONS[self.normalise]
        scores = normalise(np.array([score for _, score in ranking], np.float64)).tolist()
        lowest = min(scores)
        missing_value = lowest if lowest < max(scores) else lowest - (abs(lowest) or 1.0)
        return dict(zip((doc for doc, _ in ranking), scores, strict=True)), missing_value


def _minmax(scores: Floats) -> Floats:
    """Return scores from 0 to 1; equal scores become 1."""
    spread = np.ptp(scores)
    return (scores - scores.min()) / spread if spread else np.ones_like(scores)


def _zscore(scores: Floats) -> Floats:
    deviation = scores.std()
    normalised: Floats = (scores - scores.mean()) / deviation if deviation else np.zeros_like(scores)
    return normalised


NORMALISATIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "none": lambda scores: scores,
}
