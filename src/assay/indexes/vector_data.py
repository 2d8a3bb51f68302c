"""Vector data: the base that is searched, the queries and the exact truth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError, StoreError
from assay.core.vector_digest import digest_vectors
from assay.core.vector_faults import refuse_faults, refuse_mismatch
from assay.core.vectors import MappedVectors, Matrix, Neighbors, Vectors

_BLOCK_ROWS = 1 << 16  # rows converted at a time


@dataclass(frozen=True)
class VectorData:
    """Base, queries and truth, with the metric and k."""

    base: Vectors
    queries: Vectors
    truth: Neighbors
    metric: str
    k: int
    digests: Mapping[str, str]

    def identity(self) -> dict[str, Any]:
        """Return the values that identify the data."""
        return {**self.digests, "metric": self.metric, "k": self.k}

    def summary(self) -> dict[str, Any]:
        """Return the sizes, types and digests of the data, as plain data."""
        sizes = {"n": len(self.base), "d": self.base.d, "queries": len(self.queries)}
        return {
            **sizes,
            "dtype": self.base.dtype.name,
            "metric": self.metric,
            "k": self.k,
            "digests": self.digests,
        }


def build_vector_data(base: Vectors, queries: Vectors, truth: Neighbors, metric: str, k: int) -> VectorData:
    """Check that base, queries and truth fit together, and return them with their digests."""
    refuse_mismatch(base, queries)
    if not 1 <= k <= len(base):
        raise InputError(f"k must be between 1 and {len(base)}, the number of vectors in the base; found {k}")
    refuse_faults(base, metric, "the base")
    refuse_faults(queries, metric, "the queries")
    if len(truth.positions) != len(queries):
        raise InputError(f"the truth has {len(truth.positions)} queries, but there are {len(queries)}")
    if truth.k < k:
        raise InputError(f"the truth has {truth.k} neighbours per query, but k is {k}")
    highest_position = int(truth.positions.max(initial=-1))
    if highest_position >= len(base):
        raise InputError(
            f"the truth contains position {highest_position}, but the base has {len(base)} vectors: "
            "is it the truth of another base?"
        )
    digests = {"base": digest_vectors(base), "queries": digest_vectors(queries)}
    return VectorData(base, queries, truth, metric, k, digests)


def prepare_for_engines(vectors: Vectors, metric: str, path: str | os.PathLike[str]) -> Vectors:
    """Return the vectors as float32 in a file to map, of unit length if the metric is cosine."""
    if (
        metric != "cosine"
        and type(vectors) is MappedVectors  # not a subclass, which may read differently
        and vectors.dtype == np.float32
        and not vectors.row_prefix
    ):
        return vectors
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            for _, block in vectors.blocks(_BLOCK_ROWS):
                rows = normalize_rows(block) if metric == "cosine" else block
                file.write(_to_float32(rows).tobytes())
    except OSError as error:
        raise StoreError(f"{path}: cannot write the vectors for the engines ({error.strerror})") from None
    return MappedVectors(str(path), vectors.shape, np.dtype(np.float32))


def _to_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(rows, np.float32)
    if not np.isfinite(values).all():
        largest = np.finfo(np.float32).max
        raise InputError(
            f"engines use single precision, but there are numbers beyond {largest:.2g}: scale the vectors"
        )
    return values


def normalize_rows(rows: Matrix) -> NDArray[np.float64]:
    """Return the rows scaled to unit length.

    >>> normalize_rows(np.array([[3, 4]])).tolist()
    [[0.6, 0.8]]
    """
    values = rows.astype(np.float64)
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", values, values))
    return values / lengths[:, None]
