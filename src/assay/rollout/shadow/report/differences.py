"""How much the answers of a candidate differ from those of the primary, beyond the primary's own noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.rollout.shadow.records import CANDIDATE, PRIMARY, REPEAT
from assay.rollout.shadow.report.exchanges import LoggedExchange
from assay.rollout.shadow.report.similarity import Similarity, measure_similarity
from assay.stats import Estimate, estimate
from assay.stats.intervals import estimate_share, quantile_position

NOISE_QUANTILE = 0.95
_DIFFERENCE_BOUNDS = (-1.0, 1.0)


@dataclass(frozen=True)
class QueryDifference:
    """A query whose answers differ, with the answers to its last request."""

    query: str
    requests: int
    difference: float  # 1 - RBO of primary and candidate, averaged over its requests
    noise: float | None  # the same of the primary with itself; None: it was not repeated
    excess: float | None  # beyond the noise floor and its own noise; None: there is no noise floor
    primary: Sequence[str]  # the top k
    candidate: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        return {**vars(self), "primary": list(self.primary), "candidate": list(self.candidate)}


@dataclass(frozen=True)
class Differences:
    """The similarity of the answers, and the noise floor under their differences."""

    k: int
    candidate: Mapping[str, Estimate]  # by name, over queries
    repeat: Mapping[str, Estimate]
    beyond_noise: Mapping[str, Estimate]  # repeat - candidate, over the queries that have both
    noise_floor: float | None  # 95 % of the queries differ from themselves by at most so much
    noise_queries: int
    differing: Estimate  # the share of queries that differ beyond the noise floor
    queries: Sequence[QueryDifference]  # the most different first

    def to_dict(self, top: int) -> dict[str, Any]:
        """Return the differences as plain data, with the queries that differ most."""
        estimates = {
            name: {key: e.to_dict() for key, e in values.items()}
            for name, values in (
                ("candidate", self.candidate),
                ("repeat", self.repeat),
                ("beyond_noise", self.beyond_noise),
            )
        }
        floor = {"value": self.noise_floor, "quantile": NOISE_QUANTILE, "n": self.noise_queries}
        return {
            "k": self.k,
            "agreement": estimates,
            "noise_floor": floor,
            "differing": self.differing.to_dict(),
            "queries": [entry.to_dict() for entry in self.queries[:top]],
        }


def find_differences(exchanges: Sequence[LoggedExchange], k: int, level: float) -> Differences:
    """Compare the answers to each query with those of the primary, and the primary's with its own."""
    names = list(dict.fromkeys(exchange.query for exchange in exchanges))
    candidate = _compare(exchanges, names, CANDIDATE, k)
    repeat = _compare(exchanges, names, REPEAT, k)
    noise = 1 - repeat.rbo
    floor = _noise_floor(noise)
    excess = _excess(1 - candidate.rbo, noise, floor)
    queries = _list_queries(exchanges, names, candidate, noise, excess, k)
    known = excess[~np.isnan(excess)]
    beyond = {
        name: estimate(own - theirs, "mean", level, bounds=_DIFFERENCE_BOUNDS)
        for name, own, theirs in zip(Similarity._fields, repeat, candidate, strict=True)
    }
    return Differences(
        k,
        candidate.estimates(level),
        repeat.estimates(level),
        beyond,
        floor,
        int((~np.isnan(noise)).sum()),
        estimate_share(int((known > 0).sum()), len(known), level),
        queries,
    )


def _compare(exchanges: Sequence[LoggedExchange], names: Sequence[str], role: str, k: int) -> Similarity:
    """Return the similarity of the primary and a role by query."""
    pairs = [(e.query, e.hits(PRIMARY), e.hits(role)) for e in exchanges]
    known = [(query, a, b) for query, a, b in pairs if a is not None and b is not None]
    numbers = {name: number for number, name in enumerate(names)}
    rows: Ints = np.array([numbers[query] for query, _, _ in known], np.int64)
    similarity = measure_similarity([a for _, a, _ in known], [b for _, _, b in known], k)
    return similarity.by_query(rows, len(names))


def _noise_floor(noise: Floats) -> float | None:
    """Return the difference that 95 % of the queries have with themselves, at most."""
    known = np.sort(noise[~np.isnan(noise)])
    return float(known[quantile_position(len(known), NOISE_QUANTILE)]) if len(known) else None


def _excess(difference: Floats, noise: Floats, floor: float | None) -> Floats:
    if floor is None:
        return np.full(len(difference), np.nan)
    excess: Floats = difference - np.fmax(noise, floor)
    return np.where(np.abs(excess) < 1e-9, 0.0, excess)  # rounding is no difference


def _list_queries(
    exchanges: Sequence[LoggedExchange],
    names: Sequence[str],
    candidate: Similarity,
    noise: Floats,
    excess: Floats,
    k: int,
) -> list[QueryDifference]:
    """Return the queries that differ at all, the most different first."""
    last = {e.query: e for e in exchanges if e.is_compared}
    counts: dict[str, int] = {}
    for exchange in exchanges:
        counts[exchange.query] = counts.get(exchange.query, 0) + exchange.is_compared
    found = []
    for row, name in enumerate(names):
        difference = 1 - float(candidate.rbo[row])
        if name not in last or math.isnan(difference) or difference < 1e-9:
            continue
        hits = [list(last[name].hits(role) or ())[:k] for role in (PRIMARY, CANDIDATE)]
        own, beyond = _known(noise[row]), _known(excess[row])
        found.append(QueryDifference(name, counts[name], difference, own, beyond, *hits))
    return sorted(found, key=_order)


def _order(entry: QueryDifference) -> tuple[float, float, int, str]:
    excess = entry.difference if entry.excess is None else entry.excess
    return -excess, -entry.difference, -entry.requests, entry.query


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
