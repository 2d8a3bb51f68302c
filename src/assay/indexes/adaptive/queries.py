"""Training queries: preferably real queries from a file.

Without a file, noise is added to rows of the base. This separates easy from hard queries only if the queries
are like the base.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError, InputError
from assay.indexes.index import Rows, Setup
from assay.indexes.vector_data import normalize_rows

_MIN_QUERIES = 100  # training queries, of which half fit the model and half the allocation
_NOISE_DEVIATIONS = 0.5  # standard deviations of the base in each dimension


def perturb_rows(base: Rows, count: int, metric: str) -> Rows:
    """Return rows of the base with noise added."""
    random = np.random.default_rng(0)
    rows = base[np.sort(random.choice(len(base), min(count, len(base)), replace=False))]
    noise = random.standard_normal(rows.shape, np.float32)
    return _as_queries(rows + _NOISE_DEVIATIONS * rows.std(axis=0) * noise, metric)


def read_training_queries(path: str, count: int, setup: Setup) -> Rows:
    """Return the first training queries of a .npy or .fbin file."""
    rows = _read_rows(Path(path))
    if rows.ndim != 2 or rows.shape[1] != setup.d or not len(rows):
        raise FormatError(f"expected queries of {setup.d} dimensions, found {rows.shape}", path)
    queries = _as_queries(np.array(rows[:count], np.float32), setup.metric)
    if len(queries) < _MIN_QUERIES:
        raise InputError(
            f"training: expected {_MIN_QUERIES} queries or more, found {len(queries)} in {path}: add more"
        )
    return queries


def query_digests(queries: Rows) -> NDArray[np.uint64]:
    """Return a digest of each query, by which it is recognized."""
    parts = (blake2b(row.tobytes(), digest_size=8).digest() for row in np.ascontiguousarray(queries))
    return np.frombuffer(b"".join(parts), np.uint64)


def _read_rows(path: Path) -> NDArray[np.float32]:
    if path.suffix not in (".npy", ".fbin"):
        raise InputError(
            f"training: expected a .npy or .fbin file, found {path}: assay dataset export writes one"
        )
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, mmap_mode="r"))
        n, d = np.fromfile(path, np.uint32, 2).tolist()
        return np.asarray(np.memmap(path, np.float32, "r", 8, (n, d)))
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read as training queries: {error}", str(path)) from None


def _as_queries(rows: Rows, metric: str) -> Rows:
    """Return rows as engines receive queries: under cosine of unit length, without zero vectors."""
    return normalize_rows(rows[rows.any(axis=1)]).astype(np.float32) if metric == "cosine" else rows
