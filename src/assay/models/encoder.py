"""The Encoder protocol: texts become vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.models.model import Model, Usage
from assay.remote.errors import RemoteError
from assay.remote.retry import without_retries

ROLES = ("query", "document")
Rows = NDArray[np.float32]  # one row for each text; of unit length only if the model normalizes them


class Encoder(Model):
    """A model that turns texts into vectors: subclass it with `vectors`, in one file each."""

    d: int | None = None  # the number of dimensions; None until the first vectors are computed

    def encode(self, texts: Sequence[str], role: str = "document") -> Rows:
        """Return one vector for each text, in order; a text may be empty, the numbers are finite."""
        if role not in ROLES:
            raise InputError(f"role: expected one of {', '.join(ROLES)}, found {role!r}")
        if not texts:
            return np.zeros((0, self.d or 0), np.float32)
        return self._check_vectors(self.vectors(list(texts), role), len(texts))

    def encode_query(self, text: str) -> Rows:
        """Return the vector of one query, without retries."""
        with without_retries():
            vector: Rows = self.encode([text], "query")[0]
        return vector

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text: implemented by each model."""
        raise NotImplementedError

    def fit(self, texts: Sequence[str]) -> None:
        """Fit the model to the documents; most models need no fitting."""

    def _check_vectors(self, vectors: NDArray[Any], count: int) -> Rows:
        rows = np.ascontiguousarray(vectors, np.float32)
        if rows.ndim != 2 or len(rows) != count or (self.d or rows.shape[1]) != rows.shape[1]:
            expected = f"{count} vectors" + (f" of {self.d} dimensions" if self.d else "")
            reason = f"{self.name} returned an array of {vectors.shape}, expected {expected}"
            raise RemoteError("malformed", reason)
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            reason = f"{self.name} returned a vector that is not finite for text {row + 1}"
            raise RemoteError("malformed", reason)
        self.d = rows.shape[1]
        return rows


class EncoderUser(Model):
    """A model that works with an encoder: its usage is that of the encoder."""

    encoder: Encoder

    @property
    def usage(self) -> Usage:
        """The usage of the encoder so far."""
        return self.encoder.usage

    @property
    def thread_usage(self) -> Usage:
        """The usage of the encoder so far in the calling thread."""
        return self.encoder.thread_usage

    def close(self) -> None:
        """Close the encoder."""
        self.encoder.close()


class Prefixes(NamedTuple):
    """The text that a model expects before a query and before a document."""

    query: str
    document: str

    def add_to(self, texts: list[str], role: str) -> list[str]:
        """Return texts with the prefix of their role.

        >>> Prefixes("query: ", "").add_to(["how"], "query")
        ['query: how']
        """
        prefix = self.for_role(role)
        return [prefix + text for text in texts] if prefix else texts

    def for_role(self, role: str) -> str:
        """Return the prefix of a role."""
        return self.query if role == "query" else self.document


def unit_rows(rows: NDArray[Any]) -> Rows:
    """Return rows scaled to length one; a row of zeros is not changed.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
