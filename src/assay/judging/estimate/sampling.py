"""How the pairs that people labelled were drawn from those that a model labelled, as the labels show it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.core.arrays import Bools, Floats
from assay.core.errors import InputError, UndecidableError
from assay.judging.estimate.pairs import LabelledPairs
from assay.judging.estimate.values import TargetValues

UNITS = ("auto", "query", "pair")
QUERIES = "queries"  # whole queries were drawn
PAIRS = "pairs"  # pairs were drawn from all pairs
PAIRS_BY_QUERY = "pairs of each query"
PAIRS_OF_QUERIES = "pairs of drawn queries"
_WHOLE_SHARE = 0.9  # of the labelled queries that are labelled completely, if whole queries were drawn
_RARE, _UNEVEN = 1e-4, 1e-2  # the chance of counts as uneven, or as even, as these if pairs were drawn
_FAR = 4.0  # standard errors between the model's labels of the drawn and of all units


@dataclass(frozen=True)
class Sampling:
    """How the labelled units were drawn."""

    kind: str
    complete: Bools  # the queries with human labels for every pair that the value depends on
    partial: int = 0  # queries that have human labels for only some of these pairs, left out
    chances: Floats | None = None  # of each row (pairs) or query (queries) to be labelled; None: equal
    warning: str = ""

    @property
    def unit(self) -> str:
        """The unit that was drawn at random: query or pair."""
        return "query" if self.kind in (QUERIES, PAIRS_OF_QUERIES) else "pair"


def detect_sampling(pairs: LabelledPairs, target: TargetValues, unit: str = "auto") -> Sampling:
    """Return how the labels were drawn; raise UndecidableError if a value cannot be estimated from them."""
    missing = np.bincount(pairs.query[target.needed & ~pairs.has_both], minlength=len(pairs.query_ids))
    has_labels = pairs.labelled_counts > 0
    complete = has_labels & (missing == 0)
    if unit == "query" or (unit == "auto" and complete.sum() >= _WHOLE_SHARE * has_labels.sum()):
        if not complete.any():
            raise UndecidableError(_no_complete_query(target))
        if unit == "auto" and target.is_of_pairs and complete.all():
            return Sampling(PAIRS, complete)
        return _sampled_queries(pairs, target, complete, int((has_labels & ~complete).sum()))
    if target.human_parts is None:
        raise UndecidableError(_needs_whole_queries(target, int(complete.sum()), int(has_labels.sum())))
    return _sampled_pairs(pairs, target, complete, unit)


def _sampled_queries(pairs: LabelledPairs, target: TargetValues, complete: Bools, partial: int) -> Sampling:
    chances = _query_chances(pairs, target, complete)
    distance = 0.0 if chances is not None else _query_distance(target.model, complete)
    warning = ""
    if abs(distance) > _FAR:
        warning = (
            "the labelled queries do not look like a random sample: by the model's labels their mean lies "
            f"{abs(distance):.0f} standard errors {_side(distance)} that of all queries; "
            "slice by what they were chosen by (--by), or give their inclusion probabilities (--pairs)"
        )
    return Sampling(QUERIES, complete, partial, chances, warning)


def _query_chances(pairs: LabelledPairs, target: TargetValues, complete: Bools) -> Floats | None:
    """Return the chance of each query to be labelled; None if no chance is below 1."""
    if pairs.chances is None or complete.all():
        return None
    known = ~np.isnan(pairs.chances) & pairs.has_both & target.needed
    lowest, highest = np.full(len(complete), np.inf), np.zeros(len(complete))
    np.minimum.at(lowest, pairs.query[known], pairs.chances[known])
    np.maximum.at(highest, pairs.query[known], pairs.chances[known])
    if not np.any(lowest[complete] < 1):
        return None
    if np.any(np.isinf(lowest[complete])) or np.any(highest[complete] - lowest[complete] > 1e-9):
        raise InputError(
            "whole queries are labelled: expected one inclusion_probability for all pairs of a query, found "
            "pairs of one query with none or with different ones"
        )
    return lowest


def _query_distance(values: Floats, drawn: Bools) -> float:
    """Return how far the mean of the drawn queries lies from that of all, in standard errors."""
    known = ~np.isnan(values)
    drawn, n, size = drawn & known, int((drawn & known).sum()), int(known.sum())
    deviation = float(values[known].std())
    if not 10 <= n < size or not deviation:
        return 0.0
    error = deviation * float(np.sqrt(1 / n - 1 / size))
    return float(values[drawn].mean() - values[known].mean()) / error


def _sampled_pairs(pairs: LabelledPairs, target: TargetValues, complete: Bools, unit: str) -> Sampling:
    if pairs.chances is not None:
        return Sampling(PAIRS, complete, chances=_known_chances(pairs, target))
    kind = _kind_by_counts(pairs)
    sampling = Sampling(kind, complete)
    if kind == PAIRS_BY_QUERY:
        shares = pairs.labelled_counts / pairs.pair_counts
        sampling = replace(sampling, chances=shares[pairs.query])
    distance = _pair_distance(pairs)
    if abs(distance) <= _FAR:
        return sampling
    finding = (
        f"the labelled pairs are not a random sample: their mean grade by the model lies {abs(distance):.0f} "
        f"standard errors {_side(distance)} that of all pairs of the same queries"
    )
    if unit == "auto":
        raise UndecidableError(
            f"{finding}; give the inclusion probability of each labelled pair (--pairs POOL), or label whole "
            "queries; --unit pair takes them as random all the same"
        )
    return replace(sampling, warning=finding)


def _side(distance: float) -> str:
    return "above" if distance > 0 else "below"


def _known_chances(pairs: LabelledPairs, target: TargetValues) -> Floats:
    assert pairs.chances is not None
    unknown = np.flatnonzero(target.needed & pairs.has_both & np.isnan(pairs.chances))
    if len(unknown):
        row = int(unknown[0])
        query = pairs.query_ids[int(pairs.query[row])]
        doc = pairs.table.groups.ids_at(np.array([row]))[0]
        raise InputError(
            f"expected an inclusion_probability for every labelled pair, found none for {len(unknown):,} of "
            f"them, such as document {doc!r} of query {query!r}"
        )
    return pairs.chances


def _kind_by_counts(pairs: LabelledPairs) -> str:
    """Return whether the counts of labelled pairs by query are those of pairs drawn from all pairs."""
    from scipy.special import chdtrc

    counts, sizes = pairs.labelled_counts, pairs.pair_counts
    share = counts.sum() / sizes.sum()
    if share == 1 or len(counts) < 2:
        return PAIRS
    distance = float(((counts - share * sizes) ** 2 / (share * (1 - share) * sizes)).sum())
    p_uneven = float(chdtrc(len(counts) - 1, distance))
    has_two = bool((counts >= 2).all())
    if p_uneven >= _RARE:
        return PAIRS_BY_QUERY if 1 - p_uneven < _UNEVEN and has_two else PAIRS
    return PAIRS_BY_QUERY if has_two else PAIRS_OF_QUERIES


def _pair_distance(pairs: LabelledPairs) -> float:
    """Return how far the model's grades of the drawn pairs lie from those of all pairs of their queries."""
    rows = pairs.has_model
    query, grades = pairs.query[rows], pairs.model[rows].astype(np.float64)
    drawn, sizes = pairs.has_both[rows], np.maximum(pairs.pair_counts, 1)
    means = np.bincount(query, grades, len(sizes)) / sizes
    variances = np.bincount(query, (grades - means[query]) ** 2, len(sizes)) / np.maximum(sizes - 1, 1)
    counts = pairs.labelled_counts
    total = float((counts * (1 - counts / sizes) * variances).sum())
    excess = float((grades - means[query])[drawn].sum())
    return excess / total**0.5 if total > 0 else 0.0


def _needs_whole_queries(target: TargetValues, complete: int, labelled: int) -> str:
    return (
        f"{target.measure} is not a sum over the pairs of a ranking, so it needs queries with human labels "
        f"for every pair that it depends on: {complete:,} of {labelled:,} labelled queries have them; label "
        "whole queries, use P@k or DCG@k, or leave the others out (--unit query)"
    )


def _no_complete_query(target: TargetValues) -> str:
    return (
        f"no query has human labels for every pair that {target.measure} depends on; label whole queries"
        + "; use P@k or DCG@k with labels of single pairs" * (target.human_parts is None)
    )
