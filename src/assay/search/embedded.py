"""Two small searches in memory: one by words, with bm25s, one by vectors, with scikit-learn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from assay.core.errors import InputError, MissingExtraError
from assay.core.tables import Documents, Queries, Run
from assay.core.texts import Floats
from assay.search.searcher import Answer, Query, Ranked, Searcher

try:
    import bm25s

    from assay.models.encoders import lsa
except ImportError:
    raise MissingExtraError("bm25s and scikit-learn", "searching in memory", "demo") from None

_TOKEN = re.compile(lsa.TOKEN)


class BM25(Searcher):
    """BM25 by bm25s, in the form of Lucene, with the usual k1 and b."""

    def __init__(self, documents: Documents, name: str = "bm25", *, k1: float = 1.2, b: float = 0.75) -> None:
        self.name, self._settings = name, {"k1": k1, "b": b, "documents": documents.digest}
        texts = documents.texts()
        self.doc_ids = list(texts)
        words = [_words(text) for text in texts.values()]
        if not any(words):
            raise InputError(f"{name}: expected documents with words, found {len(texts):,} without any")
        self._weights = bm25s.BM25(k1, b, method="lucene", dtype="float64", auto_compile=False)
        self._weights.index(words, show_progress=False)

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """The k best documents of a query."""
        return Answer(_best(self.doc_ids, self._scores(query.text), k))

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        scores = map(self._scores, queries.columns["text"])
        return _run(self.name, queries, self.doc_ids, scores, k)

    def _scores(self, text: str) -> Floats:
        known = [word for word in _words(text) if word in self._weights.vocab_dict]
        if not known:
            return np.zeros(len(self.doc_ids))
        made: Floats = self._weights.get_scores(known)
        return made

    def configuration(self) -> Mapping[str, Any]:
        """The two parameters, and what is searched in."""
        return {"name": self.name, "kind": "bm25", **self._settings}


def _words(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


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


def _run(name: str, queries: Queries, doc_ids: list[str], scores: Iterable[Floats], k: int) -> Run:
    """The best of each row of scores, as a run."""
    found = {query: dict(_best(doc_ids, row, k)) for query, row in zip(queries.ids, scores, strict=True)}
    return Run({query: documents for query, documents in found.items() if documents}, name=name)
