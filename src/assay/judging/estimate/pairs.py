"""Pairs with the labels of a model, and with those of people where there are any."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from assay.core.arrays import Bools, Floats, Ints
from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Qrels, Run
from assay.evaluation.query_weights import QueryWeights

_KEY = ["query_id", "doc_id"]


@dataclass(frozen=True)
class LabelledPairs:
    """The pairs of the queries that a model labelled; a row is a pair that the model or people labelled."""

    table: Qrels  # whose grades are the numbers of the rows, so that runs are matched with all pairs at once
    model: Ints  # the model's grade, -1 if it has none
    human: Ints  # the grade of people, -1 if there is none
    chances: Floats | None  # the chance of each pair to be labelled by people; NaN: unknown
    query_weights: Floats  # how many queries each stands for; 0: it is left out
    other_queries: int  # queries that only people labelled, left out

    @cached_property
    def query_ids(self) -> list[str]:
        """The queries that the model labelled."""
        return list(self.table.query_ids)

    @cached_property
    def query(self) -> Ints:
        """The number of the query of each row."""
        groups = self.table.groups
        return np.repeat(np.arange(len(groups.query_ids)), groups.lengths)

    @cached_property
    def has_model(self) -> Bools:
        """The rows that the model labelled: the population."""
        return self.model >= 0

    @cached_property
    def has_both(self) -> Bools:
        """The rows that both labelled."""
        return (self.model >= 0) & (self.human >= 0)

    @cached_property
    def unlabelled_in_pool(self) -> int:
        """How many pairs have a known chance to be labelled, and no human label."""
        return 0 if self.chances is None else int((~np.isnan(self.chances) & (self.human < 0)).sum())

    @cached_property
    def pair_counts(self) -> Ints:
        """How many pairs of each query the model labelled."""
        return np.bincount(self.query[self.has_model], minlength=len(self.query_ids))

    @cached_property
    def labelled_counts(self) -> Ints:
        """How many of these people labelled, too."""
        return np.bincount(self.query[self.has_both], minlength=len(self.query_ids))


def join_labels(
    model: Qrels, human: Qrels, chances: Run | None = None, queries: QueryWeights | None = None
) -> LabelledPairs:
    """Join the labels of a model and of people; a grade below 0 is no label.

    `chances` has the chance of each pair to be labelled by people as its score. `queries` has the weights
    of the queries of `model`, if these are a sample with unequal chances.

    >>> pairs = join_labels(Qrels({"q": {"a": 2, "b": 0}}), Qrels({"q": {"b": 1}}))
    >>> pairs.model.tolist(), pairs.human.tolist()
    ([2, 0], [-1, 1])
    """
    left, right = (q.frame.filter(pl.col("grade") >= 0) for q in (model, human))
    known = right.filter(pl.col("query_id").is_in(left["query_id"].unique().to_list()))
    frame = left.join(known, on=_KEY, how="full", coalesce=True, suffix="_human", maintain_order="left_right")
    if chances is not None:
        drawn = _check_chances(chances.frame)
        frame = frame.join(drawn, on=_KEY, how="left", maintain_order="left")
    if (
        not frame.select(pl.col("grade").is_not_null() & pl.col("grade_human").is_not_null())
        .to_series()
        .any()
    ):
        raise UndecidableError(_no_overlap(left, right))
    table = Qrels(frame.select(*_KEY, pl.int_range(pl.len()).alias("grade")))
    order = table.grades
    grades = [
        frame[name].fill_null(-1).to_numpy().astype(np.int64)[order] for name in ("grade", "grade_human")
    ]
    numbers = frame["score"].fill_null(np.nan).to_numpy()[order] if chances is not None else None
    other = right["query_id"].n_unique() - known["query_id"].n_unique()
    weights = _weights(model, table, queries)
    return LabelledPairs(table, grades[0], grades[1], numbers, weights, other)


def _weights(model: Qrels, table: Qrels, queries: QueryWeights | None) -> Floats:
    """Return the weight of each query of the joined table."""
    if queries is None:
        return np.ones(len(table.query_ids))
    numbers = queries.sample.weights if queries.sample is not None else np.ones(len(queries.rows))
    by_query = {
        model.query_ids[row]: x for row, x in zip(queries.rows.tolist(), numbers.tolist(), strict=True)
    }
    return np.array([by_query.get(query, 0.0) for query in table.query_ids])


def _check_chances(frame: pl.DataFrame) -> pl.DataFrame:
    wrong = frame.filter((pl.col("score") <= 0) | (pl.col("score") > 1))
    if len(wrong):
        query, doc, chance = wrong.select(*_KEY, "score").row(0)
        raise InputError(
            f"an inclusion_probability must be above 0 and at most 1, found {chance} for document {doc!r} of "
            f"query {query!r}"
        )
    return frame.select(*_KEY, "score")


def _no_overlap(model: pl.DataFrame, human: pl.DataFrame) -> str:
    examples = [" ".join(frame.select(_KEY).row(0)) for frame in (model, human) if len(frame)]
    return (
        "people labelled none of the pairs that the model labelled: expected the same query and document "
        f"ids, found {' and '.join(map(repr, examples)) or 'no labels'}; check that both use the same ids"
    )
