"""Late interaction (MaxSim, Khattab and Zaharia 2020) over the vectors of sentences, with any encoder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from assay.models.encoder import Encoder, unit
from assay.models.model import Usage
from assay.models.reranker import Reranker

_END = re.compile(r"(?<=[.!?])\s+|\n+")


class LateInteraction(Reranker):
    """The cosine of each sentence of the query with the nearest sentence of the text, on average."""

    name = "late_interaction"
    takes_encoder = True

    def __init__(self, encoder: Encoder, *, words: int = 48) -> None:
        super().__init__()
        self.encoder, self.words = encoder, words  # at most so many words in a piece

    def scored(self, query: str, texts: list[str]) -> list[float]:
        """The score of each text, from −1 to 1."""
        asked = unit(self.encoder.encode(pieces(query, self.words), "query"))
        parts = [pieces(text, self.words) for text in texts]
        rows = unit(self.encoder.encode([piece for part in parts for piece in part]))
        starts = np.cumsum([0, *map(len, parts)])[:-1]
        nearest = np.maximum.reduceat(asked @ rows.T, starts, axis=1)
        return [float(score) for score in nearest.mean(axis=0)]

    @property
    def usage(self) -> Usage:
        """What the encoder used."""
        return self.encoder.usage

    @property
    def usage_here(self) -> Usage:
        """What the encoder used in the thread that asks."""
        return self.encoder.usage_here

    def configuration(self) -> Mapping[str, Any]:
        """The encoder and how texts are cut."""
        return {"name": self.name, "words": self.words, "encoder": dict(self.encoder.configuration())}

    def identity(self) -> Mapping[str, Any]:
        """The same, with the prices of the encoder."""
        return {**self.configuration(), "encoder": dict(self.encoder.identity())}

    def close(self) -> None:
        """Close the encoder."""
        self.encoder.close()


def pieces(text: str, words: int) -> list[str]:
    """The sentences of a text, long ones cut; a text without any is one empty piece.

    >>> pieces("It stopped. Why did it stop?", 3)
    ['It stopped.', 'Why did it', 'stop?']
    >>> pieces(" ", 3)
    ['']
    """
    return list(_cut(text, words)) or [""]


def _cut(text: str, words: int) -> Iterator[str]:
    for sentence in _END.split(text):
        found = sentence.split()
        for at in range(0, len(found), words):
            yield " ".join(found[at : at + words])
