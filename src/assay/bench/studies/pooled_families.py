"""The failure rates of families of indexes at about the same mean recall, pooled over configurations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.bench.studies.bootstrap_ratio import ratio_of_sums
from assay.bench.studies.families import FAMILIES, family_of_trial
from assay.bench.studies.scored_trial import ScoredTrial
from assay.stats.intervals import Estimate

POOLED_DELTAS = (0.1, 0.3)
POOLING_TOLERANCE = 0.02  # around the mean recall to compare at, as in arXiv 2507.00379, section 4


class PooledRatio(NamedTuple):
    """How many times as often the configurations of one family fail as those of another.

    The rate of a family is the mean of the failure rates of its configurations.
    """

    families: tuple[str, str]  # the first comes first in FAMILIES
    delta: float
    configurations: tuple[int, int]
    first: float
    second: float
    ratio: Estimate  # the value is None if the second never fails; without single queries no interval


def near_recall(
    scored_trials: Sequence[ScoredTrial], recall: float, tolerance: float = POOLING_TOLERANCE
) -> list[ScoredTrial]:
    """Return the approximate trials whose mean recall is within the tolerance of another."""
    return [
        one
        for one in scored_trials
        if family_of_trial(one.trial) != "exact"
        and one.recall.value is not None
        and abs(one.recall.value - recall) <= tolerance + 1e-9
    ]


def pool_families(
    scored_trials: Sequence[ScoredTrial],
    recall: float = 0.9,
    tolerance: float = POOLING_TOLERANCE,
    deltas: Sequence[float] = POOLED_DELTAS,
) -> list[PooledRatio]:
    """Return the ratio of the pooled failure rates of every two families at every δ that is known."""
    groups: dict[str, list[ScoredTrial]] = {}
    for scored_trial in near_recall(scored_trials, recall, tolerance):
        groups.setdefault(family_of_trial(scored_trial.trial), []).append(scored_trial)
    pairs = list(combinations(sorted(groups, key=FAMILIES.index), 2))
    ratios = (_pooled_ratio(pair, groups, delta) for pair in pairs for delta in deltas)
    return [ratio for ratio in ratios if ratio is not None]


def _pooled_ratio(
    pair: tuple[str, str], groups: dict[str, list[ScoredTrial]], delta: float
) -> PooledRatio | None:
    known = [[one for one in groups[family] if one.failure(delta).value is not None] for family in pair]
    if not all(known):
        return None
    first, second = (float(np.mean([one.failure(delta).value for one in group])) for group in known)
    counts = len(known[0]), len(known[1])
    return PooledRatio(pair, delta, counts, first, second, _ratio(known, first, second, delta))


def _ratio(known: Sequence[Sequence[ScoredTrial]], first: float, second: float, delta: float) -> Estimate:
    """Return the ratio; its interval is a bootstrap over the queries that all configurations share."""
    hits = [[one.hits for one in group if one.hits is not None] for group in known]
    shapes = {each.counts.shape for group in hits for each in group}
    if len(shapes) != 1 or sum(map(len, hits)) < sum(map(len, known)):
        return Estimate(first / second if second else None, None, None, 0.95, 0)
    has_truth = np.all([each.out_of > 0 for group in hits for each in group], axis=0)
    fails = [np.sum([each.reaches(delta)[has_truth] == 0 for each in group], axis=0) for group in hits]
    # Each family counts with the same weight, however many configurations it has.
    weighted = fails[0] * len(hits[1]), fails[1] * len(hits[0])
    return ratio_of_sums(*weighted)
