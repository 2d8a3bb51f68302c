"""Sums of small A/B tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.core.arrays import Floats
from assay.online.ab.cells import Cell, TestSums
from assay.stats.moments import Moments


def share(n: int, hits: int) -> Moments:
    """The sums of a metric that is 0 or 1."""
    return Moments.from_fields({"n": n, "sum": hits})


def two_arms(
    n: tuple[int, int] = (5000, 5000), hits: tuple[int, int] = (500, 600), **others: tuple[int, int]
) -> TestSums:
    """A test of a control and a candidate; each metric has the hits of both."""
    metrics = {"clicks": hits, **others}
    return TestSums(
        [
            Cell(name, (), n[arm], {metric: share(n[arm], pair[arm]) for metric, pair in metrics.items()})
            for arm, name in enumerate(("control", "candidate"))
        ]
    )


def by_key(column: str, parts: Mapping[str, Mapping[str, tuple[int, int]]]) -> TestSums:
    """A test divided by a column: for each value, the units and hits of each variant."""
    cells = [
        Cell(variant, (value,), n, {"clicks": share(n, hits)})
        for value, variants in parts.items()
        for variant, (n, hits) in variants.items()
    ]
    return TestSums(cells, (column,))


def ramp(seed: int = 0, users: int = 6000) -> TestSums:
    """The A/A test of a ramp: the candidate has 5, then 50 % while the clicks of all move from 30 to 33 %."""
    rng = np.random.default_rng(seed)
    parts: dict[str, dict[str, tuple[int, int]]] = {}
    for day in range(14):
        candidates = int(rng.binomial(users, 0.05 if day < 7 else 0.5))
        rate = 0.30 if day < 7 else 0.33
        sizes = {"control": users - candidates, "candidate": candidates}
        parts[f"2026-01-{day + 1:02d}"] = {v: (n, int(rng.binomial(n, rate))) for v, n in sizes.items()}
    return by_key("day", parts)


def gammas(rng: np.random.Generator, means: Sequence[float], n: int) -> list[Floats]:
    """Skewed values of each arm."""
    return [rng.gamma(2.0, mean / 2, n) for mean in means]
