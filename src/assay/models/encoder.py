"""The Encoder protocol: texts become vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.models.model import Model, ModelError, asked_once

ROLES = ("query", "document")
Rows = NDArray[np.float32]  # one of each text; of unit length only where the model makes them so


class Encoder(Model):
    """A model that makes a vector of a text: subclass it with `vectors`, in one file each."""

    d: int | None = None  # the dimensions; None until they are known

    def encode(self, texts: Sequence[str], role: str = "document") -> Rows:
        """One vector of each text, in their order; a text may be empty, a number is never NaN."""
        if role not in ROLES:
            raise InputError(f"the role of a text is one of {', '.join(ROLES)}, found {role!r}")
        if not texts:
            return np.zeros((0, self.d or 0), np.float32)
        return self._checked(self.vectors(list(texts), role), len(texts))

    def encode_query(self, text: str) -> Rows:
        """The vector of one query, asked for once."""
        with asked_once():
            made: Rows = self.encode([text], "query")[0]
        return made

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text: what a model has to bring."""
        raise NotImplementedError

    def fit(self, texts: Sequence[str]) -> None:
        """Learn from the documents; most models have nothing to learn."""

    def _checked(self, made: NDArray[Any], count: int) -> Rows:
        rows = np.ascontiguousarray(made, np.float32)
        if rows.ndim != 2 or len(rows) != count or (self.d or rows.shape[1]) != rows.shape[1]:
            expected = f"{count} vectors" + (f" of {self.d} dimensions" if self.d else "")
            raise ModelError("malformed", f"{self.name} gave an array of {made.shape}, expected {expected}")
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ModelError("malformed", f"{self.name} gave a vector that is not finite for text {row + 1}")
        self.d = rows.shape[1]
        return rows


class Prefixes(NamedTuple):
    """What a model wants to read before a text, by its role."""

    query: str
    document: str

    def added(self, texts: list[str], role: str) -> list[str]:
        """Texts with the prefix of their role.

        >>> Prefixes("query: ", "").added(["how"], "query")
        ['query: how']
        """
        prefix = self.of(role)
        return [prefix + text for text in texts] if prefix else texts

    def of(self, role: str) -> str:
        """The prefix of a role."""
        return self.query if role == "query" else self.document


def unit(rows: NDArray[Any]) -> Rows:
    """Rows of length one; a row of zeros stays one.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
