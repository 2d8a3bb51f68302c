"""WordLlama: static word vectors whose weights are in the package; nothing is downloaded."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.models.encoder import Encoder
from assay.models.model import library_version
from assay.models.weights import digest_of_parts

DIMENSIONS = (64, 128, 256)


class WordLlama(Encoder):
    """The mean of the vectors of the tokens of a text."""

    name = "wordllama"

    def __init__(self, *, dimensions: int = 256) -> None:
        super().__init__()
        if dimensions not in DIMENSIONS:
            raise InputError(f"dimensions: expected {', '.join(map(str, DIMENSIONS))}, found {dimensions}")
        with _preserve_logging():
            import wordllama
        # by default the package looks for its tokenizer in a folder of the user
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(trunc_dim=dimensions, cache_dir=folder, disable_download=True)
        self.d = dimensions

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text; the role makes no difference."""
        vectors: NDArray[Any] = self._model.embed(texts, norm=False)
        return vectors

    def configuration(self) -> Mapping[str, Any]:
        """Return the model with the digest of its weights."""
        return {
            "name": self.name,
            "dimensions": self.d,
            "weights": self._weights,
            "version": library_version("wordllama"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_parts([self._model.embedding, self._model.tokenizer.to_str()])


@contextmanager
def _preserve_logging() -> Iterator[None]:
    """Undo the logging configuration that the import of the package makes for the whole process."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
