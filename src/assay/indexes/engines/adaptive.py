"""Adaptive search over any index with a budget for each search: hard queries get more, easy ones less."""

from __future__ import annotations

from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.adaptive.allocation import Groups
from assay.indexes.adaptive.difficulty import Difficulty
from assay.indexes.adaptive.inner import inner as described
from assay.indexes.adaptive.landmarks import Landmarks, landmarks
from assay.indexes.adaptive.learning import learnt
from assay.indexes.adaptive.queries import digests, drawn, read
from assay.indexes.adaptive.training import Lesson, tried
from assay.indexes.bounds import at_least
from assay.indexes.index import Index, Rows, Setup

FILE = "adaptive.npz"
_FEWEST = 1000  # vectors: any search among fewer is cheap


class Adaptive(Index):
    """Another index, searched with a budget that depends on the query.

    `inner` names it: `faiss.hnsw;M=16`. `training` is a file of queries (.npy, .fbin) other than those that
    will be measured; without it, rows of the base are moved a little. A training query is served when its
    recall among `k` reaches `target`; budgets up to `most` are tried on `count` of them. A query is held
    against `middles` landmarks of the base, or fewer where it is small. Half of the training queries teach
    which queries are hard, the others how much that is worth.
    """

    package = "numpy"
    files = ("training",)
    least: ClassVar[dict[str, Any]] = {"budget": 1}
    holds_gil = True  # the budget is a state of the index inside: one search at a time

    def __init__(
        self,
        setup: Setup,
        *,
        inner: str = "faiss.hnsw",
        training: str = "",
        count: int = 4000,
        k: int = 10,
        target: float = 0.9,
        most: int = 512,
        middles: int = 512,
    ) -> None:
        super().__init__(setup)
        at_least(1, k=k, most=most)
        at_least(100, count=count)
        at_least(2, middles=middles)
        if not 0 < target <= 1:
            raise InputError(f"target is a recall above 0 and up to 1, found {target}")
        self.inner = described(inner, setup.metric)
        folder = setup.folder / "inner"
        folder.mkdir(exist_ok=True)
        self.index = self.inner.engine(setup._replace(folder=folder), **self.inner.build)
        self.training, self.count, self.middles = training, count, middles
        self.lesson = Lesson(k, target, most)

    def prepare(self) -> None:
        """Prepare the inner index."""
        self.index.prepare()

    def build(self, vectors: Rows) -> None:
        """Build the index inside, then search it for training queries and learn which were hard."""
        if len(vectors) < _FEWEST:
            raise InputError(f"adaptive search is for {_FEWEST:,} vectors or more, found {len(vectors):,}")
        self.index.build(vectors)
        self.landmarks = landmarks(vectors, self.middles, self.setup.metric)
        queries = self._training(vectors)
        found = tried(self._asked, vectors, queries, self.setup, self.lesson)
        self.difficulty, self.groups = learnt(self.landmarks.features(queries), found)
        self.taught = digests(queries)

    def _training(self, vectors: Rows) -> Rows:
        if self.training:
            return read(self.training, self.count, self.setup)
        return drawn(vectors, self.count, self.setup.metric)

    def set_search(self, *, budget: int = 64) -> None:
        """Set the mean of the budgets of all queries, as it was for the training queries."""
        at_least(1, budget=budget)
        self.budget, self.budgets = budget, self.groups.budgets(budget).tolist()

    def search(self, queries: Rows, k: int) -> Positions:
        """The positions of the k nearest to each query; queries with the same budget are asked together."""
        groups = self._groups(queries)
        if len(queries) == 1:
            return self._asked(queries, self.budgets[int(groups[0])], k)
        found = np.empty((len(queries), k), np.int64)
        ends = np.cumsum(np.bincount(groups, minlength=len(self.budgets)))[:-1]
        together = np.split(np.argsort(groups, kind="stable"), ends)
        for some, budget in zip(together, self.budgets, strict=True):
            if len(some):
                found[some] = self._asked(queries[some], budget, k)
        return found

    def _groups(self, queries: Rows) -> NDArray[np.intp]:
        return self.groups.of(self.difficulty.scores(self.landmarks.features(queries)))

    def remark(self, queries: Rows) -> str:
        """The mean of the budgets that these queries get, and how many were among the training queries."""
        mean = np.array(self.budgets)[self._groups(queries)].mean()
        shared = int(np.isin(digests(queries), self.taught).sum())
        said = f"mean budget {mean:.1f} of {self.budget} asked"
        return said + f"; {shared:,} of {len(queries):,} queries are training queries as well" * bool(shared)

    def _asked(self, queries: Rows, budget: int, k: int) -> Positions:
        self.index.set_search(**self.inner.search, **{self.inner.budget: budget})
        return self.index.search(queries, k)

    def save(self) -> None:
        """Write the index inside, and what was learnt."""
        self.index.save()
        np.savez(self.setup.folder / FILE, self.taught, *self.landmarks[:-1], *self.difficulty, *self.groups)

    def load(self) -> None:
        """Read the index inside, and what was learnt."""
        self.index.load()
        with np.load(self.setup.folder / FILE) as kept:
            fields = iter(kept.values())
            self.taught = next(fields)
            self.landmarks = Landmarks(next(fields), next(fields), self.setup.metric)
            self.difficulty = Difficulty(*islice(fields, len(Difficulty._fields)))
            self.groups = Groups(*fields)

    def size(self) -> int | None:
        """The bytes that the index inside takes on a server's disk."""
        return self.index.size()

    def version(self) -> str:
        """The version of the engine inside."""
        return self.index.version()

    def close(self) -> None:
        """Let the index inside go."""
        self.index.close()
