"""What each judged query stands for, from the inclusion probabilities of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Queries
from assay.stats.weighted import SampleWeights

COLUMN = "inclusion_probability"
POPULATIONS = ("queries", "traffic", "judged")


class QueryWeights(NamedTuple):
    """The judged queries that count, and what each stands for."""

    rows: Ints  # of the judged queries
    sample: SampleWeights | None  # None: all stand for equally many, or weights are not wanted
    population: str
    outside: int  # judged queries that are not in the sample

    @property
    def warnings(self) -> list[str]:
        """What a reader of the means must know, if queries are left out."""
        if not self.outside:
            return []
        noun = "query is" if self.outside == 1 else "queries are"
        return [f"{self.outside:,} judged {noun} not in the sample of the query table, and left out"]

    def sample_of(self, rows: Ints | None) -> SampleWeights | None:
        """Return the weights of the queries at these rows of the scores, or of all."""
        return self.sample if self.sample is None or rows is None else self.sample.take(rows)

    def lacks(self, rows: Sequence[int]) -> bool:
        """Return whether none of these judged queries is in the sample."""
        return not np.isin(rows, self.rows).any()

    def restrict_to(self, rows: Ints) -> QueryWeights:
        """Return the weights of these judged queries, all of which have one."""
        places = np.searchsorted(self.rows, rows)
        return self._replace(rows=rows, sample=self.sample_of(places))

    def to_dict(self) -> dict[str, Any] | None:
        """Return the population and the effective number of queries; None without weights."""
        if self.sample is None:
            return None
        stands_for = float(self.sample.weights.sum())
        return {
            "population": self.population,
            "total": stands_for,
            "effective_n": self.sample.effective_n,
        }


def read_weights(
    queries: Queries | None, query_ids: Sequence[str], population: str = "queries"
) -> QueryWeights | None:
    """Return the weights of the judged queries for a population; None if the table has none.

    `queries`: every different query counts once; `traffic`: as often as it was issued; `judged`: all judged
    queries count equally, whether they were sampled or not.
    """
    if population not in POPULATIONS:
        raise InputError(f"the population must be one of {', '.join(POPULATIONS)}, found {population!r}")
    has_chances = queries is not None and COLUMN in queries.columns
    if queries is None or population == "judged" or (population == "queries" and not has_chances):
        if population == "traffic":
            raise InputError("means over traffic need a query table with a column frequency")
        return None
    chances = _probabilities(queries, query_ids) if has_chances else np.ones(len(query_ids))
    rows = np.flatnonzero(~np.isnan(chances))
    if not len(rows):
        raise UndecidableError(f"none of the judged queries has an {COLUMN} in the query table")
    weights = 1 / chances[rows]
    ids = [query_ids[row] for row in rows.tolist()]
    if population == "traffic":
        weights = weights * _frequencies(queries, ids)
    is_equal = bool(np.ptp(weights) <= 1e-9 * weights.max())
    sample = None if is_equal else SampleWeights(weights, _strata(queries, ids) if has_chances else None)
    return QueryWeights(rows, sample, population, len(query_ids) - len(rows))


def has_unequal_probabilities(queries: Queries | None) -> bool:
    """Return whether a query table is a sample with unequal inclusion probabilities."""
    values = queries.columns.get(COLUMN, ()) if queries is not None else ()
    return len({value for value in values if value is not None}) > 1


def _probabilities(queries: Queries, query_ids: Sequence[str]) -> Floats:
    """Return the probability of each query, NaN for one that is not in the sample."""
    values = queries.column(COLUMN, query_ids)
    for query, value in zip(query_ids, values, strict=True):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 < value <= 1):
            raise InputError(f"the {COLUMN} of query {query!r} must be above 0, at most 1; found {value!r}")
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _frequencies(queries: Queries, ids: Sequence[str]) -> Floats:
    if "frequency" not in queries.columns:
        raise InputError("means over traffic need a column frequency in the query table, found none")
    values = queries.column("frequency", ids)
    for query, value in zip(ids, values, strict=True):
        if not isinstance(value, int | float) or not value > 0:
            raise InputError(f"the frequency of query {query!r} must be above 0, found {value!r}")
    return np.array(values, np.float64)


def _strata(queries: Queries, ids: Sequence[str]) -> Ints | None:
    """Return the stratum of each query as a number, if the sample has strata."""
    if "stratum" not in queries.columns:
        return None
    numbers: dict[Any, int] = {}
    labels = queries.column("stratum", ids)
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)
