"""Which pairs people should label next: those whose labels would make the intervals narrower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.judging.estimate.pairs import LabelledPairs
from assay.judging.estimate.sampling import QUERIES, Sampling
from assay.judging.estimate.values import TargetValues
from assay.stats.prediction_powered import PoweredEstimate

_FEWEST = 5  # labelled units from which the deviation of a class is estimated
_CLASSES = 4  # of queries by their values under the model's labels, and of units by their gains
Estimated = tuple[TargetValues, Sampling, PoweredEstimate]


class NextPair(NamedTuple):
    """A pair with the chance that it is labelled, after the chosen pairs have been labelled."""

    query_id: str
    doc_id: str
    inclusion_probability: float
    is_labelled: bool


@dataclass(frozen=True)
class NextLabels:
    """The pairs to label next, the most useful first, and the pool that they form with the labelled pairs."""

    pool: tuple[NextPair, ...]
    unit: str  # query: all pairs of a query are to be labelled

    @property
    def chosen(self) -> list[NextPair]:
        """The pairs that have no human label yet."""
        return [pair for pair in self.pool if not pair.is_labelled]

    def to_list(self) -> list[dict[str, Any]]:
        """Return the JSON of the pairs to label next."""
        names = ("query_id", "doc_id", "inclusion_probability")
        return [dict(zip(names, pair[:3], strict=True)) for pair in self.chosen]


def choose_next(
    pairs: LabelledPairs, estimated: Sequence[Estimated], count: int, seed: int = 0
) -> NextLabels:
    """Return the pairs, or whole queries with as many, of the largest expected residual and influence.

    Which units of a class come first follows from their ids and the seed. The chance of each unit to be
    labelled by then is kept, so that estimates stay valid after the chosen units have been labelled.
    """
    if not count:
        return NextLabels((), "pair")
    is_by_query = any(sampling.unit == "query" or t.human_parts is None for t, sampling, _ in estimated)
    if is_by_query:
        return _next_queries(pairs, estimated, count, seed)
    gains = sum((_pair_gains(pairs, *part) for part in estimated), np.zeros(len(pairs.model)))
    rows = np.flatnonzero(pairs.has_model & (gains > 0))
    queries, docs = pairs.query[rows].tolist(), pairs.table.groups.ids_at(rows).tolist()
    names = [f"{pairs.query_ids[query]}\0{doc}" for query, doc in zip(queries, docs, strict=True)]
    chosen, chances = _choose(gains[rows], pairs.has_both[rows], count, _shuffle(names, seed))
    others = pairs.has_model & (gains <= 0)  # no value depends on them
    everything = np.full(len(gains), pairs.has_both[others].mean() if others.any() else 0.0)
    everything[rows] = chances
    pool = [*rows[chosen].tolist(), *np.flatnonzero(pairs.has_both).tolist()]
    return NextLabels(_pool(pairs, pool, everything), "pair")


def _pool(pairs: LabelledPairs, rows: Sequence[int], chances: Floats) -> tuple[NextPair, ...]:
    """Return pairs by their rows, with the chance of each row to be labelled."""
    places = np.array(rows, np.int64)
    queries = [pairs.query_ids[query] for query in pairs.query[places].tolist()]
    docs = pairs.table.groups.ids_at(places).tolist()
    flags = pairs.has_both[places].tolist()
    return tuple(map(NextPair, queries, docs, chances[places].tolist(), flags))


def _next_queries(pairs: LabelledPairs, estimated: Sequence[Estimated], count: int, seed: int) -> NextLabels:
    size = len(pairs.query_ids)
    gains, needed = np.zeros(size), np.zeros(len(pairs.model), np.bool_)
    complete = np.ones(size, np.bool_)
    for target, sampling, powered in estimated:
        gains += _query_gains(target, sampling, powered)
        needed |= target.needed
        complete &= sampling.complete
    rows = np.flatnonzero(needed & ~pairs.has_both)
    costs = np.bincount(pairs.query[rows], minlength=size)[~complete]
    wanted = math.ceil(count / max(1.0, float(costs.mean()))) if len(costs) else 0
    chosen, chances = _choose(gains, complete, wanted, _shuffle(pairs.query_ids, seed))
    by_query: dict[int, list[int]] = {query: [] for query in chosen}
    for row in rows.tolist():
        by_query.get(int(pairs.query[row]), []).append(row)
    labelled = np.flatnonzero(needed & pairs.has_both & complete[pairs.query]).tolist()
    pool = [row for query in chosen for row in by_query[query]] + labelled
    return NextLabels(_pool(pairs, pool, chances[pairs.query]), "query")


def _shuffle(names: Sequence[str], seed: int) -> Ints:
    """Return a random number for each name, the same for the same seed in any order of the names."""
    digests = (blake2b(f"{seed}\0{name}".encode(), digest_size=7).digest() for name in names)
    return np.array([int.from_bytes(digest) for digest in digests], np.int64)


def _choose(gains: Floats, is_labelled: Bools, count: int, order: Ints) -> tuple[list[int], Floats]:
    """Return the units to label, the best first, and the chance of each unit to be labelled by then.

    Each next unit comes from the class of units in which one more label lowers the variance most (Neyman
    1934), and is drawn in it at random.
    """
    classes = _classes(gains, is_labelled)
    sizes = np.bincount(classes)
    labelled = np.bincount(classes[is_labelled], minlength=len(sizes)).astype(np.float64)
    squares = sizes * np.bincount(classes, gains**2)  # (size x deviation)² of each class
    waiting = np.lexsort((order, is_labelled))  # those without a label first, at random
    queues = [waiting[classes[waiting] == number].tolist() for number in range(len(sizes))]
    chosen: list[int] = []
    for _ in range(min(count, int((~is_labelled).sum()))):
        n = np.maximum(labelled, 0.5)
        best = int(np.argmax(np.where(labelled < sizes, squares / (n * (n + 1)), -1.0)))
        labelled[best] += 1
        chosen.append(queues[best].pop(0))
    chances: Floats = (labelled / sizes)[classes]
    return chosen, chances


def _classes(gains: Floats, is_labelled: Bools) -> Ints:
    """Return the class of each unit by its gain: of about equal sums, each with a few labelled units."""
    values, inverse = np.unique(-np.round(gains, 9), return_inverse=True)
    sums = np.bincount(inverse, gains)
    middles = (np.cumsum(sums) - sums / 2) / max(float(sums.sum()), 1e-300)
    numbers = np.minimum((_CLASSES * middles).astype(np.int64), _CLASSES - 1)
    labelled = np.bincount(inverse[is_labelled], minlength=len(values))
    merged, current, count = np.zeros(len(values), np.int64), 0, 0
    for place, number in enumerate(numbers.tolist()):
        if place and number != numbers[place - 1] and count >= _FEWEST:
            current, count = current + 1, 0
        merged[place], count = current, count + int(labelled[place])
    if count < _FEWEST and current:
        merged[merged == current] = current - 1
    classes: Ints = merged[inverse]
    return classes


def _half_width(powered: PoweredEstimate) -> float:
    e = powered.combined
    return 1.0 if e.low is None or e.high is None or e.high <= e.low else (e.high - e.low) / 2


def _pair_gains(
    pairs: LabelledPairs, target: TargetValues, sampling: Sampling, powered: PoweredEstimate
) -> Floats:
    """Return the expected residual of each pair times what it moves the value, in widths of the interval."""
    assert target.reach is not None
    grades = target.human_parts if target.is_of_pairs else pairs.human.astype(np.float64)
    assert grades is not None
    deviations = _class_deviations(grades, pairs.model, pairs.has_both, pairs.has_model)
    influence = np.where(target.needed, np.abs(target.reach), 0.0) / max(int(target.needed.sum()), 1)
    gains: Floats = influence * deviations / _half_width(powered)
    return gains


def _query_gains(target: TargetValues, sampling: Sampling, powered: PoweredEstimate) -> Floats:
    """Return the expected residual of each query in widths of the interval."""
    model = np.nan_to_num(target.model)
    residuals = np.nan_to_num(target.human) - model
    edges = np.unique(np.quantile(model, np.linspace(0, 1, _CLASSES + 1)[1:-1]))
    classes = np.searchsorted(edges, model, "right")
    drawn = sampling.complete if sampling.kind == QUERIES else np.zeros(len(model), np.bool_)
    gains: Floats = _class_deviations(residuals, classes, drawn, np.ones(len(model), np.bool_))
    return gains / _half_width(powered)


def _class_deviations(values: Floats, classes: Ints, drawn: Bools, population: Bools) -> Floats:
    """Return the deviation of the values of each class among the drawn units, or of all if it has few."""
    overall = float(values[drawn].std()) if drawn.sum() >= 2 else 0.0
    deviations = np.where(population, overall or 1.0, 0.0)
    for number in np.unique(classes[population]).tolist():
        part = classes == number
        if (part & drawn).sum() >= _FEWEST and overall:
            deviations[part & population] = float(values[part & drawn].std())
    return deviations
