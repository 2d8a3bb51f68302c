"""The three-way trade-off of recall, robustness and throughput, with each of them fixed in turn.

Whoever can say the least of one that will do looks at the other two of the trials that reach it (the
reading of arXiv 2507.00379, section 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from assay.core.errors import InputError
from assay.indexes.choice.floors import Figure, figure, known
from assay.indexes.study.observed import Observed

Values = tuple[float, ...]


class Point(NamedTuple):
    """A trial in a plane."""

    label: str
    x: float
    y: float
    on_front: bool  # no other trial of the plane is as good in both figures and better in one


@dataclass(frozen=True)
class Plane:
    """The trials that reach a floor of one figure, by the other two."""

    fixed: str  # recall, robustness-δ or qps
    floor: float
    x: str  # the figure of Point.x
    y: str
    points: tuple[Point, ...]  # by x


def tradeoff(
    observed: Sequence[Observed], delta: float = 0.1, floors: Mapping[str, float] | None = None
) -> list[Plane]:
    """The planes of recall, robustness at δ and throughput; a figure that no trial has makes none.

    A floor that is not given is the median of what the trials have that no other dominates in all three.
    """
    axes = tuple(figure(name) for name in ("recall", f"robustness-{delta:g}", "qps"))
    wrong = [name for name in floors or {} if name not in [of.name for of in axes]]
    if wrong:
        expected = ", ".join(of.name for of in axes)
        raise InputError(f"the trade-off is of {expected}; found a floor of {', '.join(wrong)}")
    there = _values(observed, axes)
    if not there:
        return []
    front = _front(list(there.values()))
    middles = [median(values[at] for values in front) for at in range(3)]
    given = [(floors or {}).get(of.name, middle) for of, middle in zip(axes, middles, strict=True)]
    return [_plane(there, axes, at, floor) for at, floor in enumerate(given)]


def _values(observed: Sequence[Observed], axes: tuple[Figure, ...]) -> dict[str, Values]:
    """The three figures of each trial that has them all and can be chosen."""
    made = {}
    for one in observed:
        found = [known(one, of) for of in axes]
        if one.trial.status != "failed" and one.trial.indexed is not False and all(found):
            made[one.trial.label] = tuple(each.value for each in found if each)
    return made


def _front(values: Sequence[Values]) -> list[Values]:
    """Those that none of the others dominates; more is better in all.

    >>> _front([(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)])
    [(1.0, 2.0), (2.0, 1.0)]
    """
    return [one for one in values if not any(_dominates(other, one) for other in values)]


def _dominates(one: Values, other: Values) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _plane(there: Mapping[str, Values], axes: tuple[Figure, ...], at: int, floor: float) -> Plane:
    first, second = (i for i in range(3) if i != at)
    pairs = {name: (each[first], each[second]) for name, each in there.items() if each[at] >= floor}
    front = _front(list(pairs.values()))
    points = sorted((Point(name, *pair, pair in front) for name, pair in pairs.items()), key=lambda p: p[1:])
    return Plane(axes[at].name, floor, axes[first].name, axes[second].name, tuple(points))
