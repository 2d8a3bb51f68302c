"""The engine `adaptive`: another index, searched with a larger budget for hard queries than for easy ones."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.adaptive.allocation import QueryGroups
from assay.indexes.adaptive.difficulty import DifficultyModel
from assay.indexes.adaptive.inner_index import parse_inner as described
from assay.indexes.adaptive.landmarks import Landmarks, find_landmarks
from assay.indexes.adaptive.learning import learn_allocation
from assay.indexes.adaptive.queries import perturb_rows, query_digests, read_training_queries
from assay.indexes.adaptive.training import TrainingGoal, measure_training_recall
from assay.indexes.index import Index, Rows, Setup
from assay.indexes.parameter_bounds import require_at_least

FILE = "adaptive.npz"
_MIN_VECTORS = 1000  # any search in fewer vectors is cheap


class Adaptive(Index):
    """Another index, searched with a budget that depends on the query.

    `inner` describes that index, for example `faiss.hnsw;M=16`. `training` is a file of queries (.npy, .fbin)
    other than those that will be measured; without it, noise is added to rows of the base. Budgets up to
    `most` are tried on `count` training queries until their recall at `k` reaches `target`. A query is
    compared with `middles` landmarks of the base, or fewer if the base is small. Half of the training queries
    fit the model of difficulty, the others the allocation of budgets.
    """

    package = "numpy"
    file_parameters = ("training",)
    smallest_search: ClassVar[dict[str, Any]] = {"budget": 1}
    holds_gil = True  # the budget is a state of the inner index: one search at a time

    def __init__(
        self,
        setup: Setup,
        *,
        inner: Annotated[
            str, Meaning("the engine that is searched, with its build parameters")
        ] = "faiss.hnsw",
        training: Annotated[
            str, Meaning("a file of queries to learn from; empty: queries are made from the base")
        ] = "",
        count: Annotated[int, Meaning("queries to learn from", 100)] = 4000,
        k: Annotated[int, Meaning("neighbours of a query that are learned", 1)] = 10,
        target: Annotated[float, Meaning("recall that a query must reach, above 0", 0, 1)] = 0.9,
        most: Annotated[int, Meaning("the largest budget of a query", 1)] = 512,
        middles: Annotated[
            int, Meaning("vectors from which the difficulty of a query is predicted", 2)
        ] = 512,
    ) -> None:
        super().__init__(setup)
        require_at_least(1, k=k, most=most)
        require_at_least(100, count=count)
        require_at_least(2, middles=middles)
        if not 0 < target <= 1:
            raise InputError(f"target must be a recall above 0 and at most 1, found {target}")
        self.inner = described(inner, setup.metric)
        folder = setup.folder / "inner"
        folder.mkdir(exist_ok=True)
        self.index = self.inner.engine(setup._replace(folder=folder), **self.inner.build)
        self.training, self.count, self.landmark_count = training, count, middles
        self.goal = TrainingGoal(k, target, most)

    def prepare(self) -> None:
        """Prepare the inner index."""
        self.index.prepare()

    def build(self, vectors: Rows) -> None:
        """Build the inner index, then search it for training queries to learn which queries are hard."""
        if len(vectors) < _MIN_VECTORS:
            raise InputError(
                f"adaptive search needs {_MIN_VECTORS:,} vectors or more, found {len(vectors):,}"
            )
        self.index.build(vectors)
        self.landmarks = find_landmarks(vectors, self.landmark_count, self.setup.metric)
        queries = self._training_queries(vectors)
        training = measure_training_recall(self._search_inner, vectors, queries, self.setup, self.goal)
        self.difficulty, self.groups = learn_allocation(self.landmarks.features(queries), training)
        self.training_digests = query_digests(queries)

    def _training_queries(self, vectors: Rows) -> Rows:
        if self.training:
            return read_training_queries(self.training, self.count, self.setup)
        return perturb_rows(vectors, self.count, self.setup.metric)

    def set_search(
        self, *, budget: Annotated[int, Meaning("candidates of a search, as the mean over queries", 1)] = 64
    ) -> None:
        """Set the mean budget, measured over the training queries."""
        require_at_least(1, budget=budget)
        self.budget, self.budgets = budget, self.groups.budgets(budget).tolist()

    def search(self, queries: Rows, k: int) -> Positions:
        """Return the k nearest positions to each query; queries with equal budgets share one call."""
        groups = self._groups(queries)
        if len(queries) == 1:
            return self._search_inner(queries, self.budgets[int(groups[0])], k)
        positions = np.empty((len(queries), k), np.int64)
        ends = np.cumsum(np.bincount(groups, minlength=len(self.budgets)))[:-1]
        members = np.split(np.argsort(groups, kind="stable"), ends)
        for rows, budget in zip(members, self.budgets, strict=True):
            if len(rows):
                positions[rows] = self._search_inner(queries[rows], budget, k)
        return positions

    def _groups(self, queries: Rows) -> NDArray[np.intp]:
        return self.groups.group_of(self.difficulty.scores(self.landmarks.features(queries)))

    def remark(self, queries: Rows) -> str:
        """Return the mean budget of these queries and how many of them are training queries."""
        mean = np.array(self.budgets)[self._groups(queries)].mean()
        shared = int(np.isin(query_digests(queries), self.training_digests).sum())
        text = f"mean budget {mean:.1f} of {self.budget} requested"
        return text + f"; {shared:,} of {len(queries):,} queries are training queries as well" * bool(shared)

    def _search_inner(self, queries: Rows, budget: int, k: int) -> Positions:
        self.index.set_search(**self.inner.search, **{self.inner.budget: budget})
        return self.index.search(queries, k)

    def save(self) -> None:
        """Write the inner index and the models."""
        self.index.save()
        np.savez(
            self.setup.folder / FILE,
            self.training_digests,
            *self.landmarks[:-1],
            *self.difficulty,
            *self.groups,
        )

    def load(self) -> None:
        """Read the inner index and the models."""
        self.index.load()
        with np.load(self.setup.folder / FILE) as file:
            fields = iter(file.values())
            self.training_digests = next(fields)
            self.landmarks = Landmarks(next(fields), next(fields), self.setup.metric)
            self.difficulty = DifficultyModel(*islice(fields, len(DifficultyModel._fields)))
            self.groups = QueryGroups(*fields)

    def size(self) -> int | None:
        """Return the bytes of the inner index on a server's disk."""
        return self.index.size()

    def version(self) -> str:
        """Return the version of the inner engine."""
        return self.index.version()

    def close(self) -> None:
        """Close the inner index."""
        self.index.close()
