"""Cross-encoders of Sentence Transformers: a model reads the query and the text together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from assay.models.model import library_version
from assay.models.reranker import Reranker
from assay.models.weights import digest_of_module, model_name
from assay.remote.errors import RemoteError


class CrossEncoder(Reranker):
    """Scores each pair of query and text by a cross-encoder."""

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
        self.model, self.revision = model_name(model), revision
        self.max_tokens, self.batch = max_tokens, batch
        self._model = sentence_transformers.CrossEncoder(
            model, revision=revision, device=device, max_length=max_tokens, local_files_only=local_only
        )
        self._predict_lock = Lock()  # every call changes the tokenizer, which is not thread-safe

    def score_texts(self, query: str, texts: list[str]) -> list[float]:
        """Return the score of each text."""
        pairs = [(query, text) for text in texts]
        with self._predict_lock:
            output = self._model.predict(pairs, batch_size=self.batch, show_progress_bar=False)
        scores = np.asarray(output, np.float64)
        if scores.ndim != 1:
            reason = f"{self.model} has {scores.shape[1]} outputs for each pair, expected one score"
            raise RemoteError("malformed", reason)
        return [float(score) for score in scores]

    def configuration(self) -> Mapping[str, Any]:
        """Return the model and its version, and the digest of its weights."""
        return {
            "name": self.name,
            "model": self.model,
            "revision": self.revision,
            "max_tokens": self.max_tokens,
            "weights": self._weights,
            "version": library_version("sentence-transformers"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_module(self._model)
