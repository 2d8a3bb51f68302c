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
from assay.indexes.choice.floors import Figure, Floor, dominates, figure, known
from assay.indexes.study.observed import Observed
from assay.indexes.trials import Trial

Values = tuple[float, ...]
Axes = Sequence[Figure]


class Point(NamedTuple):
    """A trial in a plane."""

    label: str
    x: float
    y: float
    on_front: bool  # no other trial of the plane is as good in both figures and better in one
    key: str  # of the trial; several may have one label


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
    front = _front(axes, [values for _, values in there])
    middles = [median(values[at] for values in front) for at in range(3)]
    given = [(floors or {}).get(of.name, middle) for of, middle in zip(axes, middles, strict=True)]
    return [_plane(there, axes, at, floor) for at, floor in enumerate(given)]


def _values(observed: Sequence[Observed], axes: Axes) -> list[tuple[Trial, Values]]:
    """The three figures of each trial that has them all and can be chosen."""
    made = []
    for one in observed:
        found = [known(one, of) for of in axes]
        if one.trial.status != "failed" and one.trial.indexed is not False and all(found):
            made.append((one.trial, tuple(each.value for each in found if each)))
    return made


def _front(axes: Axes, values: Sequence[Values]) -> list[Values]:
    """Those that none of the others dominates."""
    return [one for one in values if not any(dominates(axes, other, one) for other in values)]


def _plane(there: Sequence[tuple[Trial, Values]], axes: Axes, at: int, floor: float) -> Plane:
    left = [i for i in range(3) if i != at]
    x, y = (axes[i] for i in left)
    kept = [(trial, each) for trial, each in there if Floor(axes[at], floor).holds(each[at])]
    pairs = [(each[left[0]], each[left[1]]) for _, each in kept]
    front = _front((x, y), pairs)
    points = [Point(t.label, *pair, pair in front, t.key) for (t, _), pair in zip(kept, pairs, strict=True)]
    return Plane(axes[at].name, floor, x.name, y.name, tuple(sorted(points, key=lambda p: p[1:])))
