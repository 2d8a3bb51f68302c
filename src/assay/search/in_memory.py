"""Two small searchers in memory: by words with bm25s, and by vectors with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError, MissingExtraError
from assay.core.tables import Documents, Queries, Run
from assay.search.searcher import Answer, Query, RankedDocuments, Searcher, build_run

try:
    import bm25s

    from assay.models.encoders import lsa
    from assay.models.languages import AUTO, WordAnalyzer
except ImportError:
    raise MissingExtraError("bm25s, PyStemmer and scikit-learn", "searching in memory", "demo") from None


class BM25Searcher(Searcher):
    """BM25 as in Lucene, computed by bm25s: without the stop words of a language, and stemmed.

    The language `auto` is English if the documents are English, else `none`: words as they are written.
    """

    def __init__(
        self,
        documents: Documents,
        name: str = "bm25",
        *,
        k1: float = 1.2,
        b: float = 0.75,
        language: str = AUTO,
    ) -> None:
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"{name}: expected k1 of 0 or more and b from 0 to 1, found k1 {k1:g}, b {b:g}")
        texts = documents.texts()
        self.name, self.doc_ids, self._analyzer = name, list(texts), WordAnalyzer(language, texts.values())
        self._settings = {
            "k1": k1,
            "b": b,
            "language": self._analyzer.language,
            "documents": documents.digest,
        }
        words = [self._analyzer.words(text) for text in texts.values()]
        if not any(words):
            raise InputError(f"{name}: expected documents with words, found {len(texts):,} without any")
        self._weights = bm25s.BM25(k1, b, method="lucene", dtype="float64", auto_compile=False)
        self._weights.index(words, show_progress=False)

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """Return the k best documents of a query."""
        return Answer(_best_documents(self.doc_ids, self._scores(query.text), k))

    def search(self, queries: Queries, k: int) -> Run:
        """Return the k best documents of each query."""
        scores = map(self._scores, queries.columns["text"])
        return _build_run(self.name, queries, self.doc_ids, scores, k)

    def _scores(self, text: str) -> Floats:
        known_words = [word for word in self._analyzer.words(text) if word in self._weights.vocab_dict]
        if not known_words:
            return np.zeros(len(self.doc_ids))
        scores: Floats = self._weights.get_scores(known_words)
        return scores

    def configuration(self) -> Mapping[str, Any]:
        """Return the parameters with the language that was chosen, and the digest of the documents."""
        return {"name": self.name, "kind": "bm25", **self._settings}


class LSASearcher(Searcher):
    """Latent semantic analysis: exact search over the vectors of the LSA encoder."""

    def __init__(
        self,
        documents: Documents,
        name: str = "lsa",
        *,
        dimensions: int = 150,
        seed: int = 0,
        language: str = AUTO,
    ) -> None:
        texts = documents.texts()
        self.name, self.doc_ids = name, list(texts)
        self._encoder = lsa.LSA(dimensions=dimensions, seed=seed, language=language)
        self._encoder.fit(list(texts.values()))
        self._settings = {
            "dimensions": dimensions,
            "seed": seed,
            "language": self._encoder.language,
            "documents": documents.digest,
        }
        self._vectors = self._encoder.vectors(list(texts.values()), "document")

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """Return the k best documents of a query."""
        return Answer(_best_documents(self.doc_ids, self._scores([query.text])[0], k))

    def search(self, queries: Queries, k: int) -> Run:
        """Return the k best documents of each query."""
        return _build_run(self.name, queries, self.doc_ids, self._scores(queries.columns["text"]), k)

    def _scores(self, texts: list[str]) -> Floats:
        scores: Floats = self._encoder.vectors(texts, "query") @ self._vectors.T
        return scores

    def configuration(self) -> Mapping[str, Any]:
        """Return the parameters with the language that was chosen, and the digest of the documents."""
        return {"name": self.name, "kind": "lsa", **self._settings}


def _best_documents(doc_ids: list[str], scores: Floats, k: int) -> RankedDocuments:
    """Return the documents with the k best positive scores; of equal scores the first document first."""
    candidates = np.flatnonzero(scores > 0)
    if len(candidates) > k:
        lowest = np.partition(scores[candidates], len(candidates) - k)[len(candidates) - k]
        candidates = candidates[scores[candidates] >= lowest]
    order = candidates[np.argsort(-scores[candidates], kind="stable")][:k].tolist()
    return [(doc_ids[i], round(float(scores[i]), 6)) for i in order]


def _build_run(name: str, queries: Queries, doc_ids: list[str], scores: Iterable[Floats], k: int) -> Run:
    """Return the run of the best documents of each row of scores."""
    rows = zip(queries.ids, scores, strict=True)
    return build_run(name, {query: _best_documents(doc_ids, row, k) for query, row in rows})
