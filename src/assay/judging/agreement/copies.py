"""Raters whose labels are equal on every item they share, although that is improbable."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.judging.agreement.pairs import PairAgreements

HONEST_KAPPA = 0.6  # published agreement of trained raters is .60 to .68
LEAST_PROBABILITY = 0.05  # that any two raters of the table would be identical


class SuspiciousPair(NamedTuple):
    """Two raters with identical labels on every item they share."""

    first: str
    second: str
    n: int
    expected: float  # the share of equal labels of raters who do not copy
    probability: float  # that such raters are identical on n items, for any of the pairs of raters

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as plain data."""
        return {
            "a": self.first,
            "b": self.second,
            "n": self.n,
            "expected_agreement": self.expected,
            "probability": self.probability,
        }


def find_suspicious_pairs(pairs: PairAgreements) -> list[SuspiciousPair]:
    """Return the raters with identical labels on so many items that raters who do not copy would differ.

    Such raters are taken to agree at κ .6, or as often as those raters of the table that are not
    identical, if that is more. The probability is corrected for the number of pairs of raters.
    """
    equal = pairs.agreement.value * pairs.n
    is_identical = equal > pairs.n - 0.5
    others = (
        float(equal[~is_identical].sum() / pairs.n[~is_identical].sum()) if not is_identical.all() else 0.0
    )
    expected = np.maximum(pairs.chance + HONEST_KAPPA * (1 - pairs.chance), others)
    probability = np.minimum(1.0, len(pairs) * np.minimum(expected, 1.0) ** pairs.n)
    rows = np.flatnonzero(is_identical & (pairs.n > 1) & (probability <= LEAST_PROBABILITY))
    return [
        SuspiciousPair(*pairs.names(row), int(pairs.n[row]), float(expected[row]), float(probability[row]))
        for row in rows.tolist()
    ]
