"""WordLlama: static word vectors whose weights come inside the package; nothing is downloaded."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.models.digests import digest_of_parts
from assay.models.encoder import Encoder
from assay.models.model import library

DIMENSIONS = (64, 128, 256)


class WordLlama(Encoder):
    """The mean of the vectors of a text's tokens."""

    name = "wordllama"

    def __init__(self, *, dimensions: int = 256) -> None:
        super().__init__()
        if dimensions not in DIMENSIONS:
            raise InputError(f"dimensions: expected {', '.join(map(str, DIMENSIONS))}, found {dimensions}")
        with _logging_kept():
            import wordllama
        # the package looks for its tokenizer in a folder of the user, unless it is told its own
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(trunc_dim=dimensions, cache_dir=folder, disable_download=True)
        self.d = dimensions

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text; both roles are read alike."""
        made: NDArray[Any] = self._model.embed(texts, norm=False)
        return made

    def configuration(self) -> Mapping[str, Any]:
        """The model with its weights by their digest."""
        return {
            "name": self.name,
            "dimensions": self.d,
            "weights": self._weights,
            "version": library("wordllama"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_parts([self._model.embedding, self._model.tokenizer.to_str()])


@contextmanager
def _logging_kept() -> Iterator[None]:
    """The package sets up the logging of the whole process when it is imported: undo that."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
