"""Latent semantic analysis: TF-IDF vectors in a space of few dimensions (Deerwester 1990)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from assay.core.digests import digest_of
from assay.core.errors import InputError
from assay.models.encoder import Encoder
from assay.models.model import library

TOKEN = r"(?u)\w+(?:[-.]\w+)*"  # keeps codes and versions whole: tk-1207, 6.4


class LSA(Encoder):
    """Vectors of unit length, learnt from the documents; a text of unknown words only is all zeros."""

    name = "lsa"

    def __init__(self, *, dimensions: int = 150, seed: int = 0) -> None:
        super().__init__()
        self.dimensions, self.seed = dimensions, seed
        self._learnt: tuple[TfidfVectorizer, TruncatedSVD] | None = None
        self._documents = ""

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the words and the space from the documents."""
        words = TfidfVectorizer(token_pattern=TOKEN, sublinear_tf=True)
        try:
            table = words.fit_transform(texts)
        except ValueError:  # no text, or no word in any
            raise InputError(f"lsa learns from the words of documents, found none in {len(texts)}") from None
        if min(table.shape) < 2:
            raise InputError(
                f"lsa needs two documents and two words, found {' and '.join(map(str, table.shape))}"
            )
        space = TruncatedSVD(min(self.dimensions, min(table.shape) - 1), random_state=self.seed)
        space.fit(table)
        self._learnt, self.d = (words, space), space.n_components
        self._documents = digest_of("".join(digest_of(text.encode()) for text in texts).encode())

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text; both roles are read alike."""
        if self._learnt is None:
            raise InputError("lsa has learnt nothing yet: call fit with the documents first")
        words, space = self._learnt
        made: NDArray[Any] = normalize(space.transform(words.transform(texts)))
        return made

    def configuration(self) -> Mapping[str, Any]:
        """The parameters, and the documents it learnt from by their digest."""
        return {
            "name": self.name,
            "dimensions": self.dimensions,
            "seed": self.seed,
            "documents": self._documents,
            "version": library("scikit-learn"),
        }
