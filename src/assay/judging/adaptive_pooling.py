"""Pools that follow the labels given so far: each step proposes the next pairs to judge.

The choice depends on labels, so the pairs have no known inclusion probabilities: such pools find relevant
documents or settle a comparison early, and cannot correct a mean for what was not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.judging.pooling import Pool, PoolFrame
from assay.judging.sampling import allocate

_PRIOR = 0.5  # the weight of a relevant and of an irrelevant document, before any label
_RANK_BANDS = (1, 2, 5, 10, 20, 50, 100)
Choose = Callable[[Ints, Floats, int, np.random.Generator], list[int]]


def pool_by_move_to_front(
    frame: PoolFrame, grades: Floats, budget: int, rng: np.random.Generator, rel: int = 1
) -> Pool:
    """Return the next pairs by move-to-front (Cormack, Palmer and Clarke 1998), in each query.

    Documents are taken from the run with the highest priority, which falls with every irrelevant one. A
    pair that waits for its label counts like an irrelevant one, so that a step asks several runs.
    """
    return _choose_in_queries(frame, grades, budget, rng, rel, _move_to_front)


def pool_by_bandit(
    frame: PoolFrame, grades: Floats, budget: int, rng: np.random.Generator, rel: int = 1
) -> Pool:
    """Return the next pairs by a bandit over runs (Losada, Parapar and Barreiro 2017), in each query.

    The reward of a run is the share of relevant documents among those judged in its top; the run of each
    draw is picks by Thompson sampling from its Beta posterior.
    """
    return _choose_in_queries(frame, grades, budget, rng, rel, _draw_by_bandit)


def _choose_in_queries(
    frame: PoolFrame, grades: Floats, budget: int, rng: np.random.Generator, rel: int, choose: Choose
) -> Pool:
    """Return pairs that a method chooses in each query; all queries get the same number."""
    is_waiting = np.isnan(grades)
    sizes = np.bincount(frame.query[is_waiting], minlength=len(frame.query_ids))
    counts = allocate(min(budget, int(sizes.sum())), sizes)
    relevant = np.where(is_waiting, np.nan, grades >= rel)
    rows = list[int]()
    for query, count in enumerate(counts.tolist()):
        part = frame.rows_of(query)
        rows += [part.start + row for row in choose(frame.ranks[part], relevant[part], count, rng)]
    return _without_probabilities(np.array(rows, np.int64))


def _without_probabilities(rows: Ints) -> Pool:
    return Pool(rows, np.full(len(rows), np.nan))


def _lists(ranks: Ints) -> list[list[int]]:
    """Return the rows of each run, the last rank first, so that the best can be popped."""
    columns = (np.flatnonzero(column > 0) for column in ranks.T)
    return [rows[np.argsort(-column[rows])].tolist() for rows, column in zip(columns, ranks.T, strict=True)]


def _move_to_front(ranks: Ints, relevant: Floats, count: int, rng: np.random.Generator) -> list[int]:
    lists, seen, picks = _lists(ranks), set[int](), list[int]()
    priorities = rng.random(len(lists)) * 0.5  # breaks ties between runs
    while len(picks) < count:
        run = int(np.argmax(np.where([bool(rows) for rows in lists], priorities, -np.inf)))
        row = lists[run].pop()
        if row in seen:
            continue
        seen.add(row)
        priorities[run] -= relevant[row] != 1
        if np.isnan(relevant[row]):
            picks.append(row)
    return picks


def _draw_by_bandit(ranks: Ints, relevant: Floats, count: int, rng: np.random.Generator) -> list[int]:
    is_judged, picks = ~np.isnan(relevant), list[int]()
    in_top = ranks > 0
    hits = (in_top & (relevant == 1)[:, None]).sum(axis=0) + _PRIOR
    misses = (in_top & (relevant == 0)[:, None]).sum(axis=0) + _PRIOR
    lists = [[row for row in rows if not is_judged[row]] for rows in _lists(ranks)]
    while len(picks) < count:
        rewards = rng.beta(hits, misses)
        run = int(np.argmax(np.where([bool(rows) for rows in lists], rewards, -np.inf)))
        row = lists[run][-1]
        picks.append(row)
        for rows in lists:
            if row in rows:
                rows.remove(row)
    return picks


def pool_by_difference(frame: PoolFrame, grades: Floats, budget: int, rel: int = 1) -> Pool:
    """Return the pairs whose labels would change the order of systems most.

    The variance of the difference in DCG between two systems is a sum over the pairs without labels:
    p (1 − p) times the squared difference of their discounts, with p the share of relevant documents near
    this rank (after Carterette, Allan and Sitaraman 2006). Two systems count the more the less their order
    is settled.
    """
    is_waiting = np.isnan(grades)
    chances = relevance_by_rank(frame.best_rank, grades, rel)
    discounts = np.where(frame.ranks > 0, 1 / np.log2(np.maximum(frame.ranks, 1) + 1.0), 0.0)
    gains = np.where(is_waiting, chances, grades >= rel)
    variances = np.where(is_waiting, chances * (1 - chances), 0.0)
    worth = np.zeros(len(frame))
    for first, second in combinations(range(len(frame.runs)), 2):
        difference = discounts[:, first] - discounts[:, second]
        parts = variances * difference**2
        total = float(parts.sum())
        z2 = float((gains * difference).sum()) ** 2 / total if total else 0.0
        worth += parts * np.exp(-min(z2, 200.0) / 2)
    if len(frame.runs) < 2:
        worth = variances * discounts[:, 0] ** 2
    rows = np.flatnonzero(is_waiting)
    order = np.lexsort((frame.best_rank[rows], -worth[rows]))
    return _without_probabilities(rows[order[:budget]])


def relevance_by_rank(best_rank: Ints, grades: Floats, rel: int = 1) -> Floats:
    """Return for each pair the share of relevant documents among those judged near its best rank.

    >>> relevance_by_rank(np.array([1, 1, 9]), np.array([1.0, np.nan, np.nan])).tolist()
    [0.75, 0.75, 0.5]
    """
    band = np.searchsorted(_RANK_BANDS, best_rank)
    is_judged = ~np.isnan(grades)
    judged = np.bincount(band[is_judged], minlength=len(_RANK_BANDS) + 1)
    hits = np.bincount(band[grades >= rel], minlength=len(_RANK_BANDS) + 1)
    shares: Floats = ((hits + _PRIOR) / (judged + 2 * _PRIOR))[band]
    return shares
