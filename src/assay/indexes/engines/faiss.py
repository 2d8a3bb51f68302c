"""The indexes of faiss, each with its parameters in faiss's own spelling.

Search parameters are stored in the index, or in one faiss object that is passed to each search.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import faiss
import numpy as np

from assay.core.errors import InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Index, Requests, Rows, Setup, split_rows
from assay.indexes.parameter_bounds import require_at_least
from assay.indexes.parameter_meanings import (
    BuildCandidates,
    LinkCount,
    Lists,
    Probes,
    QuantizedParts,
    RefineFactor,
    SearchCandidates,
    TrainingPoints,
)

FILE = "index.faiss"


class _Faiss(Index):
    package = "faiss-cpu"
    index: Any
    search_parameters: Any = None  # of faiss, passed to each search

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        faiss.omp_set_num_threads(setup.threads)
        # for vectors of unit length the inner product and the cosine give the same order
        self.metric = faiss.METRIC_L2 if setup.metric == "l2" else faiss.METRIC_INNER_PRODUCT

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the positions of the k nearest vectors to each query."""
        positions: Positions = self.index.search(queries, k, params=self.search_parameters)[1]
        return positions

    def requests(self, queries: Rows, k: int, clients: int) -> Requests:
        """Prepare each query with memory for its answer, because allocation would take a measurable time."""
        if clients > 1:  # clients would share the distances by which faiss sorts
            return super().requests(queries, k, clients)
        distances = np.zeros((1, k), np.float32)  # not used

        def ask(request: tuple[Rows, Positions], k: int) -> Positions:
            query, place = request
            self.index.search(query, k, params=self.search_parameters, D=distances, I=place)
            return place

        places = split_rows(np.full((len(queries), k), -1, np.int64))
        return Requests(ask, list(zip(split_rows(queries), places, strict=True)))

    def save(self) -> None:
        """Write the index to a file."""
        faiss.write_index(self.index, str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = faiss.read_index(str(self.setup.folder / FILE))


class Flat(_Faiss):
    """Exact search: every vector is compared."""

    exact = True

    def build(self, vectors: Rows) -> None:
        """Copy the vectors."""
        self.index = faiss.IndexFlat(self.setup.d, self.metric)
        self.index.add(vectors)


class HNSW(_Faiss):
    """A hierarchical graph."""

    smallest_search: ClassVar[dict[str, Any]] = {"efSearch": 1}

    def __init__(self, setup: Setup, *, M: LinkCount = 32, efConstruction: BuildCandidates = 200) -> None:
        super().__init__(setup)
        require_at_least(2, M=M)
        require_at_least(1, efConstruction=efConstruction)
        self.M, self.efConstruction = M, efConstruction

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one by one."""
        self.index = faiss.IndexHNSWFlat(self.setup.d, self.M, self.metric)
        self.index.hnsw.efConstruction = self.efConstruction
        self.index.add(vectors)

    def set_search(self, *, efSearch: SearchCandidates = 64) -> None:
        """Set the number of candidates."""
        require_at_least(1, efSearch=efSearch)
        self.index.hnsw.efSearch = efSearch  # passing it to each search would take longer


class NSG(_Faiss):
    """A navigating spreading-out graph; `build_type` 0 starts from exact neighbours, 1 from NN-descent."""

    smallest_search: ClassVar[dict[str, Any]] = {"search_L": 1}

    def __init__(
        self,
        setup: Setup,
        *,
        R: LinkCount = 32,
        GK: Annotated[int, Meaning("neighbours in the graph from which NSG is built", 1)] = 64,
        build_type: Annotated[
            int, Meaning("how that graph is built: 0 by brute force, 1 by NNDescent", choices=(0, 1))
        ] = 1,
    ) -> None:
        super().__init__(setup)
        require_at_least(2, R=R)
        require_at_least(1, GK=GK)
        self.R, self.GK, self.build_type = R, GK, build_type

    def build(self, vectors: Rows) -> None:
        """Build the graph of neighbours, then prune it."""
        self.index = faiss.IndexNSGFlat(self.setup.d, self.R, self.metric)
        self.index.GK, self.index.build_type = self.GK, self.build_type
        self.index.add(vectors)

    def set_search(self, *, search_L: SearchCandidates = 64) -> None:
        """Set the number of candidates; faiss stores it in the index."""
        require_at_least(1, search_L=search_L)
        self.index.nsg.search_L = search_L


class _Lists(_Faiss):
    """Vectors in inverted lists, one for each k-means centroid."""

    smallest_search: ClassVar[dict[str, Any]] = {"nprobe": 1}

    def __init__(self, setup: Setup, nlist: int, train_points: int) -> None:
        super().__init__(setup)
        require_at_least(1, nlist=nlist)
        require_at_least(nlist, train_points=train_points)
        self.nlist, self.train_points = nlist, train_points

    def _create_index(self) -> Any:
        raise NotImplementedError

    def _centroids(self) -> Any:
        return faiss.IndexFlat(self.setup.d, self.metric)

    def build(self, vectors: Rows) -> None:
        """Train on a sample, then add all vectors."""
        self.index = self._create_index()
        self._train_and_add(vectors)

    def _train_and_add(self, vectors: Rows) -> None:
        if len(vectors) < self.nlist:
            raise InputError(
                f"nlist must be at most {len(vectors)}, the number of vectors; found {self.nlist}"
            )
        self.index.train(self._sample(vectors))
        self.index.add(vectors)

    def _sample(self, vectors: Rows) -> Rows:
        if len(vectors) <= self.train_points:
            return vectors
        rows = np.random.default_rng(0).choice(len(vectors), self.train_points, replace=False)
        return vectors[np.sort(rows)]


def _probe_parameters(nprobe: int) -> Any:
    require_at_least(1, nprobe=nprobe)
    return faiss.SearchParametersIVF(nprobe=nprobe)


class IVFFlat(_Lists):
    """Inverted lists of whole vectors."""

    def __init__(self, setup: Setup, *, nlist: Lists = 1024, train_points: TrainingPoints = 200_000) -> None:
        super().__init__(setup, nlist, train_points)

    def _create_index(self) -> Any:
        return faiss.IndexIVFFlat(self._centroids(), self.setup.d, self.nlist, self.metric)

    def set_search(self, *, nprobe: Probes = 16) -> None:
        """Set the number of lists that are searched."""
        self.search_parameters = _probe_parameters(nprobe)


class IVFSQ(_Lists):
    """Inverted lists of vectors with fewer bits per number; `qtype` is 8bit, 6bit, 4bit, fp16, bf16, …"""

    def __init__(
        self,
        setup: Setup,
        *,
        nlist: Lists = 1024,
        qtype: Annotated[
            str, Meaning("how a component is quantized, such as 8bit, 6bit, 4bit or fp16")
        ] = "8bit",
        train_points: TrainingPoints = 200_000,
    ) -> None:
        super().__init__(setup, nlist, train_points)
        self.qtype = _quantizer_type(qtype)

    def _create_index(self) -> Any:
        d = self.setup.d
        return faiss.IndexIVFScalarQuantizer(self._centroids(), d, self.nlist, self.qtype, self.metric)

    def set_search(self, *, nprobe: Probes = 16) -> None:
        """Set the number of lists that are searched."""
        self.search_parameters = _probe_parameters(nprobe)


def _quantizer_type(name: str) -> int:
    kinds = faiss.ScalarQuantizer
    names = [kind.removeprefix("QT_") for kind in dir(kinds) if kind.startswith("QT_") and kind != "QT_count"]
    if name not in names:
        raise InputError(f"qtype must be one of {', '.join(names)}, found {name!r}")
    return int(getattr(kinds, f"QT_{name}"))


class _Refined(_Lists):
    """Inverted lists of codes; the best `k_factor` × k are compared again with the whole vectors."""

    smallest_search: ClassVar[dict[str, Any]] = {"nprobe": 1, "k_factor": 1.0}

    def build(self, vectors: Rows) -> None:
        """Train on a sample, then add all vectors as codes and as they are."""
        self.codes = self._create_index()  # a reference, because faiss holds only a pointer
        self.index = faiss.IndexRefineFlat(self.codes)
        self._train_and_add(vectors)

    def _set_refinement(self, inner: Any, k_factor: float) -> None:
        require_at_least(1, k_factor=k_factor)
        self.inner = inner
        self.search_parameters = faiss.IndexRefineSearchParameters(k_factor=k_factor, base_index_params=inner)


class IVFPQ(_Refined):
    """Inverted lists of product-quantized vectors, with refinement of the best.

    `m` is half of the dimensions by default. Training is slow, so `train_points` limits its sample.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        nlist: Lists = 1024,
        m: QuantizedParts = None,
        nbits: Annotated[int, Meaning("bits of the code of a part", 1)] = 8,
        train_points: TrainingPoints = 20_000,
    ) -> None:
        super().__init__(setup, nlist, train_points)
        require_at_least(1, nbits=nbits)
        self.m, self.nbits = _subquantizer_count(m, setup.d), nbits

    def _create_index(self) -> Any:
        d = self.setup.d
        return faiss.IndexIVFPQ(self._centroids(), d, self.nlist, self.m, self.nbits, self.metric)

    def set_search(self, *, nprobe: Probes = 16, k_factor: RefineFactor = 4.0) -> None:
        """Set the number of lists that are searched and how many of the best are compared again."""
        self._set_refinement(_probe_parameters(nprobe), k_factor)


class FastScan(_Refined):
    """Inverted lists of 4-bit codes that are compared in registers, with refinement of the best.

    `m` is half of the dimensions by default.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        nlist: Lists = 1024,
        m: QuantizedParts = None,
        train_points: TrainingPoints = 200_000,
    ) -> None:
        super().__init__(setup, nlist, train_points)
        self.m = _subquantizer_count(m, setup.d)

    def _create_index(self) -> Any:
        d = self.setup.d
        return faiss.IndexIVFPQFastScan(self._centroids(), d, self.nlist, self.m, 4, self.metric)

    def set_search(self, *, nprobe: Probes = 16, k_factor: RefineFactor = 10.0) -> None:
        """Set the number of lists that are searched and how many of the best are compared again."""
        self._set_refinement(_probe_parameters(nprobe), k_factor)


class RaBitQ(_Refined):
    """Inverted lists of one bit per dimension after a random rotation, with refinement of the best."""

    def __init__(self, setup: Setup, *, nlist: Lists = 1024, train_points: TrainingPoints = 200_000) -> None:
        super().__init__(setup, nlist, train_points)

    def _create_index(self) -> Any:
        d = self.setup.d
        self.lists = faiss.IndexIVFRaBitQ(self._centroids(), d, self.nlist, self.metric)
        self.rotation = faiss.RandomRotationMatrix(d, d)
        return faiss.IndexPreTransform(self.rotation, self.lists)

    def set_search(
        self,
        *,
        nprobe: Probes = 16,
        k_factor: RefineFactor = 10.0,
        qb: Annotated[int, Meaning("bits of a component of a query; 0: all", 0, 8)] = 8,
    ) -> None:
        """Set the number of lists, of candidates to compare again, and the bits of a query (0: all)."""
        require_at_least(1, nprobe=nprobe)
        self.in_lists = faiss.IVFRaBitQSearchParameters(nprobe=nprobe, qb=qb)
        self._set_refinement(faiss.SearchParametersPreTransform(index_params=self.in_lists), k_factor)


def _subquantizer_count(m: int | None, d: int) -> int:
    if m is None:
        return d if d % 2 else d // 2
    if m < 1 or d % m:
        raise InputError(f"m must divide {d}, the number of dimensions; found {m}")
    return m
