"""Pairs of configurations of different engines with nearly the same mean recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from assay.bench.studies.families import FAMILIES, FailureRatio, failure_ratio, family_of_trial
from assay.bench.studies.scored_trial import ScoredTrial
from assay.stats.intervals import Estimate

RECALL_TOLERANCE = 0.01  # difference of mean recall


class MatchedPair(NamedTuple):
    """Two configurations of nearly the same mean recall, with the ratio of their failure rates.

    The first is of the earlier family in FAMILIES; within one family, of the alphabetically first engine.
    """

    first: str  # the key of its trial
    second: str
    families: tuple[str, str]
    recalls: tuple[Estimate, Estimate]
    ratio: FailureRatio


def match_by_recall(
    scored_trials: Sequence[ScoredTrial], delta: float, tolerance: float = RECALL_TOLERANCE
) -> list[MatchedPair]:
    """Return pairs of configurations of two engines that are mutually nearest in mean recall.

    Pairs of different families come first. Exact indexes are not compared, and pairs that differ by more than
    `tolerance` are left out, since fewer failures at a higher recall are expected.
    """
    groups: dict[tuple[int, str], list[ScoredTrial]] = {}
    for scored_trial in scored_trials:
        family = family_of_trial(scored_trial.trial)
        if family != "exact" and scored_trial.recall.value is not None:
            group = (FAMILIES.index(family), scored_trial.trial.engine)
            groups.setdefault(group, []).append(scored_trial)
    group_pairs = sorted(combinations(sorted(groups), 2), key=lambda pair: pair[0][0] == pair[1][0])
    pairs = [pair for a, b in group_pairs for pair in _mutual_nearest(groups[a], groups[b])]
    return [_make_pair(*pair, delta) for pair in pairs if _recall_distance(*pair) <= tolerance + 1e-9]


def _make_pair(first: ScoredTrial, second: ScoredTrial, delta: float) -> MatchedPair:
    return MatchedPair(
        first.trial.key,
        second.trial.key,
        (family_of_trial(first.trial), family_of_trial(second.trial)),
        (first.recall, second.recall),
        failure_ratio(first, second, delta),
    )


def _mutual_nearest(
    first_group: Sequence[ScoredTrial], second_group: Sequence[ScoredTrial]
) -> Iterator[tuple[ScoredTrial, ScoredTrial]]:
    """Yield the pairs that are mutually nearest."""
    for first in first_group:
        second = min(second_group, key=lambda other: _recall_distance(first, other))
        if min(first_group, key=lambda back: _recall_distance(second, back)) is first:
            yield first, second


def _recall_distance(first: ScoredTrial, second: ScoredTrial) -> float:
    return abs((first.recall.value or 0.0) - (second.recall.value or 0.0))
