"""Any index of Assay's engines, or exact search, over the vectors of an encoder."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.core.errors import ConfigurationError, EngineError
from assay.core.tables import Documents
from assay.core.vectors import METRICS, Held, Positions
from assay.indexes.exact.distances import of_pairs
from assay.indexes.exact.truth import truth
from assay.indexes.hosting.hosted import Hosted, Process
from assay.indexes.sweeps.data import unit
from assay.models.encoder import Encoder, Rows
from assay.search.searcher import SearchError
from assay.search.systems.system import Found, System

EXACT = "exact"
_LAST = 2.0  # seconds for a search that is under way when the system is closed


class Index(System):
    """An engine in a process of its own, in the words of `assay bench`; `exact` looks at every vector.

    Scores are exact, whatever the engine: the cosine, the inner product, or the distance with a minus.
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
            said = f"expected one of {', '.join(METRICS)}, found {metric!r}"
            raise ConfigurationError({"metric": said})
        if engine != EXACT:
            _refuse_wrong(engine, build or {}, search or {}, python)
        texts = documents.texts()
        vectors = encoder.encode(list(texts.values()), "document")
        self._metric, self._threads, self._lock = metric, threads, threading.Lock()
        there = self._possible(vectors)
        self._doc_ids = [key for key, keep in zip(texts, there.tolist(), strict=True) if keep]
        self._base = Held(self._prepared(vectors[there]))
        self._index: Hosted | None = None
        if engine != EXACT:
            self._index = Hosted(engine, build, metric=metric, d=self._base.d, threads=threads, python=python)
            self._ready(self._index, search or {})

    def _ready(self, index: Hosted, search: dict[str, Any]) -> None:
        try:
            index.build(self._base)
            index.ask("set_search", search)
        except BaseException:
            index.close()
            raise

    def _possible(self, vectors: Rows) -> Any:
        """Which vectors can be near another: under cosine, one of zeros cannot."""
        return vectors.any(axis=1) if self._metric == "cosine" else np.ones(len(vectors), bool)

    def _prepared(self, vectors: Rows) -> Rows:
        made = unit(vectors) if self._metric == "cosine" else vectors
        return np.ascontiguousarray(made, np.float32)

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """The nearest documents; none where the query is a vector of zeros under cosine."""
        asked = np.asarray([values["vector"]], np.float32)
        if not self._possible(asked)[0]:
            return []
        row = self._prepared(asked)
        try:
            at = self._positions(Held(row), min(k, len(self._base)), timeout)[0]
        except EngineError as error:
            raise SearchError("failed", str(error)) from None
        at = at[at >= 0]
        far = of_pairs(self._metric, np.repeat(row, len(at), 0), self._base.matrix[at])
        order = np.argsort(far, kind="stable")
        near = (1 - far if self._metric == "cosine" else 0.0 - far).tolist()
        return [(self._doc_ids[at[i]], near[i]) for i in order.tolist()]

    def _positions(self, row: Held, k: int, timeout: float | None) -> Positions:
        if self._index is None:
            return truth(self._base, row, k, self._metric, threads=self._threads).positions
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout):
            raise SearchError("timeout", "the index is busy with the queries before", again=True)
        try:
            return self._index.timed(row, k).positions
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process of the engine, also where it hangs in a search."""
        if self._index is not None:
            if self._lock.acquire(timeout=_LAST):
                self._lock.release()
            self._index.close()


def _refuse_wrong(engine: str, build: dict[str, Any], search: dict[str, Any], python: str | None) -> None:
    """Refuse parameters that the engine does not have, before anything is encoded."""
    with Process(python=python) as asked:
        found = asked.ask("problems", engine, build, search)
    if found:
        raise ConfigurationError(found)
