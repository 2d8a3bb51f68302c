"""Sentence Transformers: sentence models from a folder or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from assay.models.encoder import Encoder, Prefixes
from assay.models.model import library_version
from assay.models.weights import digest_of_module, model_name


class SentenceTransformers(Encoder):
    """Vectors of a sentence model, after its own prompts unless prefixes are given."""

    name = "sentence_transformers"

    def __init__(
        self,
        *,
        model: str,
        revision: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        device: str | None = None,
        batch: int = 32,
        local_only: bool = False,
    ) -> None:
        from sentence_transformers import SentenceTransformer

        super().__init__()
        self.model, self.batch = model_name(model), batch
        self._model = SentenceTransformer(
            model, revision=revision, device=device, local_files_only=local_only
        )
        prompts = self._model.prompts
        query = prompts.get("query", "") if query_prefix is None else query_prefix
        self.prefixes = Prefixes(
            query, prompts.get("document", "") if document_prefix is None else document_prefix
        )
        self._encode_lock = Lock()  # every call changes the tokenizer, which is not thread-safe

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text."""
        with self._encode_lock:
            vectors: NDArray[Any] = self._model.encode(
                texts,
                prompt=self.prefixes.for_role(role),  # empty: not even the default of the model
                batch_size=self.batch,
                show_progress_bar=False,
            )
        return vectors

    def configuration(self) -> Mapping[str, Any]:
        """Return the model with its prefixes, and the digest of its weights."""
        return {
            "name": self.name,
            "model": self.model,
            "prefixes": self.prefixes._asdict(),
            "weights": self._weights,
            "version": library_version("sentence-transformers"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_module(self._model)
