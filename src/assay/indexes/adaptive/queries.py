"""Training queries: best are some that people asked, from a file.

Without a file, rows of the base are moved a little. That tells easy from hard only for queries that are like
the base, and says nothing of others.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import FormatError, InputError
from assay.indexes.index import Rows, Setup
from assay.indexes.sweeps.data import unit

_FEWEST = 100  # training queries: half of them teach, half decide
_MOVED = 0.5  # standard deviations of the base in each dimension


def drawn(base: Rows, count: int, metric: str) -> Rows:
    """Rows of the base, moved a little."""
    random = np.random.default_rng(0)
    rows = base[np.sort(random.choice(len(base), min(count, len(base)), replace=False))]
    noise = random.standard_normal(rows.shape, np.float32)
    return _even(rows + _MOVED * rows.std(axis=0) * noise, metric)


def read(path: str, count: int, setup: Setup) -> Rows:
    """The first training queries of a file, .npy or .fbin."""
    rows = _rows(Path(path))
    if rows.ndim != 2 or rows.shape[1] != setup.d or not len(rows):
        raise FormatError(f"expected queries of {setup.d} dimensions, found {rows.shape}", path)
    made = _even(np.array(rows[:count], np.float32), setup.metric)
    if len(made) < _FEWEST:
        raise InputError(
            f"training: expected {_FEWEST} queries or more, found {len(made)} in {path}: give more"
        )
    return made


def digests(queries: Rows) -> NDArray[np.uint64]:
    """A number for each query, by which it is known again."""
    made = (blake2b(row.tobytes(), digest_size=8).digest() for row in np.ascontiguousarray(queries))
    return np.frombuffer(b"".join(made), np.uint64)


def _rows(path: Path) -> NDArray[np.float32]:
    if path.suffix not in (".npy", ".fbin"):
        raise InputError(
            f"training: expected a file .npy or .fbin, found {path}: assay dataset export makes one"
        )
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, mmap_mode="r"))
        n, d = np.fromfile(path, np.uint32, 2).tolist()
        return np.asarray(np.memmap(path, np.float32, "r", 8, (n, d)))
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read as training queries: {error}", str(path)) from None


def _even(rows: Rows, metric: str) -> Rows:
    """Rows as queries arrive: of length 1 under cosine, where one of length 0 says nothing."""
    return unit(rows[rows.any(axis=1)]).astype(np.float32) if metric == "cosine" else rows
