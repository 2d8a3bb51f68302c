"""Late interaction (MaxSim, Khattab and Zaharia 2020) over the vectors of sentences, with any encoder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from assay.models.encoder import Encoder, EncoderUser, unit_rows
from assay.models.reranker import Reranker

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class LateInteraction(EncoderUser, Reranker):
    """The mean cosine of each sentence of the query with the nearest sentence of the text."""

    name = "late_interaction"
    takes_encoder = True

    def __init__(self, encoder: Encoder, *, words: int = 48) -> None:
        super().__init__()
        self.encoder, self.words = encoder, words  # the maximum of a piece

    def score_texts(self, query: str, texts: list[str]) -> list[float]:
        """Return the score of each text, from −1 to 1."""
        query_vectors = unit_rows(self.encoder.encode(split_sentences(query, self.words), "query"))
        pieces_of_texts = [split_sentences(text, self.words) for text in texts]
        pieces = [piece for text_pieces in pieces_of_texts for piece in text_pieces]
        text_vectors = unit_rows(self.encoder.encode(pieces))
        starts = np.cumsum([0, *map(len, pieces_of_texts)])[:-1]
        nearest = np.maximum.reduceat(query_vectors @ text_vectors.T, starts, axis=1)
        return [float(score) for score in nearest.mean(axis=0)]

    def configuration(self) -> Mapping[str, Any]:
        """Return the encoder and the maximum of words in a piece."""
        return {"name": self.name, "words": self.words, "encoder": dict(self.encoder.configuration())}

    def identity(self) -> Mapping[str, Any]:
        """Return the configuration with the prices of the encoder."""
        return {**self.configuration(), "encoder": dict(self.encoder.identity())}


def split_sentences(text: str, words: int) -> list[str]:
    """Return the sentences of a text, cut to so many words; a text without any is one empty piece.

    >>> split_sentences("It stopped. Why did it stop?", 3)
    ['It stopped.', 'Why did it', 'stop?']
    >>> split_sentences(" ", 3)
    ['']
    """
    return list(_iterate_pieces(text, words)) or [""]


def _iterate_pieces(text: str, words: int) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        sentence_words = sentence.split()
        for start in range(0, len(sentence_words), words):
            yield " ".join(sentence_words[start : start + words])
