"""Two arms of an experiment as means of components with their covariance, whole or by stratum.

Everything that is reported of two arms is a smooth function of eight means: value, denominator,
covariate and denominator of the covariate of each arm. Its variance is the delta method's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.moments import Moments, add_moments

WHOLE = "all"
Strata = Mapping[str, Moments]


class Block(NamedTuple):
    """One arm in one stratum."""

    arm: int  # 0: control, 1: treatment
    weight: float
    n: int
    means: Floats
    covariance: Floats  # of the components of one unit


class Arms(NamedTuple):
    """The components' means of control and treatment (2 × 4), and what their errors are computed from."""

    means: Floats
    blocks: list[Block]
    mixture: Floats  # 8 × 8: covariance because the weights of the strata are estimated

    @property
    def n(self) -> tuple[int, int]:
        """The units of control and treatment."""
        counts = [0, 0]
        for block in self.blocks:
            counts[block.arm] += block.n
        return counts[0], counts[1]

    @property
    def is_stratified(self) -> bool:
        """Whether there are several strata."""
        return len(self.blocks) > 2

    def covariance(self, first: Floats, second: Floats) -> float:
        """The covariance of two linear functions (2 × 4) of the means."""
        total = float(first.ravel() @ self.mixture @ second.ravel())
        return total + sum(_block_covariance(b, first, second) for b in self.blocks)

    def variance(self, gradient: Floats) -> float:
        """The variance of a linear function (2 × 4) of the means."""
        return self.covariance(gradient, gradient)

    def freedom(self, gradient: Floats) -> float:
        """The degrees of freedom of that variance (Welch 1947, Satterthwaite 1946)."""
        parts = [(_block_covariance(b, gradient, gradient), b.n - 1) for b in self.blocks]
        total = sum(part for part, _ in parts)
        if not total:
            return float(sum(df for _, df in parts))
        return float(total**2 / sum(part**2 / df for part, df in parts if part))


def _block_covariance(block: Block, first: Floats, second: Floats) -> float:
    product = first[block.arm] @ block.covariance @ second[block.arm]
    return float(product) * block.weight**2 / block.n


def join_arms(
    control: Moments | Strata, treatment: Moments | Strata, weights: Mapping[str, float] | None = None
) -> Arms | str:
    """Two arms, weighted by stratum, or the reason why they cannot be compared.

    Without weights, a stratum counts by its share of the units of both arms (post-stratification).
    """
    first, second = (arm if isinstance(arm, Mapping) else {WHOLE: arm} for arm in (control, treatment))
    problem = _find_problem(first, second, weights)
    if problem:
        return problem
    names = [name for name in first if first[name].n or second[name].n]
    counts = {name: float(first[name].n + second[name].n) for name in names}
    shares = counts if weights is None else {name: float(weights[name]) for name in names}
    total = sum(shares.values())
    blocks = [
        Block(arm, shares[name] / total, moments.n, moments.means(), moments.covariance())
        for name in names
        for arm, moments in enumerate((first[name], second[name]))
    ]
    means = np.zeros((2, 4))
    for block in blocks:
        means[block.arm] += block.weight * block.means
    return Arms(
        means, blocks, _mixture(blocks, sum(counts.values())) if weights is None else np.zeros((8, 8))
    )


def _mixture(blocks: list[Block], n: float) -> Floats:
    """The covariance of the eight means because a stratum's share of n units is itself a sample."""
    weights = np.array([block.weight for block in blocks[::2]])
    pairs = zip(blocks[::2], blocks[1::2], strict=True)
    rows = np.array([np.concatenate((control.means, treatment.means)) for control, treatment in pairs])
    deviations = rows - weights @ rows
    covariance: Floats = (deviations * weights[:, None]).T @ deviations / n
    return covariance


def _find_problem(first: Strata, second: Strata, weights: Mapping[str, float] | None) -> str:
    if set(first) != set(second):
        return f"strata of one arm only: {', '.join(sorted(set(first) ^ set(second)))}"
    strata = [name for name in first if first[name].n or second[name].n]
    if not strata:
        return "no units"
    if weights is not None and not set(strata) <= set(weights):
        return f"no weight of {', '.join(sorted(set(strata) - set(weights)))}"
    for name in strata:
        if min(first[name].n, second[name].n) < 2:
            place = f" of {name}" if len(first) > 1 else ""
            return f"fewer than 2 units{place} in an arm"
    return _find_mixed_sums([*first.values(), *second.values()])


def _find_mixed_sums(parts: list[Moments]) -> str:
    kinds = {moments.names for moments in parts if moments.n}
    return "the arms have different sums" if len(kinds) > 1 else ""


def merge_small_strata(
    control: Strata, treatment: Strata, least: int = 2, name: str = "other"
) -> tuple[Strata, Strata]:
    """Both arms with the strata that have fewer than `least` units in an arm merged into one.

    If that is too small as well, it takes in the next smallest stratum.
    """
    empty = Moments()
    pairs = {s: (control.get(s, empty), treatment.get(s, empty)) for s in sorted({*control, *treatment})}
    ordered = sorted(pairs, key=lambda s: min(m.n for m in pairs[s]))
    small = [s for s in ordered if min(m.n for m in pairs[s]) < least]
    while small and len(small) < len(ordered):
        if min(sum(pairs[s][arm].n for s in small) for arm in (0, 1)) >= least:
            break
        small.append(ordered[len(small)])
    merged: list[dict[str, Moments]] = []
    for arm in (0, 1):
        strata = {s: pairs[s][arm] for s in pairs if s not in small}
        merged.append(strata | ({name: add_moments(pairs[s][arm] for s in small)} if small else {}))
    return merged[0], merged[1]
