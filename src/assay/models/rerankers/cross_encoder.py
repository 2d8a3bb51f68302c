"""Cross-encoders of Sentence Transformers: query and text are read together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from assay.models.digests import digest_of_module, named
from assay.models.model import ModelError, library
from assay.models.reranker import Reranker


class CrossEncoder(Reranker):
    """The score that the model gives to each pair of query and text."""

    name = "cross_encoder"

    def __init__(
        self,
        *,
        model: str,
        revision: str | None = None,
        device: str | None = None,
        max_tokens: int | None = None,
        batch: int = 32,
        local_only: bool = False,
    ) -> None:
        import sentence_transformers

        super().__init__()
        self.model, self.revision, self.max_tokens, self.batch = named(model), revision, max_tokens, batch
        self._model = sentence_transformers.CrossEncoder(
            model, revision=revision, device=device, max_length=max_tokens, local_files_only=local_only
        )
        self._scoring = Lock()  # its tokenizer is set at every call, which two threads may not

    def scored(self, query: str, texts: list[str]) -> list[float]:
        """The score of each text."""
        pairs = [(query, text) for text in texts]
        with self._scoring:
            made = np.asarray(
                self._model.predict(pairs, batch_size=self.batch, show_progress_bar=False), np.float64
            )
        if made.ndim != 1:
            raise ModelError(
                "malformed", f"{self.model} has {made.shape[1]} outputs a pair, expected one score"
            )
        return [float(score) for score in made]

    def configuration(self) -> Mapping[str, Any]:
        """The model and its version, and its weights by their digest."""
        return {
            "name": self.name,
            "model": self.model,
            "revision": self.revision,
            "max_tokens": self.max_tokens,
            "weights": self._weights,
            "version": library("sentence-transformers"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_module(self._model)
