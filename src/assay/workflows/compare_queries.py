"""The queries of a comparison by the size of their difference, one part of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats
from assay.evaluation.compare import Comparisons
from assay.stats.paired_differences import TOLERANCE, subtract

PAGE_SIZE = 50
SHOWN = ("all", "better", "worse", "equal")


class QueryDifference(NamedTuple):
    """The values of one query in the baseline and in a candidate; None: undefined."""

    query_id: str
    before: float | None
    after: float | None
    change: float | None
    state: str  # better, worse or same


@dataclass(frozen=True)
class QueryDifferences:
    """Some queries of a comparison, the largest difference first."""

    measure: str
    candidate: str
    rows: tuple[QueryDifference, ...]
    counts: Mapping[str, int]  # queries by what is shown
    offset: int
    total: int  # that are shown on all pages
    reach: float  # the largest difference of all queries

    @property
    def next(self) -> int | None:
        """The offset of the next part; None after the last."""
        following = self.offset + PAGE_SIZE
        return following if following < self.total else None


def list_query_differences(
    comparisons: Comparisons, measure: str, candidate: str, show: str = "all", offset: int = 0
) -> QueryDifferences:
    """Return the queries whose difference by a measure is largest; an unknown name means the first."""
    measures = [str(known) for known in comparisons.measures]
    measure = measure if measure in measures else measures[0]
    name = candidate if candidate in comparisons.candidates else comparisons.candidates[0]
    before, after = comparisons.scores[comparisons.baseline], comparisons.scores[name]
    change = subtract(after[measure], before[measure])
    gain = np.nan_to_num(-change if comparisons.find(measure, name).lower_is_better else change)
    masks = _masks(gain)
    order = np.argsort(-np.abs(gain), kind="stable")
    shown = order[masks[show][order]]
    return QueryDifferences(
        measure,
        name,
        tuple(
            QueryDifference(
                before.query_ids[row],
                _number(before[measure], row),
                _number(after[measure], row),
                _number(change, row),
                _state(masks, row),
            )
            for row in shown[offset : offset + PAGE_SIZE].tolist()
        ),
        {show: int(mask.sum()) for show, mask in masks.items()},
        offset,
        len(shown),
        float(np.nanmax(np.abs(change))) if np.isfinite(change).any() else 0.0,
    )


def _masks(gain: Floats) -> dict[str, Bools]:
    """Return which queries each choice shows."""
    better, worse = gain > TOLERANCE, gain < -TOLERANCE
    return dict(zip(SHOWN, (np.ones(len(gain), bool), better, worse, ~(better | worse)), strict=True))


def _state(masks: Mapping[str, Any], row: int) -> str:
    return "better" if masks["better"][row] else "worse" if masks["worse"][row] else "same"


def _number(values: Floats, row: int) -> float | None:
    value = float(values[row])
    return None if np.isnan(value) else value
