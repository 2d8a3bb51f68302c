"""The loads that are timed: runs and judgments made from a seed, written once into a folder."""

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

SEED = 20241115
COLLECTION = 8_800_000  # ids of returned documents lie below, ids of documents nobody returned above
POOL = 2400  # a judged document stands at one of so many places, whether it was returned or not


@dataclass(frozen=True)
class Load:
    """A run and its judgments."""

    name: str
    queries: int
    judgments: int
    shares: tuple[float, ...]  # how many of the judgments have grade 0, 1, …
    depth: int = 1000
    variant: str = "sorted"

    @property
    def rows(self) -> int:
        return self.queries * self.depth

    def run(self, folder: Path) -> Path:
        return folder / f"{self.name}.run{'.gz' * (self.variant == 'gzip')}"

    def qrels(self, folder: Path) -> Path:
        return folder / f"{self.name}.qrels"

    def values(self, folder: Path) -> Path:
        """The values that every tool must agree with."""
        return folder / f"{self.name}.npy"


def msm(queries: int = 6980) -> Load:
    """MS MARCO passages: many queries, about one binary judgment each."""
    return Load(f"MSM-{queries}", queries, round(queries * 7368 / 6980), (0.0, 1.0))


def dl(queries: int = 200) -> Load:
    """A TREC Deep Learning track: few queries, graded and judged deeply."""
    return Load(f"DL-{queries}", queries, 215 * queries, (0.56, 0.2, 0.15, 0.09))


def small(queries: int, depth: int) -> Load:
    """A file of a size people have every day."""
    load = Load(f"small-{queries}x{depth}", queries, 215 * queries, dl().shares)
    return replace(load, depth=depth)


def variant(load: Load, name: str) -> Load:
    """The same load, written otherwise."""
    if name == load.variant:
        return load
    return replace(load, name=f"{load.name}-{name.replace(' ', '-')}", variant=name)


def _repr_length(frame: pl.DataFrame) -> pl.DataFrame:
    noise = np.random.default_rng(SEED).random(len(frame)) * 1e-6
    return frame.with_columns(pl.col("score") + pl.Series(noise))


VARIANTS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "sorted": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=SEED),
    "tie heavy": lambda frame: frame,
    "all tied": lambda frame: frame.with_columns(score=pl.lit(1.0)),
    "gzip": lambda frame: frame,
    "repr scores": _repr_length,
    "long ids": lambda frame: frame,
}
_PRECISION: dict[str, int | None] = {"tie heavy": 1, "all tied": 1, "repr scores": None}


def make(load: Load, folder: Path) -> None:
    """Write the files of a load unless they are there."""
    if load.run(folder).exists():
        return
    rng = np.random.default_rng(SEED)
    queries = rng.choice(1_100_000, load.queries, replace=False)
    docs = np.stack([rng.choice(COLLECTION, load.depth, replace=False) for _ in range(load.queries)])
    _write(_judged(load, rng, queries, docs), load.qrels(folder), None)
    frame = VARIANTS[load.variant](_ranked(load, rng, queries, docs))
    _write(frame, load.run(folder), _PRECISION.get(load.variant, 6))


def _ranked(
    load: Load, rng: np.random.Generator, queries: NDArray[np.int64], docs: NDArray[np.int64]
) -> pl.DataFrame:
    """The rows of the run, best first; no two scores of a query are alike, not even as float32."""
    scores = np.sort(rng.gamma(2, 4, docs.shape) + 8, axis=1)[:, ::-1] - np.arange(load.depth) * 2e-5
    ranks = np.tile(np.arange(1, load.depth + 1), load.queries)
    columns = {"query": np.repeat(queries, load.depth), "doc": docs.ravel(), "rank": ranks}
    frame = pl.DataFrame(columns | {"score": scores.ravel()})
    return frame.select("query", pl.lit("Q0"), _doc(load), "rank", "score", pl.lit("tuned").alias("tag"))


def _judged(
    load: Load, rng: np.random.Generator, queries: NDArray[np.int64], docs: NDArray[np.int64]
) -> pl.DataFrame:
    """The judgments: more of them near the top, some of documents that were not returned."""
    base, more = divmod(load.judgments, load.queries)
    counts = base + (rng.permutation(load.queries) < more)
    odds = 1 / (5 + np.arange(POOL))
    odds /= odds.sum()
    places = np.concatenate([rng.choice(POOL, count, replace=False, p=odds) for count in counts.tolist()])
    rows = np.repeat(np.arange(load.queries), counts)
    returned = docs[rows, np.minimum(places, load.depth - 1)]
    found = np.where(places < load.depth, returned, COLLECTION + places)
    grades = rng.choice(len(load.shares), len(rows), p=load.shares)
    frame = pl.DataFrame({"query": queries[rows], "doc": found, "grade": grades})
    return frame.select("query", pl.lit("0"), _doc(load), "grade")


def _doc(load: Load) -> pl.Expr:
    """The document ids as they are written."""
    plain = pl.col("doc").cast(pl.String)
    return pl.format("msmarco_passage_00_{}", plain.str.zfill(9)) if load.variant == "long ids" else plain


def _write(frame: pl.DataFrame, path: Path, precision: int | None) -> None:
    """Write the whole file or none."""
    part = path.with_name(path.name + ".part")
    packed = path.suffix == ".gz"
    with gzip.open(part, "wb", compresslevel=6) if packed else open(part, "wb") as file:
        for rows in frame.iter_slices(1 << 20):
            rows.write_csv(
                cast(IO[bytes], file), include_header=False, separator=" ", float_precision=precision
            )
    os.replace(part, path)
