"""Configurations of different engines that have the same mean recall, held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from assay.indexes.study.families import FAMILIES, Ratio, failure_ratio, family_of
from assay.indexes.study.observed import Observed
from assay.stats.intervals import Estimate

WITHIN = 0.01  # of mean recall


class Matched(NamedTuple):
    """Two configurations of about the same mean recall, and how many times as often the first fails.

    The first is of the family that stands first in FAMILIES; within one, of the engine whose name does.
    """

    first: str  # the key of its trial
    second: str
    families: tuple[str, str]
    recalls: tuple[Estimate, Estimate]
    ratio: Ratio


def matched(observed: Sequence[Observed], delta: float, within: float = WITHIN) -> list[Matched]:
    """Every pair of configurations of two engines that are each other's nearest in mean recall.

    Those of different families come first. What is exact is not compared, and those farther apart than
    `within` are left out: fewer failures at a higher recall are no news.
    """
    groups: dict[tuple[int, str], list[Observed]] = {}
    for one in observed:
        if family_of(one.trial) != "exact" and one.recall.value is not None:
            groups.setdefault((FAMILIES.index(family_of(one.trial)), one.trial.engine), []).append(one)
    several = sorted(combinations(sorted(groups), 2), key=lambda two: two[0][0] == two[1][0])
    pairs = [pair for a, b in several for pair in _nearest(groups[a], groups[b])]
    return [_matched(*pair, delta) for pair in pairs if _apart(*pair) <= within + 1e-9]


def _matched(first: Observed, second: Observed, delta: float) -> Matched:
    return Matched(
        first.trial.key,
        second.trial.key,
        (family_of(first.trial), family_of(second.trial)),
        (first.recall, second.recall),
        failure_ratio(first, second, delta),
    )


def _nearest(some: Sequence[Observed], others: Sequence[Observed]) -> Iterator[tuple[Observed, Observed]]:
    """Those of both that are each other's nearest."""
    for one in some:
        near = min(others, key=lambda other: _apart(one, other))
        if min(some, key=lambda back: _apart(near, back)) is one:
            yield one, near


def _apart(one: Observed, other: Observed) -> float:
    return abs((one.recall.value or 0.0) - (other.recall.value or 0.0))
