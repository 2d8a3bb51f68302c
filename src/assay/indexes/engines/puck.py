"""Puck, of Baidu: clusters in clusters with quantized vectors, by its Python binding `puck.py_puck_api`.

Everything but the queries goes through flags of the process and files in the folder of the index.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from typing import Any, ClassVar

import numpy as np

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup

NOTHING = np.uint32(0xFFFFFFFF)  # the binding leaves a place as it was where it found nothing
TYPES = {"puck": 1, "tinker": 2}
FEATURES = "all_data.feat.bin"
SAMPLES = {"train_fea_file_name": "train_clusters.dat", "train_pq_file_name": "train_pq.dat"}


class Puck(Index):
    """An index of Puck, or of Tinker, the graph over the same clusters."""

    least: ClassVar[dict[str, Any]] = {"search_coarse_count": 1}
    package = "puck"

    def __init__(
        self,
        setup: Setup,
        *,
        index_type: str = "puck",
        coarse_cluster_count: int = 2000,
        fine_cluster_count: int = 2000,
        filter_nsq: int | None = None,
        nsq: int | None = None,
        whether_pq: bool = True,
        kmeans_iterations_count: int = 10,
        train_points_count: int = 5_000_000,
        pq_train_points_count: int = 1_000_000,
        tinker_neighborhood: int = 16,
        tinker_construction: int = 600,
    ) -> None:
        super().__init__(setup)
        if index_type not in TYPES:
            raise InputError(f"index_type: expected {' or '.join(TYPES)}, found {index_type!r}")
        from puck import py_puck_api  # flags are of the process: nothing is loaded before it is needed

        self.api, self.k, self.type = py_puck_api, 0, index_type
        self.searcher = self.api.PySearcher()
        self._flags(
            index_type=TYPES[index_type],
            coarse_cluster_count=coarse_cluster_count,
            fine_cluster_count=fine_cluster_count,
            whether_pq=whether_pq,
            kmeans_iterations_count=kmeans_iterations_count,
            train_points_count=train_points_count,
            pq_train_points_count=pq_train_points_count,
            tinker_neighborhood=tinker_neighborhood,
            tinker_construction=tinker_construction,
        )
        self._flags(**{k: v for k, v in {"filter_nsq": filter_nsq, "nsq": nsq}.items() if v is not None})
        self._placed()
        self.set_search()

    def _flags(self, **flags: str | int | float | bool) -> None:
        for name, value in flags.items():
            said = str(value).lower() if isinstance(value, bool) else str(value)
            self.api.update_gflag(name, said)

    def _placed(self) -> None:
        """Say what the vectors are, and where files go."""
        folder, metric = self.setup.folder, self.setup.metric
        self._flags(feature_dim=self.setup.d, whether_norm=metric == "cosine", ip2cos=int(metric == "ip"))
        self._flags(threads_count=self.setup.threads, context_initial_pool_size=self.setup.threads)
        self._flags(index_path=str(folder), feature_file_name=FEATURES)
        self._flags(**{flag: str(folder / name) for flag, name in SAMPLES.items()})

    def build(self, vectors: Rows) -> None:
        """Write the vectors to a file, train and build from it."""
        rows = _lifted(vectors) if self.setup.metric == "ip" else vectors
        with open(self.setup.folder / FEATURES, "wb") as file:
            width = np.full((len(rows), 1), rows.shape[1], np.int32).view(np.float32)
            np.hstack([width, rows]).tofile(file)
        self._done(self.searcher.build(len(rows)), "build")
        for name in SAMPLES.values():  # what it was trained with is no part of the index
            (self.setup.folder / name).unlink(missing_ok=True)

    def set_search(
        self,
        *,
        search_coarse_count: int = 200,
        filter_topk: int | None = None,
        radius_rate: float = 1.0,
        tinker_search_range: int | None = None,
    ) -> None:
        """Set how many coarse clusters are searched, and how many candidates are ranked again."""
        self._flags(search_coarse_count=search_coarse_count, radius_rate=radius_rate)
        self.chosen = {"filter_topk": (filter_topk, 11), "tinker_search_range": (tinker_search_range, 5)}
        self.k = 0  # what is set is read when the index is opened

    def _opened(self, k: int) -> None:
        """Open the index for k results; what was not set follows from k, as in Puck itself."""
        self._flags(topk=k)
        self._flags(**{name: times * k if v is None else v for name, (v, times) in self.chosen.items()})
        self._done(self.searcher.init(), "open")
        self.k = k

    def search(self, queries: Rows, k: int) -> Positions:
        """All queries at once, in as many threads as were given."""
        if k != self.k:
            self._opened(k)
        labels = np.full((len(queries), k), NOTHING, np.uint32)
        distances = np.empty((len(queries), k), np.float32)
        pointer, asked = self.api.swig_ptr, np.ascontiguousarray(queries, np.float32)
        self.searcher.search(len(queries), pointer(asked), k, pointer(distances), pointer(labels))
        return np.where(labels == NOTHING, -1, labels.astype(np.int64))

    def load(self) -> None:
        """Take up what is in the folder, at the first search."""
        self.k = 0

    def version(self) -> str:
        """The version of the binding, where it was installed as a package."""
        try:
            return super().version()
        except PackageNotFoundError:
            return "built from its sources"

    def _done(self, code: int | None, what: str) -> None:
        if code:
            raise EngineError(f"Puck could not {what} its index (code {code}); its log says why")


def _lifted(vectors: Rows) -> Rows:
    """Vectors of unit length with one number more, in the order of the inner product (Puck's `ip2cos`)."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    longest = squares.max(initial=0.0) or 1.0
    rest = np.sqrt(np.maximum(0.0, 1 - squares / longest))
    return np.hstack([vectors / np.sqrt(longest), rest[:, None]]).astype(np.float32)
