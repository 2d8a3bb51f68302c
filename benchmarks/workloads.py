"""The timed workloads: runs and judgments that are generated from a seed and written to a folder once."""

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
COLLECTION = 8_800_000  # ids of returned documents are below, those of documents that are not returned above
POOL = 2400  # judged documents are drawn from this many positions; those beyond the depth are not returned


@dataclass(frozen=True)
class Workload:
    """A run and its judgments."""

    name: str
    queries: int
    judgments: int
    shares: tuple[float, ...]  # of the judgments, with grade 0, 1, …
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
        """Return the file of the values that every tool must agree with."""
        return folder / f"{self.name}.npy"


def ms_marco(queries: int = 6980) -> Workload:
    """Return a workload like MS MARCO passages: many queries with about one binary judgment each."""
    return Workload(f"MSM-{queries}", queries, round(queries * 7368 / 6980), (0.0, 1.0))


def deep_learning(queries: int = 200) -> Workload:
    """Return a workload like a TREC Deep Learning track: few queries with many graded judgments each."""
    return Workload(f"DL-{queries}", queries, 215 * queries, (0.56, 0.2, 0.15, 0.09))


def small_file(queries: int, depth: int) -> Workload:
    """Return a workload of everyday size."""
    workload = Workload(f"small-{queries}x{depth}", queries, 215 * queries, deep_learning().shares)
    return replace(workload, depth=depth)


def change_form(workload: Workload, name: str) -> Workload:
    """Return the same workload, with its run written in another form."""
    if name == workload.variant:
        return workload
    return replace(workload, name=f"{workload.name}-{name.replace(' ', '-')}", variant=name)


def _add_noise(frame: pl.DataFrame) -> pl.DataFrame:
    """Add noise to the scores, so that they are written with all digits."""
    noise = np.random.default_rng(SEED).random(len(frame)) * 1e-6
    return frame.with_columns(pl.col("score") + pl.Series(noise))


FORMS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "sorted": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=SEED),
    "tie heavy": lambda frame: frame,
    "all tied": lambda frame: frame.with_columns(score=pl.lit(1.0)),
    "gzip": lambda frame: frame,
    "repr scores": _add_noise,
    "long ids": lambda frame: frame,
}
_DECIMALS: dict[str, int | None] = {"tie heavy": 1, "all tied": 1, "repr scores": None}


def write_workload(workload: Workload, folder: Path) -> None:
    """Write the files of a workload unless they exist."""
    if workload.run(folder).exists():
        return
    rng = np.random.default_rng(SEED)
    queries = rng.choice(1_100_000, workload.queries, replace=False)
    docs = np.stack([rng.choice(COLLECTION, workload.depth, replace=False) for _ in range(workload.queries)])
    _write(_judgment_rows(workload, rng, queries, docs), workload.qrels(folder), None)
    frame = FORMS[workload.variant](_run_rows(workload, rng, queries, docs))
    _write(frame, workload.run(folder), _DECIMALS.get(workload.variant, 6))


def _run_rows(
    workload: Workload, rng: np.random.Generator, queries: NDArray[np.int64], docs: NDArray[np.int64]
) -> pl.DataFrame:
    """Return the rows of the run, best first; the scores of a query differ, even as float32."""
    scores = np.sort(rng.gamma(2, 4, docs.shape) + 8, axis=1)[:, ::-1] - np.arange(workload.depth) * 2e-5
    ranks = np.tile(np.arange(1, workload.depth + 1), workload.queries)
    columns = {"query": np.repeat(queries, workload.depth), "doc": docs.ravel(), "rank": ranks}
    frame = pl.DataFrame(columns | {"score": scores.ravel()})
    return frame.select(
        "query", pl.lit("Q0"), _document_ids(workload), "rank", "score", pl.lit("tuned").alias("tag")
    )


def _judgment_rows(
    workload: Workload, rng: np.random.Generator, queries: NDArray[np.int64], docs: NDArray[np.int64]
) -> pl.DataFrame:
    """Return the judgments: most are near the top, and some are of documents that were not returned."""
    per_query, remainder = divmod(workload.judgments, workload.queries)
    counts = per_query + (rng.permutation(workload.queries) < remainder)
    probabilities = 1 / (5 + np.arange(POOL))
    probabilities /= probabilities.sum()
    positions = np.concatenate(
        [rng.choice(POOL, count, replace=False, p=probabilities) for count in counts.tolist()]
    )
    rows = np.repeat(np.arange(workload.queries), counts)
    returned = docs[rows, np.minimum(positions, workload.depth - 1)]
    documents = np.where(positions < workload.depth, returned, COLLECTION + positions)
    grades = rng.choice(len(workload.shares), len(rows), p=workload.shares)
    frame = pl.DataFrame({"query": queries[rows], "doc": documents, "grade": grades})
    return frame.select("query", pl.lit("0"), _document_ids(workload), "grade")


def _document_ids(workload: Workload) -> pl.Expr:
    """Return the document ids as they are written."""
    text = pl.col("doc").cast(pl.String)
    return pl.format("msmarco_passage_00_{}", text.str.zfill(9)) if workload.variant == "long ids" else text


def _write(frame: pl.DataFrame, path: Path, precision: int | None) -> None:
    """Write the file under a temporary name first, so that an incomplete file is never used."""
    temporary = path.with_name(path.name + ".part")
    compressed = path.suffix == ".gz"
    with gzip.open(temporary, "wb", compresslevel=6) if compressed else open(temporary, "wb") as file:
        for rows in frame.iter_slices(1 << 20):
            rows.write_csv(
                cast(IO[bytes], file), include_header=False, separator=" ", float_precision=precision
            )
    os.replace(temporary, path)
