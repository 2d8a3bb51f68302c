"""The data of a sweep: what is searched, with what, and the truth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError, StoreError
from assay.core.vectors import Mapped, Matrix, Neighbors, Vectors
from assay.core.vectors_check import refuse_faults, refuse_mismatch
from assay.core.vectors_digest import digest

_ROWS = 1 << 16  # converted at a time


@dataclass(frozen=True)
class Data:
    """Base, queries and truth, as given."""

    base: Vectors
    queries: Vectors
    truth: Neighbors
    metric: str
    k: int
    digests: Mapping[str, str]

    def identity(self) -> dict[str, Any]:
        """What makes it this data and no other."""
        return {**self.digests, "metric": self.metric, "k": self.k}

    def about(self) -> dict[str, Any]:
        """The data in figures."""
        shape = {"n": len(self.base), "d": self.base.d, "queries": len(self.queries)}
        return {
            **shape,
            "dtype": self.base.dtype.name,
            "metric": self.metric,
            "k": self.k,
            "digests": self.digests,
        }


def data(base: Vectors, queries: Vectors, truth: Neighbors, metric: str, k: int) -> Data:
    """Data that fit together."""
    refuse_mismatch(base, queries)
    if not 1 <= k <= len(base):
        raise InputError(f"k is 1 to {len(base)}, the number of vectors in the base; found {k}")
    refuse_faults(base, metric, "the base")
    refuse_faults(queries, metric, "the queries")
    if len(truth.positions) != len(queries):
        raise InputError(f"the truth is of {len(truth.positions)} queries, and there are {len(queries)}")
    if truth.k < k:
        raise InputError(f"the truth has {truth.k} neighbours of each query, and {k} are asked for")
    highest = int(truth.positions.max(initial=-1))
    if highest >= len(base):
        raise InputError(
            f"the truth names position {highest}, and the base has {len(base)} vectors: is it another's?"
        )
    digests = {"base": digest(base), "queries": digest(queries)}
    return Data(base, queries, truth, metric, k, digests)


def as_engines_take(vectors: Vectors, metric: str, path: str | os.PathLike[str]) -> Vectors:
    """Vectors as float32 in a file that every process maps; of unit length under cosine."""
    if (
        metric != "cosine"
        and type(vectors) is Mapped  # and no kind of it that reads otherwise
        and vectors.dtype == np.float32
        and not vectors.lead
    ):
        return vectors
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            for _, block in vectors.blocks(_ROWS):
                rows = unit(block) if metric == "cosine" else block
                file.write(_singles(rows).tobytes())
    except OSError as error:
        raise StoreError(
            f"{path}: the vectors for the engines cannot be written ({error.strerror})"
        ) from None
    return Mapped(str(path), vectors.shape, np.dtype(np.float32))


def _singles(rows: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        made = np.ascontiguousarray(rows, np.float32)
    if not np.isfinite(made).all():
        most = np.finfo(np.float32).max
        raise InputError(
            f"engines take single precision, and there are numbers beyond {most:.2g}: scale them"
        )
    return made


def unit(rows: Matrix) -> NDArray[np.float64]:
    """Rows of unit length.

    >>> unit(np.array([[3, 4]])).tolist()
    [[0.6, 0.8]]
    """
    made = rows.astype(np.float64)
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", made, made))
    return made / lengths[:, None]
