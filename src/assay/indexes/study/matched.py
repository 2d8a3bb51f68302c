"""Configurations of different families that have the same mean recall, held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from assay.indexes.study.families import FAMILIES, Ratio, failure_ratio, family_of
from assay.indexes.study.observed import Observed
from assay.stats.intervals import Estimate

COMPARED = ("graph", "partition", "tree")
WITHIN = 0.01  # of mean recall


class Matched(NamedTuple):
    """Two configurations of about the same mean recall, and how many times as often the first fails."""

    first: str  # the key of its trial
    second: str
    families: tuple[str, str]
    recalls: tuple[Estimate, Estimate]
    ratio: Ratio


def matched(observed: Sequence[Observed], delta: float, within: float = WITHIN) -> list[Matched]:
    """Every pair of configurations of two families that are each other's nearest in mean recall.

    They are looked for in each pair of engines, and those farther apart than `within` are left out:
    fewer failures at a higher recall are no news.
    """
    groups: dict[tuple[int, str], list[Observed]] = {}
    for one in observed:
        if family_of(one.trial) in COMPARED and one.recall.value is not None:
            groups.setdefault((FAMILIES.index(family_of(one.trial)), one.trial.engine), []).append(one)
    several = combinations(sorted(groups), 2)
    pairs = [pair for a, b in several if a[0] != b[0] for pair in _nearest(groups[a], groups[b])]
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
