"""What is known of offline against online: the prediction, the tests that contradict it, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from assay.online.prediction import Prediction

STALE_DAYS = 90
LEAST_SHIFT = 0.2  # of the shares of slices: the part of the queries that would have to change its slice


@dataclass(frozen=True)
class Suspect:
    """One possible reason of a contradiction: whether the data support it, and the numbers."""

    name: str  # stale_labels, position_bias, traffic_mismatch or changed_corpus
    status: str  # yes, no or unknown
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the suspect as plain data."""
        return {"name": self.name, "status": self.status, "evidence": dict(self.evidence)}


class SkippedTest(NamedTuple):
    """A test of the store that is left out, and why."""

    test: str
    reason: str  # no_offline, no_metric, or the message of an error


@dataclass(frozen=True)
class PredictionReport:
    """Whether offline predicted online, the tests in which it did not, and why that may be."""

    prediction: Prediction
    suspects: Mapping[str, Sequence[Suspect]] = field(default_factory=dict)  # of each reversed test
    skipped: Sequence[SkippedTest] = ()
    ids: Mapping[str, str] = field(default_factory=dict)  # of the A/B tests in the store, by name
    metric: str | None = None  # None: the goal of each A/B test
    source: str = ""  # a table, or the URL of the store
    has_store: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, as `assay online predict --format json` prints it."""
        reversals = [
            {
                "test": test,
                "measures": [pair.measure for pair in pairs],
                "suspects": [s.to_dict() for s in self.suspects.get(test, ())],
            }
            for test, pairs in self.prediction.reversals.items()
        ]
        skipped = [entry._asdict() for entry in self.skipped]
        return {**self.prediction.to_dict(), "reversals": reversals, "skipped": skipped}


def compare_shares(counts: Mapping[str, int], expected: Mapping[str, float]) -> tuple[float, float]:
    """Return half the sum of the differences of shares, and p of the χ² test of the counts.

    >>> compare_shares({"short": 50, "long": 50}, {"short": 0.5, "long": 0.5})
    (0.0, 1.0)
    """
    from scipy.special import chdtrc

    n = sum(counts.values())
    labels = sorted({*counts, *expected})
    observed = np.array([counts.get(label, 0) for label in labels], np.float64)
    shares = np.array([expected.get(label, 0.0) for label in labels], np.float64)
    shift = 0.5 * float(np.abs(observed / n - shares).sum()) if n else 0.0
    if (observed[shares == 0] > 0).any():
        return shift, 0.0
    known = shares > 0
    statistic = float(((observed[known] - n * shares[known]) ** 2 / (n * shares[known])).sum()) if n else 0.0
    degrees = int(known.sum()) - 1
    return shift, float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0
