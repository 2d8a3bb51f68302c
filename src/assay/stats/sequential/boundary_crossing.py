"""The joint distribution of a test statistic at several looks, by numerical integration.

The sums of independent normal increments are followed from look to look on Gauss-Legendre nodes inside
the boundaries (Armitage, McPherson and Rowe 1969; Jennison and Turnbull 1999, chapter 19).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError

FAR = 9.0  # standard deviations; what lies beyond is below 1e-18
_MOST_NODES = 4000


class Walk(NamedTuple):
    """The part of the statistic's distribution that has not crossed a boundary, on nodes."""

    time: float
    nodes: Floats
    masses: Floats

    @classmethod
    def start(cls) -> Walk:
        """The walk before the first look."""
        return cls(0.0, np.zeros(1), np.ones(1))

    def chance_above(self, bound: float, time: float, drift: float = 0.0) -> float:
        """The chance to be above a bound (in standard deviations) at this time."""
        from scipy.special import ndtr

        step = time - self.time
        return float(
            self.masses @ ndtr((self.nodes + drift * step - bound * math.sqrt(time)) / math.sqrt(step))
        )

    def chance_below(self, bound: float, time: float, drift: float = 0.0) -> float:
        """The chance to be below a bound (in standard deviations) at this time."""
        return Walk(self.time, -self.nodes, self.masses).chance_above(-bound, time, -drift)

    def advance(self, time: float, low: float, high: float, next_step: float, drift: float = 0.0) -> Walk:
        """The walk at this time, without what lies outside the bounds (in standard deviations)."""
        step, scale = time - self.time, math.sqrt(time)
        far = FAR * scale
        ends = (max(low * scale, drift * time - far), min(high * scale, drift * time + far))
        if ends[1] <= ends[0]:
            return Walk(time, np.zeros(1), np.zeros(1))
        finest = math.sqrt(min(step, next_step))
        count = 40 + math.ceil(2.5 * (ends[1] - ends[0]) / finest)
        points, weights = _gauss_legendre(min(count + -count % 20, _MOST_NODES))
        half = (ends[1] - ends[0]) / 2
        nodes = ends[0] + half * (points + 1)
        gaps = (nodes[:, None] - self.nodes - drift * step) / math.sqrt(step)
        density = np.exp(-0.5 * gaps**2) @ self.masses / math.sqrt(2 * math.pi * step)
        return Walk(time, nodes, half * weights * density)


@lru_cache(maxsize=64)
def _gauss_legendre(count: int) -> tuple[Floats, Floats]:
    points, weights = np.polynomial.legendre.leggauss(count)
    return points, weights


def check_times(times: Sequence[float]) -> None:
    """Refuse times of looks that do not increase from above 0."""
    if not times or times[0] <= 0 or any(b <= a for a, b in pairwise(times)):
        raise InputError(f"expected looks after increasing numbers of units above 0, found {list(times)}")


def crossing_chances(
    times: Sequence[float], lows: Sequence[float], highs: Sequence[float], drift: float = 0.0
) -> list[tuple[float, float]]:
    """For each look, the chances to cross the lower and the upper bound there and not before.

    `times` are shares of the planned units, bounds are in standard errors, and `drift` is the expected
    statistic at time 1.

    >>> both = crossing_chances([0.5, 1.0], [-1.96, -1.96], [1.96, 1.96])
    >>> round(sum(map(sum, both)), 4)
    0.0831
    """
    check_times(times)
    walk, chances = Walk.start(), []
    for i, time in enumerate(times):
        chances.append((walk.chance_below(lows[i], time, drift), walk.chance_above(highs[i], time, drift)))
        next_step = times[i + 1] - time if i + 1 < len(times) else time
        walk = walk.advance(time, lows[i], highs[i], next_step, drift)
    return chances
