"""The units of an estimate: the values of the drawn queries or pairs by each kind of labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.judging.estimate.pairs import LabelledPairs
from assay.judging.estimate.sampling import PAIRS_OF_QUERIES, QUERIES, Sampling
from assay.judging.estimate.values import TargetValues
from assay.stats.prediction_powered import LabelledUnits


class _Totals(NamedTuple):
    """The sum of a value in each query, and what it is divided by."""

    sums: Floats
    sizes: Floats

    def take(self, rows: Bools) -> _Totals:
        return _Totals(self.sums[rows], self.sizes[rows])


def build_units(
    pairs: LabelledPairs, target: TargetValues, sampling: Sampling, queries: Bools, clusters: Ints
) -> LabelledUnits | None:
    """Return the units of some of the queries; None if none of them is labelled or has a value.

    `clusters` numbers the queries of all strata, for values of runs that are corrected pair by pair.
    """
    queries = queries & (pairs.query_weights > 0)
    if sampling.kind == QUERIES:
        return _query_units(pairs, target, sampling, queries)
    if sampling.kind == PAIRS_OF_QUERIES:
        return _expanded_query_units(pairs, target, queries)
    return _pair_units(pairs, target, sampling, queries, clusters)


def _query_units(
    pairs: LabelledPairs, target: TargetValues, sampling: Sampling, queries: Bools
) -> LabelledUnits | None:
    """Return whole queries as units."""
    human, model = (_totals(pairs, target, values) for values in (target.human, target.model))
    drawn = sampling.complete & queries
    chances = None if sampling.chances is None else sampling.chances[drawn]
    return _ratio_units(human.take(drawn), model.take(drawn), model.take(queries), chances)


def _totals(pairs: LabelledPairs, target: TargetValues, values: Floats) -> _Totals:
    """Return the value of each query with the number of its pairs, or with 1 if it is defined, else 0.

    Both are multiplied by the number of queries that the query stands for.
    """
    weights = pairs.query_weights
    if target.is_of_pairs:
        return _Totals(weights * values, weights * pairs.pair_counts)
    is_defined = ~np.isnan(values)
    return _Totals(weights * np.where(is_defined, values, 0.0), weights * is_defined)


def _expanded_query_units(pairs: LabelledPairs, target: TargetValues, queries: Bools) -> LabelledUnits | None:
    """Return queries as units whose values are expanded from the pairs that were drawn in each of them."""
    assert target.human_parts is not None
    assert target.model_parts is not None
    drawn = (pairs.labelled_counts > 0) & queries
    rows = pairs.has_both & target.needed
    factors = pairs.query_weights * pairs.pair_counts / np.maximum(pairs.labelled_counts, 1)
    population = _totals(pairs, target, target.model)
    human, model = (
        _Totals(factors * np.bincount(pairs.query[rows], parts[rows], len(factors)), population.sizes)
        for parts in (target.human_parts, target.model_parts)
    )
    return _ratio_units(
        human.take(drawn), model.take(drawn), population.take(queries), None, is_estimated=True
    )


def _ratio_units(
    human: _Totals, model: _Totals, population: _Totals, chances: Floats | None, is_estimated: bool = False
) -> LabelledUnits | None:
    """Return units whose mean is a sum over a sum of sizes, by its linear approximation.

    Cochran (1977), 6.4: the value of a unit is its deviation from what its size lets expect.
    """
    weights = np.ones(len(human.sums)) if chances is None else 1 / chances
    size, total = float((weights * human.sizes).sum()), float(population.sizes.sum())
    if not size or not total:
        return None
    ratio, model_ratio = float((weights * human.sums).sum()) / size, float(population.sums.sum()) / total
    mean_size, mean_total = size / float(weights.sum()), total / len(population.sizes)
    return LabelledUnits(
        human=(human.sums - ratio * human.sizes) / mean_size,
        model=(model.sums - model_ratio * model.sizes) / mean_total,
        population=(population.sums - model_ratio * population.sizes) / mean_total,
        chances=chances,
        offset=ratio,
        model_offset=model_ratio,
        weight=total,
        is_estimated=is_estimated,
    )


def _pair_units(
    pairs: LabelledPairs, target: TargetValues, sampling: Sampling, queries: Bools, clusters: Ints
) -> LabelledUnits | None:
    """Return pairs as units: the pairs that the value depends on, and what each deviates from its reach.

    What a pair of an average grade would add is known for all pairs, labelled or not (Cochran 1977, 7.3).
    """
    assert target.human_parts is not None
    assert target.model_parts is not None
    assert target.reach is not None
    domain = np.flatnonzero(target.needed & queries[pairs.query] & (target.reach != 0))
    drawn = np.flatnonzero(pairs.has_both[domain])
    if not len(drawn):
        return None
    weights = pairs.query_weights[pairs.query[domain]]
    total = float((weights if target.is_of_pairs else pairs.query_weights[queries]).sum())
    scales, rows = weights * len(domain) / total, domain[drawn]
    chances = None if sampling.chances is None else sampling.chances[rows]
    human, model = target.human_parts[rows] * scales[drawn], target.model_parts[domain] * scales
    reach = target.reach[domain] * scales
    share = _slope_on(reach[drawn], human, chances)
    model_share = _slope_on(reach, model, None)
    population = model - model_share * reach
    return LabelledUnits(
        human=human - share * reach[drawn],
        model=population[drawn],
        population=population,
        chances=chances,
        offset=share * float(reach.mean()),
        model_offset=model_share * float(reach.mean()),
        weight=total,
        offsets=share * reach,
        rows=drawn,
        clusters=None if target.is_of_pairs else clusters[pairs.query[domain]],
    )


def _slope_on(reach: Floats, values: Floats, chances: Floats | None) -> float:
    """Return the slope of values on what they could reach at most, through 0."""
    weights = np.ones(len(reach)) if chances is None else 1 / chances
    return float((weights * reach * values).sum()) / float((weights * reach * reach).sum())
