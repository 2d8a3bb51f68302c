"""The Reranker protocol: a query and texts become scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from assay.models.model import Model, ModelError, asked_once


class Reranker(Model):
    """A model that says how well texts answer a query: subclass it with `scored`, in one file each."""

    takes_encoder: ClassVar[bool] = False  # its first argument is an encoder

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The score of each text, asked for once, in their order; higher is better, and none is NaN."""
        if not texts:
            return []
        with asked_once():
            made = self.scored(query, list(texts))
        if len(made) != len(texts):
            raise ModelError("malformed", f"{self.name} gave {len(made)} scores, expected {len(texts)}")
        if not all(map(math.isfinite, made)):
            raise ModelError("malformed", f"{self.name} gave a score that is not finite")
        return made

    def scored(self, query: str, texts: list[str]) -> list[float]:
        """The score of each text: what a model has to bring."""
        raise NotImplementedError
