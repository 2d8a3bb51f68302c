"""Any index of Assay's engines, or exact search, over the vectors of an encoder."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.core.errors import ConfigurationError, EngineError
from assay.core.tables import Documents
from assay.core.vectors import METRICS, InMemoryVectors, Positions
from assay.indexes.exact.distances import pair_distances
from assay.indexes.exact.truth import truth
from assay.indexes.hosting.hosted import EngineProcess, HostedIndex
from assay.indexes.vector_data import normalize_rows
from assay.models.encoder import Encoder, Rows
from assay.remote.errors import RemoteError
from assay.search.searchers.configured import ConfiguredSearcher, ReturnedDocuments

EXACT = "exact"
_CLOSE_SECONDS = 2.0  # for an active search when the searcher is closed


class IndexSearcher(ConfiguredSearcher):
    """Searches an engine in its own process, with the parameters of `assay bench`, or `exact`.

    Scores are exact, whatever the engine: the cosine, the inner product, or the negative distance.
    """

    def __init__(
        self,
        name: str,
        documents: Documents,
        encoder: Encoder,
        *,
        engine: str = EXACT,
        metric: str = "cosine",
        build: dict[str, Any] | None = None,
        search: dict[str, Any] | None = None,
        threads: int = 1,
        python: str | None = None,
    ) -> None:
        settings = {"engine": engine, "metric": metric, "build": build, "search": search, "threads": threads}
        super().__init__(name, {**settings, "documents": documents.digest}, encoder, encodes=True)
        if metric not in METRICS:
            problem = f"expected one of {', '.join(METRICS)}, found {metric!r}"
            raise ConfigurationError({"metric": problem})
        if engine != EXACT:
            _check_parameters(engine, build or {}, search or {}, python)
        texts = documents.texts()
        vectors = encoder.encode(list(texts.values()), "document")
        self._metric, self._threads, self._lock = metric, threads, threading.Lock()
        has_direction = self._has_direction(vectors)
        self._doc_ids = [key for key, keep in zip(texts, has_direction.tolist(), strict=True) if keep]
        self._base = InMemoryVectors(self._prepare(vectors[has_direction]))
        self._index: HostedIndex | None = None
        if engine != EXACT:
            self._index = HostedIndex(
                engine, build, metric=metric, d=self._base.d, threads=threads, python=python
            )
            self._build(self._index, search or {})

    def _build(self, index: HostedIndex, search: dict[str, Any]) -> None:
        try:
            index.build(self._base)
            index.call("set_search", search)
        except BaseException:
            index.close()
            raise

    def _has_direction(self, vectors: Rows) -> Any:
        """Return which vectors can be compared: a vector of zeros has no cosine."""
        return vectors.any(axis=1) if self._metric == "cosine" else np.ones(len(vectors), bool)

    def _prepare(self, vectors: Rows) -> Rows:
        rows = normalize_rows(vectors) if self._metric == "cosine" else vectors
        return np.ascontiguousarray(rows, np.float32)

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the nearest documents; none if the query is a vector of zeros and the metric is cosine."""
        vector = np.asarray([values["vector"]], np.float32)
        if not self._has_direction(vector)[0]:
            return []
        row = self._prepare(vector)
        try:
            positions = self._positions(InMemoryVectors(row), min(k, len(self._base)), timeout)[0]
        except EngineError as error:
            raise RemoteError("failed", str(error)) from None
        positions = positions[positions >= 0]
        distances = pair_distances(
            self._metric, np.repeat(row, len(positions), 0), self._base.matrix[positions]
        )
        order = np.argsort(distances, kind="stable")
        scores = (1 - distances if self._metric == "cosine" else 0.0 - distances).tolist()
        return [(self._doc_ids[positions[i]], scores[i]) for i in order.tolist()]

    def _positions(self, row: InMemoryVectors, k: int, timeout: float | None) -> Positions:
        if self._index is None:
            return truth(self._base, row, k, self._metric, threads=self._threads).positions
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout):
            raise RemoteError("timeout", "the index is busy with other queries", is_transient=True)
        try:
            return self._index.time_search(row, k).positions
        finally:
            self._lock.release()

    def close(self) -> None:
        """Kill the process of the engine, even if it hangs in a search."""
        if self._index is not None:
            if self._lock.acquire(timeout=_CLOSE_SECONDS):
                self._lock.release()
            self._index.close()


def _check_parameters(engine: str, build: dict[str, Any], search: dict[str, Any], python: str | None) -> None:
    """Refuse parameters that the engine does not have, before anything is encoded."""
    with EngineProcess(python=python) as process:
        problems = process.call("problems", engine, build, search)
    if problems:
        raise ConfigurationError(problems)
