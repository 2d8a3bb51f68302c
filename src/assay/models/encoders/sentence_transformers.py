"""Sentence Transformers: sentence models of a folder or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from assay.models.digests import digest_of_module, named
from assay.models.encoder import Encoder, Prefixes
from assay.models.model import library


class SentenceTransformers(Encoder):
    """What the model makes of a text, after its own prompts unless other prefixes are given."""

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
        self.model, self.batch = named(model), batch
        self._model = SentenceTransformer(
            model, revision=revision, device=device, local_files_only=local_only
        )
        own = self._model.prompts
        query = own.get("query", "") if query_prefix is None else query_prefix
        self.prefixes = Prefixes(
            query, own.get("document", "") if document_prefix is None else document_prefix
        )
        self._encoding = Lock()  # its tokenizer is set at every call, which two threads may not

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text."""
        with self._encoding:
            made: NDArray[Any] = self._model.encode(
                texts,
                prompt=self.prefixes.of(role),  # empty: none, not even the model's default
                batch_size=self.batch,
                show_progress_bar=False,
            )
        return made

    def configuration(self) -> Mapping[str, Any]:
        """The model with its prefixes, and its weights by their digest."""
        return {
            "name": self.name,
            "model": self.model,
            "prefixes": self.prefixes._asdict(),
            "weights": self._weights,
            "version": library("sentence-transformers"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_module(self._model)
