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
from assay.models.languages import AUTO, WordAnalyzer, check_language
from assay.models.model import library_version


class LSA(Encoder):
    """Vectors of unit length, fitted to the documents; a text of unknown words is a vector of zeros.

    Words are stemmed, and stop words left out, in the language of the documents, as in BM25.
    """

    name = "lsa"

    def __init__(self, *, dimensions: int = 150, seed: int = 0, language: str = AUTO) -> None:
        super().__init__()
        check_language(language)
        self.dimensions, self.seed = dimensions, seed
        self.language = self._language_setting = language  # `fit` chooses one for `auto`
        self._fitted_model: tuple[TfidfVectorizer, TruncatedSVD] | None = None
        self._documents = ""

    def fit(self, texts: Sequence[str]) -> None:
        """Fit the vocabulary and the dimensions to the documents."""
        analyzer = WordAnalyzer(self._language_setting, texts)
        self.language = analyzer.language
        vectorizer = TfidfVectorizer(analyzer=analyzer.words, sublinear_tf=True)
        try:
            table = vectorizer.fit_transform(texts)
        except ValueError:  # no text, or no word in any text
            raise InputError(f"lsa is fitted to the words of documents, found none in {len(texts)}") from None
        if min(table.shape) < 2:
            raise InputError(
                f"lsa needs two documents and two words, found {' and '.join(map(str, table.shape))}"
            )
        svd = TruncatedSVD(min(self.dimensions, min(table.shape) - 1), random_state=self.seed)
        svd.fit(table)
        self._fitted_model, self.d = (vectorizer, svd), svd.n_components
        self._documents = digest_of("".join(digest_of(text.encode()) for text in texts).encode())

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text; the role makes no difference."""
        if self._fitted_model is None:
            raise InputError("lsa is not fitted: call fit with the documents first")
        vectorizer, svd = self._fitted_model
        vectors: NDArray[Any] = normalize(svd.transform(vectorizer.transform(texts)))
        return vectors

    def configuration(self) -> Mapping[str, Any]:
        """Return the parameters, and the digest of the documents."""
        return {
            "name": self.name,
            "dimensions": self.dimensions,
            "seed": self.seed,
            "language": self.language,
            "documents": self._documents,
            "version": library_version("scikit-learn"),
        }
