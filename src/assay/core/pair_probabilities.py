"""The probabilities with which pairs of a query and a document came into a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay.core.arrays import Floats


class PairProbabilities(NamedTuple):
    """A row for each pair of a pool. Pairs of one query and stratum are a simple random sample."""

    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    probabilities: Floats
    strata: Sequence[str] | None = None  # None: pairs came into the pool independently

    def __len__(self) -> int:
        return len(self.probabilities)
