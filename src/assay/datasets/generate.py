"""Vectors generated from a seed, each kind with one property that is difficult for indexes.

Rows are generated when they are requested, in fixed chunks that each have their own seed: the rows do not
depend on how many are requested at a time or in which process, and only one chunk is in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.core.vectors import TYPES, Matrix, Vectors, check_metric

CHUNK_ROWS = 4096
_Rows = NDArray[np.float32]
_SCALE, _MIDDLE = 24, {"uint8": 128, "int8": 0}  # for integer types


class DataShape(NamedTuple):
    """The number of rows and dimensions, the seed and the metric of generated data."""

    n: int
    d: int
    seed: int
    metric: str

    def generator(self, *place: int) -> np.random.Generator:
        """Return the random number generator of one part of the data."""
        return np.random.default_rng([self.seed, *place])


class Distribution:
    """A kind of data: draws the chunks of its base and of its queries."""

    def __init__(self, shape: DataShape) -> None:
        self.shape = shape

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return the rows of a chunk of the base."""
        raise NotImplementedError

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return the rows of a chunk of the queries: by default drawn as those of the base."""
        return self.base(random, rows, chunk)


class Clusters(Distribution):
    """Clusters whose sizes decrease as 1, 1/2, 1/3, …: a few are large, most are small."""

    spread = 0.35  # standard deviation of a cluster; that of the centres is 1

    def __init__(self, shape: DataShape) -> None:
        super().__init__(shape)
        count = max(2, min(1000, round(shape.n**0.5)))
        self.centres = shape.generator(0).standard_normal((count, shape.d), np.float32)
        self.cumulative_weights = np.cumsum(1 / np.arange(1, count + 1))

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return rows around the centres."""
        labels = np.searchsorted(self.cumulative_weights, random.random(rows) * self.cumulative_weights[-1])
        drawn_rows: _Rows = self.centres[labels] + self.spread * _draw_normal(random, rows, self.shape.d)
        return drawn_rows


class ShiftedQueries(Distribution):
    """A base near a low-dimensional subspace, and queries away from it, as texts and images often are."""

    noise, shift = 0.05, 0.7

    def __init__(self, shape: DataShape) -> None:
        super().__init__(shape)
        axes, _ = np.linalg.qr(shape.generator(0).standard_normal((shape.d, shape.d)))
        self.subspace_size = max(1, shape.d // 4)
        self.axes = np.ascontiguousarray(axes.T, np.float32)
        self.clusters = Clusters(shape._replace(d=self.subspace_size))

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return clusters in the subspace, with a little noise around it."""
        in_subspace = self.clusters.base(random, rows, chunk) @ self.axes[: self.subspace_size]
        drawn_rows: _Rows = in_subspace + self.noise * _draw_normal(random, rows, self.shape.d)
        return drawn_rows

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return rows without clusters, all shifted to one side of the subspace."""
        in_subspace = _draw_normal(random, rows, self.subspace_size) @ self.axes[: self.subspace_size]
        other_axes = self.axes[self.subspace_size :]
        offsets: _Rows = self.shift * (1 + 0.5 * _draw_normal(random, rows, len(other_axes)))
        drawn_rows: _Rows = in_subspace + offsets @ other_axes
        return drawn_rows


class Hubs(Distribution):
    """Some rows are near to very many others: they are near the centre or, under inner product, long.

    The effect grows with the number of dimensions: with 16 it is small.
    """

    spread = 0.25

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return rows at different radii around a centre that is not the origin."""
        radius = np.exp(self.spread * _draw_normal(random, rows, 1))
        noise = _draw_normal(random, rows, self.shape.d)
        drawn_rows: _Rows = radius * (1 + noise) if self.shape.metric == "ip" else 1 + radius * noise
        return drawn_rows

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return rows around the same centre, with equal radii."""
        return 1 + _draw_normal(random, rows, self.shape.d)


class Duplicates(Clusters):
    """A share of the rows are exact copies of other rows."""

    share = 0.2

    def base(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return rows of which some are copies of originals in an earlier chunk or in this one."""
        drawn_rows, is_copy = self._draw_originals(chunk, rows)
        source_chunk = int(random.integers(0, chunk + 1))
        originals, source_is_copy = (
            (drawn_rows, is_copy) if source_chunk == chunk else self._draw_originals(source_chunk, CHUNK_ROWS)
        )
        drawn_rows = drawn_rows.copy()
        candidates = np.flatnonzero(~source_is_copy)
        drawn_rows[is_copy] = originals[random.choice(candidates, int(is_copy.sum()))]
        return drawn_rows

    def queries(self, random: np.random.Generator, rows: int, chunk: int) -> _Rows:
        """Return rows that are not in the base."""
        return super().base(random, rows, chunk)

    def _draw_originals(self, chunk: int, rows: int) -> tuple[_Rows, NDArray[np.bool_]]:
        """Return the rows of a chunk before copying, and which of them will be copies."""
        random = self.shape.generator(3, chunk)
        is_copy = np.arange(rows) < round(self.share * rows)
        return super().base(random, rows, chunk), random.permutation(is_copy)


KINDS: dict[str, type[Distribution]] = {
    "clusters": Clusters,
    "shifted": ShiftedQueries,
    "hubs": Hubs,
    "duplicates": Duplicates,
}


class GeneratedVectors(Vectors):
    """Rows that are generated when they are requested."""

    def __init__(self, kind: Distribution, part: str, n: int, dtype: str) -> None:
        self.kind, self.part = kind, part
        self.shape, self.dtype = (n, kind.shape.d), np.dtype(dtype)
        self._last_chunk: tuple[int, Matrix] | None = None

    def block(self, start: int, stop: int) -> Matrix:
        """Return the rows from start up to stop."""
        rows = np.empty((max(0, stop - start), self.d), self.dtype)
        for chunk in range(start // CHUNK_ROWS, -(-stop // CHUNK_ROWS) if stop > start else 0):
            low, high = max(start, chunk * CHUNK_ROWS), min(stop, (chunk + 1) * CHUNK_ROWS)
            rows[low - start : high - start] = self._chunk(chunk)[
                low - chunk * CHUNK_ROWS : high - chunk * CHUNK_ROWS
            ]
        return rows

    def _chunk(self, chunk: int) -> Matrix:
        last_chunk = self._last_chunk
        if last_chunk is None or last_chunk[0] != chunk:
            rows = min(CHUNK_ROWS, len(self) - chunk * CHUNK_ROWS)
            draw = self.kind.base if self.part == "base" else self.kind.queries
            random = self.kind.shape.generator(1 if self.part == "base" else 2, chunk)
            last_chunk = self._last_chunk = (chunk, _convert_rows(draw(random, rows, chunk), self.dtype))
        return last_chunk[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last_chunk": None}


class GeneratedData(NamedTuple):
    """A base and its queries."""

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
) -> GeneratedData:
    """Return vectors of a kind: clusters, shifted, hubs or duplicates.

    >>> data = generate("clusters", 10_000, 8, queries=5, seed=7)
    >>> data.base.shape, data.queries.shape
    ((10000, 8), (5, 8))
    >>> bool((data.base.block(5000, 5001) == data.base.to_matrix()[5000]).all())
    True
    """
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"choose one of {', '.join(KINDS)}"
        raise InputError(f"there is no kind {kind!r}; {hint}")
    if dtype not in TYPES:
        raise InputError(f"vectors are of type {', '.join(TYPES)}, found {dtype!r}")
    numbers = {"rows": (n, 1), "dimensions": (d, 2), "queries": (queries, 1), "the seed": (seed, 0)}
    for name, (number, least) in numbers.items():
        if number < least:
            raise InputError(f"{name} must be {least} or more, found {number}")
    distribution = KINDS[kind](DataShape(n, d, seed, check_metric(metric)))
    return GeneratedData(
        GeneratedVectors(distribution, "base", n, dtype),
        GeneratedVectors(distribution, "queries", queries, dtype),
    )


def _draw_normal(random: np.random.Generator, rows: int, d: int) -> _Rows:
    return random.standard_normal((rows, d), np.float32)


def _convert_rows(rows: _Rows, dtype: np.dtype[Any]) -> Matrix:
    """Return rows in a type; for integer types they are scaled to its range and clipped."""
    if dtype.kind == "f":
        return rows.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(rows * _SCALE + _MIDDLE[dtype.name]), limits.min, limits.max).astype(dtype)
