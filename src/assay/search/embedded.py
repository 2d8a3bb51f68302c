"""Two small searches in memory: one by words, one by vectors. Both need scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.core.errors import MissingExtraError
from assay.core.tables import Documents, Queries, Run
from assay.core.texts import Floats
from assay.search.searcher import Answer, Query, Ranked, Searcher

try:
    from sklearn.feature_extraction.text import CountVectorizer

    from assay.models.encoders import lsa
except ImportError:
    raise MissingExtraError("scikit-learn", "searching in memory", "demo") from None


class BM25(Searcher):
    """Okapi BM25 with the usual k1 and b (Robertson and Zaragoza 2009, eq. 3.15)."""

    def __init__(self, documents: Documents, name: str = "bm25", *, k1: float = 1.2, b: float = 0.75) -> None:
        self.name, self._settings = name, {"k1": k1, "b": b, "documents": documents.digest}
        texts = documents.texts()
        self.doc_ids = list(texts)
        self._words = CountVectorizer(token_pattern=lsa.TOKEN)
        counts = self._words.fit_transform(texts.values()).tocsr().astype(np.float64)
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        holders = np.asarray((counts > 0).sum(axis=0)).ravel()
        idf = np.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        norm = np.repeat(k1 * (1 - b + b * lengths / lengths.mean()), np.diff(counts.indptr))
        counts.data *= (k1 + 1) / (counts.data + norm)
        self._weights = counts.multiply(idf).T.tocsr()  # a row for each word

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """The k best documents of a query: only those that hold one of its words are looked at."""
        asked = self._words.transform([query.text])
        scores = np.zeros(len(self.doc_ids))
        for word, count in zip(asked.indices.tolist(), asked.data.tolist(), strict=True):
            held = slice(*self._weights.indptr[word : word + 2])
            scores[self._weights.indices[held]] += count * self._weights.data[held]
        return Answer(_best(self.doc_ids, scores, k))

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        asked = self._words.transform(queries.columns["text"])
        return _run(self.name, queries, self.doc_ids, (asked @ self._weights).toarray(), k)

    def configuration(self) -> Mapping[str, Any]:
        """The two parameters, and what is searched in."""
        return {"name": self.name, "kind": "bm25", **self._settings}


class LSA(Searcher):
    """Latent semantic analysis: every document is compared with the query, by the encoder of that name."""

    def __init__(
        self, documents: Documents, name: str = "lsa", *, dimensions: int = 150, seed: int = 0
    ) -> None:
        self.name = name
        self._settings = {"dimensions": dimensions, "seed": seed, "documents": documents.digest}
        texts = documents.texts()
        self.doc_ids = list(texts)
        self._encoder = lsa.LSA(dimensions=dimensions, seed=seed)
        self._encoder.fit(list(texts.values()))
        self._vectors = self._encoder.vectors(list(texts.values()), "document")

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """The k best documents of a query."""
        return Answer(_best(self.doc_ids, self._scores([query.text])[0], k))

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        return _run(self.name, queries, self.doc_ids, self._scores(queries.columns["text"]), k)

    def _scores(self, texts: list[str]) -> Floats:
        made: Floats = self._encoder.vectors(texts, "query") @ self._vectors.T
        return made

    def configuration(self) -> Mapping[str, Any]:
        """The two parameters, and what is searched in."""
        return {"name": self.name, "kind": "lsa", **self._settings}


def _best(doc_ids: list[str], scores: Floats, k: int) -> Ranked:
    """The k best scores, the first of equals first; what shares nothing with the query is no hit."""
    at = np.flatnonzero(scores > 0)
    if len(at) > k:
        least = np.partition(scores[at], len(at) - k)[len(at) - k]
        at = at[scores[at] >= least]
    order = at[np.argsort(-scores[at], kind="stable")][:k].tolist()
    return [(doc_ids[i], round(float(scores[i]), 6)) for i in order]


def _run(name: str, queries: Queries, doc_ids: list[str], scores: Floats, k: int) -> Run:
    """The best of each row of scores, as a run."""
    found = {query: dict(_best(doc_ids, row, k)) for query, row in zip(queries.ids, scores, strict=True)}
    return Run({query: documents for query, documents in found.items() if documents}, name=name)
