"""Two small searches in memory: one by words, one by vectors. Both need scikit-learn."""

from typing import Any

import numpy as np

from assay.core.errors import MissingExtraError
from assay.core.tables import Documents, Queries, Run
from assay.core.texts import Floats

try:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.preprocessing import normalize
except ImportError:
    raise MissingExtraError("scikit-learn", "searching in memory", "demo") from None

_TOKEN = r"(?u)\w+(?:[-.]\w+)*"  # keeps codes and versions whole: tk-1207, 6.4


class BM25:
    """Okapi BM25 with the usual k1 and b (Robertson and Zaragoza 2009, eq. 3.15)."""

    name = "bm25"

    def __init__(self, documents: Documents, k1: float = 1.2, b: float = 0.75) -> None:
        texts = documents.texts()
        self.doc_ids = list(texts)
        self._words = CountVectorizer(token_pattern=_TOKEN)
        counts = self._words.fit_transform(texts.values()).tocsr().astype(np.float64)
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        holders = np.asarray((counts > 0).sum(axis=0)).ravel()
        idf = np.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        norm = np.repeat(k1 * (1 - b + b * lengths / lengths.mean()), np.diff(counts.indptr))
        counts.data *= (k1 + 1) / (counts.data + norm)
        self._weights = counts.multiply(idf).T.tocsc()

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        asked = self._words.transform(queries.columns["text"])
        return _best(self.name, queries, self.doc_ids, (asked @ self._weights).toarray(), k)


class LSA:
    """Latent semantic analysis: TF-IDF vectors in a space of few dimensions (Deerwester 1990)."""

    name = "lsa"

    def __init__(self, documents: Documents, dimensions: int = 150, seed: int = 0) -> None:
        texts = documents.texts()
        self.doc_ids = list(texts)
        self._words = TfidfVectorizer(token_pattern=_TOKEN, sublinear_tf=True)
        table = self._words.fit_transform(texts.values())
        self._space = TruncatedSVD(min(dimensions, min(table.shape) - 1), random_state=seed)
        self._vectors = normalize(self._space.fit_transform(table))

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        asked = normalize(self._space.transform(self._words.transform(queries.columns["text"])))
        return _best(self.name, queries, self.doc_ids, asked @ self._vectors.T, k)


def _best(name: str, queries: Queries, doc_ids: list[str], scores: Floats, k: int) -> Run:
    """The k best scores of each row, as a run; what shares nothing with the query is no hit."""
    made: dict[str, dict[str, Any]] = {}
    for query, row in zip(queries.ids, scores, strict=True):
        order = [i for i in np.argsort(-row, kind="stable")[:k].tolist() if row[i] > 0]
        if order:
            made[query] = {doc_ids[i]: round(float(row[i]), 6) for i in order}
    return Run(made, name=name)
