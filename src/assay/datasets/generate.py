"""Vectors made from a seed, each kind with one property that indexes stumble over.

Rows are made when they are asked for, in fixed chunks with a seed of their own: the same rows come whatever
is asked for at a time, in whichever process, and nothing is held.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import TYPES, Matrix, Vectors, checked_metric

CHUNK = 4096
_Rows = NDArray[np.float32]
_SCALE, _MIDDLE = 24, {"uint8": 128, "int8": 0}  # of whole numbers


class Shape(NamedTuple):
    """What a kind is told: how many rows of how many dimensions, from which seed, for which metric."""

    n: int
    d: int
    seed: int
    metric: str

    def random(self, *place: int) -> np.random.Generator:
        """The random numbers of one place."""
        return np.random.default_rng([self.seed, *place])


class Kind:
    """A kind of data: how a chunk of its base and of its queries is drawn."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """The rows of a chunk of the base."""
        raise NotImplementedError

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """The rows of a chunk of the queries: as those of the base, unless the kind says otherwise."""
        return self.base(random, rows, chunk)


class Clusters(Kind):
    """Clusters whose sizes fall as 1, 1/2, 1/3, …: a few are large, most are small."""

    spread = 0.35  # of a cluster, where centres are 1 apart in each dimension

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        count = max(2, min(1000, round(shape.n**0.5)))
        self.centres = shape.random(0).standard_normal((count, shape.d), np.float32)
        self.ends = np.cumsum(1 / np.arange(1, count + 1))

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Rows around centres."""
        which = np.searchsorted(self.ends, random.random(rows) * self.ends[-1])
        made: _Rows = self.centres[which] + self.spread * _normal(random, rows, self.shape.d)
        return made


class Shifted(Kind):
    """A base near a low-dimensional subspace, and queries off it: as texts lie off the images."""

    noise, away = 0.05, 0.7

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        axes, _ = np.linalg.qr(shape.random(0).standard_normal((shape.d, shape.d)))
        self.inner = max(1, shape.d // 4)
        self.axes = np.ascontiguousarray(axes.T, np.float32)
        self.clusters = Clusters(shape._replace(d=self.inner))

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Clusters in the subspace, with a little noise around it."""
        inside = self.clusters.base(random, rows, chunk) @ self.axes[: self.inner]
        made: _Rows = inside + self.noise * _normal(random, rows, self.shape.d)
        return made

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Rows without clusters, moved off the subspace, all to one side of it."""
        inside = _normal(random, rows, self.inner) @ self.axes[: self.inner]
        outside = self.axes[self.inner :]
        moved: _Rows = self.away * (1 + 0.5 * _normal(random, rows, len(outside)))
        made: _Rows = inside + moved @ outside
        return made


class Hubs(Kind):
    """Some rows are near to very many: they lie near the middle or, under inner product, are long.

    The more dimensions, the more of it: in 16 there is little to be seen.
    """

    uneven = 0.25

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Rows around a middle that is not the origin, of uneven reach."""
        reach = np.exp(self.uneven * _normal(random, rows, 1))
        around = _normal(random, rows, self.shape.d)
        made: _Rows = reach * (1 + around) if self.shape.metric == "ip" else 1 + reach * around
        return made

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Rows around the same middle, of even reach."""
        return 1 + _normal(random, rows, self.shape.d)


class Duplicates(Clusters):
    """A share of the rows are exact copies of others."""

    share = 0.2

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Rows of which some are copies of originals in a chunk before, or in this one."""
        made, copied = self._drawn(chunk, rows)
        other = int(random.integers(0, chunk + 1))
        originals, theirs = (made, copied) if other == chunk else self._drawn(other, CHUNK)
        made = made.copy()
        from_there = np.flatnonzero(~theirs)
        made[copied] = originals[random.choice(from_there, int(copied.sum()))]
        return made

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Rows of their own, none of them of the base."""
        return super().base(random, rows, chunk)

    def _drawn(self, chunk: int, rows: int) -> tuple[_Rows, NDArray[np.bool_]]:
        """The rows of a chunk before copying, and which of them are to be copies."""
        random = self.shape.random(3, chunk)
        order = np.arange(rows) < round(self.share * rows)
        return super().base(random, rows, chunk), random.permutation(order)


KINDS: dict[str, type[Kind]] = {
    "clusters": Clusters,
    "shifted": Shifted,
    "hubs": Hubs,
    "duplicates": Duplicates,
}


class Drawn(Vectors):
    """Rows that are made when they are asked for."""

    def __init__(self, kind: Kind, part: str, n: int, dtype: str) -> None:
        self.kind, self.part = kind, part
        self.shape, self.dtype = (n, kind.shape.d), np.dtype(dtype)
        self._kept: tuple[int, Matrix] | None = None

    def block(self, start: int, stop: int) -> Matrix:
        """The rows from start up to stop."""
        made = np.empty((max(0, stop - start), self.d), self.dtype)
        for chunk in range(start // CHUNK, -(-stop // CHUNK) if stop > start else 0):
            low, high = max(start, chunk * CHUNK), min(stop, (chunk + 1) * CHUNK)
            made[low - start : high - start] = self._chunk(chunk)[low - chunk * CHUNK : high - chunk * CHUNK]
        return made

    def _chunk(self, chunk: int) -> Matrix:
        kept = self._kept
        if kept is None or kept[0] != chunk:
            rows = min(CHUNK, len(self) - chunk * CHUNK)
            draw = self.kind.base if self.part == "base" else self.kind.queries
            random = self.kind.shape.random(1 if self.part == "base" else 2, chunk)
            kept = self._kept = (chunk, _typed(draw(random, rows, chunk), self.dtype))
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}


class Generated(NamedTuple):
    """A base and queries."""

    base: Vectors
    queries: Vectors


def generate(
    kind: str,
    n: int,
    d: int,
    *,
    queries: int = 1000,
    seed: int = 0,
    dtype: str = "float32",
    metric: str = "l2",
) -> Generated:
    """Vectors of a kind: clusters, shifted, hubs or duplicates.

    >>> made = generate("clusters", 10_000, 8, queries=5, seed=7)
    >>> made.base.shape, made.queries.shape
    ((10000, 8), (5, 8))
    >>> bool((made.base.block(5000, 5001) == made.base.whole()[5000]).all())
    True
    """
    if kind not in KINDS:
        raise InputError(f"there is no kind {kind!r}; there are {', '.join(KINDS)}")
    if dtype not in TYPES:
        raise InputError(f"vectors are of type {', '.join(TYPES)}, found {dtype!r}")
    numbers = {"rows": (n, 1), "dimensions": (d, 2), "queries": (queries, 1), "the seed": (seed, 0)}
    for name, (number, least) in numbers.items():
        if number < least:
            raise InputError(f"{name} must be {least} or more, found {number}")
    made = KINDS[kind](Shape(n, d, seed, checked_metric(metric)))
    return Generated(Drawn(made, "base", n, dtype), Drawn(made, "queries", queries, dtype))


def _normal(random: np.random.Generator, rows: int, d: int) -> _Rows:
    return random.standard_normal((rows, d), np.float32)


def _typed(rows: _Rows, dtype: np.dtype[Any]) -> Matrix:
    """Rows in a type; for whole numbers they are stretched over its range, and what is beyond is cut."""
    if dtype.kind == "f":
        return rows.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(rows * _SCALE + _MIDDLE[dtype.name]), limits.min, limits.max).astype(dtype)
