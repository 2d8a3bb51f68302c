"""Model2Vec: static word vectors distilled from a sentence model, from a folder or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from assay.models.encoder import Encoder
from assay.models.model import library_version
from assay.models.weights import digest_of_parts, model_name


class Model2Vec(Encoder):
    """The mean of the vectors of the tokens of a text; of unit length if the model says so."""

    name = "model2vec"

    def __init__(self, *, model: str) -> None:
        from model2vec import StaticModel

        super().__init__()
        self.model = model_name(model)
        self._model = StaticModel.from_pretrained(model, force_download=False)
        self._encode_lock = Lock()  # every call changes the tokenizer, which is not thread-safe
        self.d = self._model.dim

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text; the role makes no difference."""
        with self._encode_lock:
            vectors: NDArray[Any] = self._model.encode(texts)
        return vectors

    def configuration(self) -> Mapping[str, Any]:
        """Return the model with the digest of its weights."""
        return {
            "name": self.name,
            "model": self.model,
            "dimensions": self.d,
            "weights": self._weights,
            "version": library_version("model2vec"),
        }

    @cached_property
    def _weights(self) -> str:
        candidates = (self._model.embedding, self._model.weights, self._model.token_mapping)
        arrays = [part for part in candidates if part is not None]
        return digest_of_parts([*arrays, self._model.tokenizer.to_str(), str(self._model.normalize)])
