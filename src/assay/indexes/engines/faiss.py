"""The indexes of faiss, each with its parameters as faiss spells them.

What a search is made with is kept in the index, or is one object of faiss that each search passes on.
"""

from __future__ import annotations

from typing import Any, ClassVar

import faiss
import numpy as np

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Requests, Rows, Setup, one_by_one

FILE = "index.faiss"


class _Faiss(Index):
    package = "faiss-cpu"
    index: Any
    chosen: Any = None  # the parameters of a search

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        faiss.omp_set_num_threads(setup.threads)
        # vectors of unit length are ordered by the inner product as by the cosine
        self.metric = faiss.METRIC_L2 if setup.metric == "l2" else faiss.METRIC_INNER_PRODUCT

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query."""
        found: Positions = self.index.search(queries, k, params=self.chosen)[1]
        return found

    def requests(self, queries: Rows, k: int, clients: int) -> Requests:
        """Each query with the place of its answer: new memory for each takes longer than to see the clock."""
        if clients > 1:  # they would write their distances over each other's, by which faiss orders positions
            return super().requests(queries, k, clients)
        distances = np.zeros((1, k), np.float32)  # nobody reads them

        def ask(request: tuple[Rows, Positions], k: int) -> Positions:
            query, place = request
            self.index.search(query, k, params=self.chosen, D=distances, I=place)
            return place

        places = one_by_one(np.full((len(queries), k), -1, np.int64))
        return Requests(ask, list(zip(one_by_one(queries), places, strict=True)))

    def save(self) -> None:
        """Write the index to one file."""
        faiss.write_index(self.index, str(self.setup.folder / FILE))

    def load(self) -> None:
        """Read the index from its file."""
        self.index = faiss.read_index(str(self.setup.folder / FILE))


class Flat(_Faiss):
    """Every vector is compared: exact, and the yardstick."""

    exact = True

    def build(self, vectors: Rows) -> None:
        """Copy the vectors."""
        self.index = faiss.IndexFlat(self.setup.d, self.metric)
        self.index.add(vectors)


class HNSW(_Faiss):
    """A hierarchical graph."""

    least: ClassVar[dict[str, Any]] = {"efSearch": 1}

    def __init__(self, setup: Setup, *, M: int = 32, efConstruction: int = 200) -> None:
        super().__init__(setup)
        at_least(2, M=M)
        at_least(1, efConstruction=efConstruction)
        self.M, self.efConstruction = M, efConstruction

    def build(self, vectors: Rows) -> None:
        """Insert the vectors one after the other."""
        self.index = faiss.IndexHNSWFlat(self.setup.d, self.M, self.metric)
        self.index.hnsw.efConstruction = self.efConstruction
        self.index.add(vectors)

    def set_search(self, *, efSearch: int = 64) -> None:
        """Set how many candidates are held."""
        at_least(1, efSearch=efSearch)
        self.index.hnsw.efSearch = efSearch  # passing it with each search would take longer


class NSG(_Faiss):
    """A navigating spreading-out graph; `build_type` 0 starts from exact neighbours, 1 from NN-descent."""

    least: ClassVar[dict[str, Any]] = {"search_L": 1}

    def __init__(self, setup: Setup, *, R: int = 32, GK: int = 64, build_type: int = 1) -> None:
        super().__init__(setup)
        at_least(2, R=R)
        at_least(1, GK=GK)
        self.R, self.GK, self.build_type = R, GK, build_type

    def build(self, vectors: Rows) -> None:
        """Make the graph of neighbours, then thin it out."""
        self.index = faiss.IndexNSGFlat(self.setup.d, self.R, self.metric)
        self.index.GK, self.index.build_type = self.GK, self.build_type
        self.index.add(vectors)

    def set_search(self, *, search_L: int = 64) -> None:
        """Set how many candidates are held; faiss keeps this in the index."""
        at_least(1, search_L=search_L)
        self.index.nsg.search_L = search_L


class _Lists(_Faiss):
    """Vectors in inverted lists, one for each centroid of a k-means."""

    least: ClassVar[dict[str, Any]] = {"nprobe": 1}

    def __init__(self, setup: Setup, nlist: int, train_points: int) -> None:
        super().__init__(setup)
        at_least(1, nlist=nlist)
        at_least(nlist, train_points=train_points)
        self.nlist, self.train_points = nlist, train_points

    def _made(self) -> Any:
        raise NotImplementedError

    def _centroids(self) -> Any:
        return faiss.IndexFlat(self.setup.d, self.metric)

    def build(self, vectors: Rows) -> None:
        """Train on a sample, then add all."""
        self.index = self._made()
        self._filled(vectors)

    def _filled(self, vectors: Rows) -> None:
        if len(vectors) < self.nlist:
            raise InputError(f"nlist is at most the number of vectors, {len(vectors)}; found {self.nlist}")
        self.index.train(self._sample(vectors))
        self.index.add(vectors)

    def _sample(self, vectors: Rows) -> Rows:
        if len(vectors) <= self.train_points:
            return vectors
        chosen = np.random.default_rng(0).choice(len(vectors), self.train_points, replace=False)
        return vectors[np.sort(chosen)]


def _probing(nprobe: int) -> Any:
    at_least(1, nprobe=nprobe)
    return faiss.SearchParametersIVF(nprobe=nprobe)


class IVFFlat(_Lists):
    """Inverted lists of whole vectors."""

    def __init__(self, setup: Setup, *, nlist: int = 1024, train_points: int = 200_000) -> None:
        super().__init__(setup, nlist, train_points)

    def _made(self) -> Any:
        return faiss.IndexIVFFlat(self._centroids(), self.setup.d, self.nlist, self.metric)

    def set_search(self, *, nprobe: int = 16) -> None:
        """Set how many lists are gone through."""
        self.chosen = _probing(nprobe)


class IVFSQ(_Lists):
    """Inverted lists of vectors with fewer bits a number: `qtype` is 8bit, 6bit, 4bit, fp16, bf16 …"""

    def __init__(
        self, setup: Setup, *, nlist: int = 1024, qtype: str = "8bit", train_points: int = 200_000
    ) -> None:
        super().__init__(setup, nlist, train_points)
        self.qtype = _qtype(qtype)

    def _made(self) -> Any:
        d = self.setup.d
        return faiss.IndexIVFScalarQuantizer(self._centroids(), d, self.nlist, self.qtype, self.metric)

    def set_search(self, *, nprobe: int = 16) -> None:
        """Set how many lists are gone through."""
        self.chosen = _probing(nprobe)


def _qtype(name: str) -> int:
    kinds = faiss.ScalarQuantizer
    known = [kind.removeprefix("QT_") for kind in dir(kinds) if kind.startswith("QT_") and kind != "QT_count"]
    if name not in known:
        raise InputError(f"qtype is one of {', '.join(known)}, found {name!r}")
    return int(getattr(kinds, f"QT_{name}"))


class _Refined(_Lists):
    """Inverted lists of codes; the best `k_factor` × k are compared again, whole."""

    least: ClassVar[dict[str, Any]] = {"nprobe": 1, "k_factor": 1.0}

    def build(self, vectors: Rows) -> None:
        """Train on a sample, then add all, as codes and whole."""
        self.codes = self._made()  # held, for faiss only points to it
        self.index = faiss.IndexRefineFlat(self.codes)
        self._filled(vectors)

    def _refining(self, inner: Any, k_factor: float) -> None:
        at_least(1, k_factor=k_factor)
        self.inner = inner
        self.chosen = faiss.IndexRefineSearchParameters(k_factor=k_factor, base_index_params=inner)


class IVFPQ(_Refined):
    """Inverted lists of product-quantised vectors, then a second look at the best.

    `m` is half of the dimensions unless it is given. Training is slow, so `train_points` bounds what it sees.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        nlist: int = 1024,
        m: int | None = None,
        nbits: int = 8,
        train_points: int = 20_000,
    ) -> None:
        super().__init__(setup, nlist, train_points)
        at_least(1, nbits=nbits)
        self.m, self.nbits = _subquantisers(m, setup.d), nbits

    def _made(self) -> Any:
        d = self.setup.d
        return faiss.IndexIVFPQ(self._centroids(), d, self.nlist, self.m, self.nbits, self.metric)

    def set_search(self, *, nprobe: int = 16, k_factor: float = 4.0) -> None:
        """Set how many lists are gone through, and how many of the best are compared again."""
        self._refining(_probing(nprobe), k_factor)


class FastScan(_Refined):
    """Inverted lists of 4-bit codes compared in registers, then a second look at the best.

    `m` is half of the dimensions unless it is given.
    """

    def __init__(
        self, setup: Setup, *, nlist: int = 1024, m: int | None = None, train_points: int = 200_000
    ) -> None:
        super().__init__(setup, nlist, train_points)
        self.m = _subquantisers(m, setup.d)

    def _made(self) -> Any:
        d = self.setup.d
        return faiss.IndexIVFPQFastScan(self._centroids(), d, self.nlist, self.m, 4, self.metric)

    def set_search(self, *, nprobe: int = 16, k_factor: float = 10.0) -> None:
        """Set how many lists are gone through, and how many of the best are compared again."""
        self._refining(_probing(nprobe), k_factor)


class RaBitQ(_Refined):
    """Inverted lists of one bit a dimension after a random rotation, then a second look at the best."""

    def __init__(self, setup: Setup, *, nlist: int = 1024, train_points: int = 200_000) -> None:
        super().__init__(setup, nlist, train_points)

    def _made(self) -> Any:
        d = self.setup.d
        self.lists = faiss.IndexIVFRaBitQ(self._centroids(), d, self.nlist, self.metric)
        self.rotation = faiss.RandomRotationMatrix(d, d)
        return faiss.IndexPreTransform(self.rotation, self.lists)

    def set_search(self, *, nprobe: int = 16, k_factor: float = 10.0, qb: int = 8) -> None:
        """Set how many lists are gone through, how many are compared again, and a query's bits (0: all)."""
        at_least(1, nprobe=nprobe)
        self.in_lists = faiss.IVFRaBitQSearchParameters(nprobe=nprobe, qb=qb)
        self._refining(faiss.SearchParametersPreTransform(index_params=self.in_lists), k_factor)


def _subquantisers(m: int | None, d: int) -> int:
    if m is None:
        return d if d % 2 else d // 2
    if m < 1 or d % m:
        raise InputError(f"m divides the number of dimensions, {d}; found {m}")
    return m
