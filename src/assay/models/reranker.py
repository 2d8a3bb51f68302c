"""The Reranker protocol: a query and texts become scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from assay.models.model import Model
from assay.remote.errors import RemoteError
from assay.remote.retry import without_retries


class Reranker(Model):
    """A model that scores how well texts answer a query: subclass it with `score_texts`, in one file each."""

    takes_encoder: ClassVar[bool] = False  # whether its first argument is an encoder

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text, in order, without retries; higher is better, all are finite."""
        if not texts:
            return []
        with without_retries():
            scores = self.score_texts(query, list(texts))
        if len(scores) != len(texts):
            raise RemoteError(
                "malformed", f"{self.name} returned {len(scores)} scores, expected {len(texts)}"
            )
        if not all(map(math.isfinite, scores)):
            raise RemoteError("malformed", f"{self.name} returned a score that is not finite")
        return scores

    def score_texts(self, query: str, texts: list[str]) -> list[float]:
        """Return the score of each text: implemented by each model."""
        raise NotImplementedError
