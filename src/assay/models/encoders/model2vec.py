"""Model2Vec: static word vectors distilled from a sentence model, of a folder or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from assay.models.digests import digest_of_parts, named
from assay.models.encoder import Encoder
from assay.models.model import library


class Model2Vec(Encoder):
    """The mean of the vectors of a text's tokens; of unit length where the model says so."""

    name = "model2vec"

    def __init__(self, *, model: str) -> None:
        from model2vec import StaticModel

        super().__init__()
        self.model = named(model)
        self._model = StaticModel.from_pretrained(model, force_download=False)
        self._encoding = Lock()  # it sets its tokenizer at every call, which two threads may not
        self.d = self._model.dim

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text; both roles are read alike."""
        with self._encoding:
            made: NDArray[Any] = self._model.encode(texts)
        return made

    def configuration(self) -> Mapping[str, Any]:
        """The model with its weights by their digest."""
        return {
            "name": self.name,
            "model": self.model,
            "dimensions": self.d,
            "weights": self._weights,
            "version": library("model2vec"),
        }

    @cached_property
    def _weights(self) -> str:
        found = (self._model.embedding, self._model.weights, self._model.token_mapping)
        arrays = [part for part in found if part is not None]
        return digest_of_parts([*arrays, self._model.tokenizer.to_str(), str(self._model.normalize)])
