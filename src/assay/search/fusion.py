"""Several rankings of the same query as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from assay.core.errors import InputError
from assay.core.texts import Floats
from assay.search.searcher import Ranked, in_order


class Fuse:
    """One ranking of several: by `rrf`, by their ranks, or `weighted`, by their scores made comparable.

    Reciprocal rank fusion (Cormack 2009) gives a document the sum of weight / (k + rank) over the rankings
    that have it. Weighted fusion adds weight × score; `normalise` brings the scores of each ranking to 0 … 1
    (`minmax`) or to mean 0 and deviation 1 (`zscore`) first. A document that a ranking does not have is worth
    as much as its last; where all that it has are alike, less than they are: by their worth, or by 1.

    >>> Fuse("rrf", k=1)([[("a", 9.0), ("b", 5.0)], [("b", 0.7)]])
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
            raise InputError(f"fuse.by is one of rrf, weighted, found {by!r}")
        if normalise not in NORMALISED:
            raise InputError(f"fuse.normalise is one of {', '.join(NORMALISED)}, found {normalise!r}")
        if weights is not None and (not all(w >= 0 for w in weights) or not any(weights)):
            raise InputError(f"fuse.weights are numbers of 0 or more, not all 0, found {list(weights)}")
        self.by, self.k, self.weights, self.normalise = by, k, weights, normalise

    def refuse(self, rankings: int) -> None:
        """Refuse so many rankings where there are weights for more or fewer."""
        if self.weights is not None and len(self.weights) != rankings:
            raise InputError(
                f"fuse.weights: expected {rankings}, one for each ranking, found {len(self.weights)}"
            )

    def __call__(self, rankings: Sequence[Ranked]) -> Ranked:
        """The rankings as one, best first; of those with the same score the larger id first, as in a run."""
        self.refuse(len(rankings))
        weights = [1.0] * len(rankings) if self.weights is None else list(self.weights)
        worths = [self._ranks(found) if self.by == "rrf" else self._scores(found) for found in rankings]
        made = dict.fromkeys((doc for found in rankings for doc, _ in found), 0.0)
        for weight, (worth, otherwise) in zip(weights, worths, strict=True):
            for doc in made:
                made[doc] += weight * worth.get(doc, otherwise)
        return in_order(made.items())

    def _ranks(self, found: Ranked) -> tuple[Mapping[str, float], float]:
        return {doc: 1 / (self.k + rank) for rank, (doc, _) in enumerate(found, 1)}, 0.0

    def _scores(self, found: Ranked) -> tuple[Mapping[str, float], float]:
        if not found:
            return {}, 0.0
        scores = NORMALISED[self.normalise](np.array([score for _, score in found], np.float64)).tolist()
        last = min(scores)
        missing = last if last < max(scores) else last - (abs(last) or 1.0)
        return dict(zip((doc for doc, _ in found), scores, strict=True)), missing


def _minmax(scores: Floats) -> Floats:
    """Scores from 0 to 1; those that are all alike are worth 1."""
    reach = np.ptp(scores)
    return (scores - scores.min()) / reach if reach else np.ones_like(scores)


def _zscore(scores: Floats) -> Floats:
    deviation = scores.std()
    made: Floats = (scores - scores.mean()) / deviation if deviation else np.zeros_like(scores)
    return made


NORMALISED: Mapping[str, Callable[[Floats], Floats]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "none": lambda scores: scores,
}
