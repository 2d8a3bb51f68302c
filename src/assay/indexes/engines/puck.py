"""Puck of Baidu: nested clusters of quantized vectors, through its Python binding `puck.py_puck_api`.

Everything except queries is passed by flags of the process and by files in the folder of the index. The
adapter was held against the library at revision 6536a22 (docs/contracts.md says what that showed).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from math import isqrt
from typing import Annotated, Any, ClassVar

import numpy as np

from assay.core.errors import EngineError, InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least

NO_LABEL = np.uint32(0xFFFFFFFF)  # the binding does not write places for which it found nothing
TYPES = {"puck": 1, "tinker": 2}
SEARCHED_CLUSTERS = {"puck": 200, "tinker": 20}  # the defaults of Puck itself
FEATURES = "all_data.feat.bin"
CLUSTERS = "clusters.json"
SAMPLES = {"train_fea_file_name": "train_clusters.dat", "train_pq_file_name": "train_pq.dat"}
MOST_CLUSTERS, QUANTIZED_VALUES = 2000, 256
_ClusterCount = Annotated[
    int | None, Meaning("clusters of this level", 1, unset=f"the square root of n, at most {MOST_CLUSTERS}")
]


class Puck(Index):
    """An index of Puck, or of Tinker, a graph over the same clusters."""

    smallest_search: ClassVar[dict[str, Any]] = {"search_coarse_count": 1}
    holds_gil = True
    package = "puck"

    def __init__(
        self,
        setup: Setup,
        *,
        index_type: Annotated[
            str, Meaning("Puck, or Tinker, a graph in its clusters", choices=tuple(TYPES))
        ] = "puck",
        coarse_cluster_count: _ClusterCount = None,
        fine_cluster_count: _ClusterCount = None,
        filter_nsq: Annotated[
            int | None,
            Meaning("parts of a vector in the first quantization", 1, unset="d / the least divisor from 4"),
        ] = None,
        nsq: Annotated[
            int | None,
            Meaning("parts of a vector in the second quantization; d trains slowly", 1, unset="d"),
        ] = None,
        whether_pq: Annotated[bool, Meaning("whether candidates are compared by quantized vectors")] = True,
        kmeans_iterations_count: Annotated[int, Meaning("iterations of k-means", 1)] = 10,
        train_points_count: Annotated[int, Meaning("vectors to train the clusters with", 1)] = 5_000_000,
        pq_train_points_count: Annotated[int, Meaning("vectors to train the codes with", 1)] = 1_000_000,
        tinker_neighborhood: Annotated[int, Meaning("links of a node of Tinker", 2)] = 16,
        tinker_construction: Annotated[int, Meaning("candidates for the links of a node of Tinker", 1)] = 600,
    ) -> None:
        super().__init__(setup)
        if index_type not in TYPES:
            raise InputError(f"index_type: expected {' or '.join(TYPES)}, found {index_type!r}")
        self.padding = 4 - setup.d % 4 if setup.metric == "ip" else 0  # columns beyond d
        self.is_quantized, self.type = index_type == "puck", index_type
        self.keeps_vectors = not (self.is_quantized and whether_pq)
        if self.is_quantized and filter_nsq is None:
            _refuse_undivided(setup.d + self.padding)
        from puck import py_puck_api  # not before it is needed: it sets flags of the process

        self.api, self.k = py_puck_api, 0
        self.searcher = self.api.PySearcher()
        self.cluster_counts = {
            "coarse_cluster_count": coarse_cluster_count,
            "fine_cluster_count": fine_cluster_count,
        }
        self._set_flags(
            index_type=TYPES[index_type],
            whether_pq=whether_pq,
            kmeans_iterations_count=kmeans_iterations_count,
            train_points_count=train_points_count,
            pq_train_points_count=pq_train_points_count,
            tinker_neighborhood=tinker_neighborhood,
            tinker_construction=tinker_construction,
        )
        self._set_flags(**{k: v for k, v in {"filter_nsq": filter_nsq, "nsq": nsq}.items() if v is not None})
        self._set_paths()
        self.set_search()

    def _set_flags(self, **flags: str | int | float | bool) -> None:
        for name, value in flags.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self.api.update_gflag(name, text)

    def _set_paths(self) -> None:
        """Set the flags for the kind of vectors and for the paths of files.

        Puck's own conversion of the inner product (`ip2cos`) leaves the last component of a query unset, so
        the adapter converts vectors itself.
        """
        folder, metric = self.setup.folder, self.setup.metric
        self._set_flags(feature_dim=self.setup.d + self.padding, whether_norm=metric == "cosine", ip2cos=0)
        self._set_flags(threads_count=self.setup.threads, context_initial_pool_size=self.setup.threads)
        self._set_flags(index_path=str(folder), feature_file_name=FEATURES)
        self._set_flags(**{flag: str(folder / name) for flag, name in SAMPLES.items()})

    def build(self, vectors: Rows) -> None:
        """Write the vectors to a file, then train and build from it."""
        default = min(MOST_CLUSTERS, isqrt(len(vectors)))
        counts = {name: count or default for name, count in self.cluster_counts.items()}
        _refuse_few(vectors, max(*counts.values(), QUANTIZED_VALUES * self.is_quantized))
        self._set_flags(**counts)
        rows = _lift_to_unit_length(vectors, self.padding) if self.padding else vectors
        with open(self.setup.folder / FEATURES, "wb") as file:
            width = np.full((len(rows), 1), rows.shape[1], np.int32).view(np.float32)
            np.hstack([width, rows]).tofile(file)
        with _captured_log() as log:
            code = self.searcher.build(len(rows))
        self._check_code(code, "build")
        _refuse_abandoned("".join(log))
        for name in (*SAMPLES.values(), *[FEATURES] * (not self.keeps_vectors)):  # they are not searched
            (self.setup.folder / name).unlink(missing_ok=True)
        (self.setup.folder / CLUSTERS).write_text(json.dumps(counts))

    def set_search(
        self,
        *,
        search_coarse_count: Annotated[
            int | None,
            Meaning("coarse clusters that a search enters", 1, unset="200, for Tinker 20"),
        ] = None,
        filter_topk: Annotated[
            int | None, Meaning("candidates that are ranked again, at least k", 1, unset="11 k")
        ] = None,
        radius_rate: Annotated[
            float, Meaning("how far beyond the k-th candidate clusters are entered", 1)
        ] = 1.0,
        tinker_search_range: Annotated[
            int | None, Meaning("candidates that a search of Tinker keeps", 1, unset="5 k")
        ] = None,
    ) -> None:
        """Set the number of coarse clusters that are searched and of candidates that are ranked again."""
        count = SEARCHED_CLUSTERS[self.type] if search_coarse_count is None else search_coarse_count
        require_at_least(1, search_coarse_count=count)  # Puck finds nothing in none
        self._set_flags(search_coarse_count=count, radius_rate=radius_rate)
        self.search_options = {
            "filter_topk": (filter_topk, 11),
            "tinker_search_range": (tinker_search_range, 5),
        }
        self.k = 0  # the flags are read when the index is opened

    def _open_for(self, k: int) -> None:
        """Open the index for k results; parameters that are not set depend on k, as in Puck itself."""
        self._set_flags(topk=k)
        self._set_flags(
            **{name: times * k if v is None else v for name, (v, times) in self.search_options.items()}
        )
        self._check_code(self.searcher.init(), "open")
        self.k = k

    def search(self, queries: Rows, k: int) -> Positions:
        """Search all queries in one call."""
        if k != self.k:
            self._open_for(k)
        labels = np.full((len(queries), k), NO_LABEL, np.uint32)
        distances = np.empty((len(queries), k), np.float32)
        padded = np.pad(queries, ((0, 0), (0, self.padding))) if self.padding else queries
        pointer, rows = self.api.swig_ptr, np.ascontiguousarray(padded, np.float32)
        self.searcher.search(len(queries), pointer(rows), k, pointer(distances), pointer(labels))
        return np.where(labels == NO_LABEL, -1, labels.astype(np.int64))

    def load(self) -> None:
        """Open the files in the folder at the first search."""
        self._set_flags(**json.loads((self.setup.folder / CLUSTERS).read_text()))
        self.k = 0

    def version(self) -> str:
        """Return the version of the binding if it was installed as a package."""
        try:
            return super().version()
        except PackageNotFoundError:
            return "built from its sources"

    def _check_code(self, code: int | None, action: str) -> None:
        if code:
            raise EngineError(f"Puck could not {action} its index (code {code}); see its log for the reason")


def _refuse_undivided(d: int) -> None:
    """Refuse dimensions for which Puck does not find a value of filter_nsq itself."""
    if not any(d % part == 0 for part in range(4, max(5, d // 2 + 1))):
        raise InputError(
            f"filter_nsq must be given for vectors of {d} dimensions: Puck's own default needs a divisor of "
            f"{d} that is at least 4 and at most half of it"
        )


def _refuse_few(vectors: Rows, limit: int) -> None:
    """Refuse vectors of which so few are distinct that Puck ends the process."""
    distinct: set[bytes] = set()
    for row in vectors:
        distinct.add(row.tobytes())
        if len(distinct) > limit:
            return
    raise InputError(
        f"Puck needs more distinct vectors than clusters, and more than {QUANTIZED_VALUES} with codes: "
        f"expected more than {limit:,}, found {len(distinct):,}; set coarse_cluster_count and "
        "fine_cluster_count lower, or index more vectors"
    )


@contextmanager
def _captured_log() -> Iterator[list[str]]:
    """Yield a list that has the lines of standard error after the block; they are printed as well."""
    lines: list[str] = []
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            content = file.read()
            os.write(2, content)
            lines += content.decode(errors="replace").splitlines(keepends=True)


def _refuse_abandoned(log: str) -> None:
    """Refuse clusters of a k-means that Puck abandoned: it returns success, and their centres are not set."""
    line = next((line.strip() for line in log.splitlines() if "abandoning" in line), None)
    if line is not None:
        raise EngineError(
            f"Puck abandoned k-means and its clusters are not valid ({line}): set coarse_cluster_count and "
            "fine_cluster_count lower"
        )


def _lift_to_unit_length(vectors: Rows, padding: int) -> Rows:
    """Return longer vectors of unit length, whose distances have the order of the inner product.

    The rest of the length is spread over the columns: Puck reads past the row of a single additional one.
    """
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    longest = squares.max(initial=0.0) or 1.0
    rest = np.sqrt(np.maximum(0.0, 1 - squares / longest) / padding)
    columns = np.repeat(rest[:, None], padding, axis=1)
    return np.hstack([vectors / np.sqrt(longest), columns]).astype(np.float32)
