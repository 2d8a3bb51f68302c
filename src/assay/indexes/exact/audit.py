"""Whether a truth that somebody else computed can be trusted, and what it does to a recall if not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors, Positions, Vectors, checked_metric
from assay.core.vectors_check import Faults, Found, faults, pieces, refuse_mismatch
from assay.indexes.exact.audit_sample import Sample, duplicates, sampled, unsorted
from assay.indexes.findings import Finding, wrong

SAMPLE = 200  # queries computed anew
_ZERO = {
    True: "they have no direction: their cosine is undefined, and each program makes up its own",
    False: "they often stand for something that is missing",
}


class Audit(NamedTuple):
    """What was found in a truth file."""

    metric: str
    n: int
    d: int
    queries: int
    k: int
    convention: str | None  # what the distances of the file are; None: it has none, or none fits
    findings: list[Finding]
    reachable: float | None  # the best recall@K that any search can have on it; None: no query has truth
    sampled: int  # queries computed anew
    right: int | None  # of these the ones with a right row; None: nothing could be computed
    exact: float | None  # the recall@K that exact search has on it, by ids alone

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong; what is only worth knowing does not count."""
        return not any(finding.wrong for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain data, with the keys that `assay truth audit --format json` prints."""
        found = [finding._asdict() | {"share": finding.share} for finding in self.findings]
        return self._asdict() | {"clean": self.clean, "findings": found}


def audit(
    neighbors: Neighbors,
    base: Vectors,
    queries: Vectors,
    metric: str,
    *,
    sample: int = SAMPLE,
    seed: int = 0,
    threads: int | None = None,
) -> Audit:
    """Look for everything that is known to go wrong in truth files.

    Ids, distances and vectors are looked through whole; neighbours are computed anew for a sample of queries,
    and by these it is told whether distances are right.
    """
    checked_metric(metric)
    refuse_mismatch(base, queries)
    rows = min(len(neighbors.positions), len(queries))
    positions = neighbors.positions[:rows]
    bad = faults(base), faults(queries)
    found = [*_counts(neighbors, queries), *_ids(positions, len(base))]
    found += [*duplicates(positions, np.arange(rows)), *_not_finite(neighbors), *_vectors(*bad, metric)]
    found += _contained(base, queries)
    made: Sample | None = None
    if rows and not any(each.problems(metric) for each in bad):
        some = np.sort(np.random.default_rng(seed).permutation(rows)[:sample])
        made = sampled(neighbors, base, queries, metric, some, threads)
        told = {each.name for each in found}  # of the whole file
        found += [each for each in made.findings if each.name not in told]
    found += _unsorted(neighbors, made)
    return Audit(
        metric, len(base), base.d, len(queries), neighbors.k, made.convention if made else None, found,
        _reachable(positions, len(base)), made.size if made else 0, made.right if made else None,
        made.recall if made else None,
    )  # fmt: skip


def _counts(neighbors: Neighbors, queries: Vectors) -> Iterator[Finding]:
    rows = len(neighbors.positions)
    if rows != len(queries):
        more = abs(rows - len(queries))
        yield wrong(
            "another number of rows", more, max(rows, len(queries)),
            f"{rows:,} rows of truth, {len(queries):,} queries",
            "rows may belong to other queries, so that no recall means anything",
        )  # fmt: skip


def _ids(positions: Positions, n: int) -> Iterator[Finding]:
    """What is wrong with ids by themselves."""
    missing, outside = positions == -1, (positions < -1) | (positions >= n)
    checks: list[tuple[str, Any, Callable[[int], str], str]] = [
        (
            "empty rows", missing.all(axis=1), lambda q: f"query {q} has no neighbour",
            "such a query has no recall: leave it out, and count it",
        ),
        (
            "padding", missing.any(axis=1) & ~missing.all(axis=1),
            lambda q: f"query {q} has {int(missing[q].sum())} of {positions.shape[1]} places empty",
            "recall is divided by K, and the empty places cannot be hit",
        ),
        (
            "ids outside the base", outside.any(axis=1),
            lambda q: f"query {q} names {_beyond(int(positions[q, outside[q].argmax()]), n)}",
            "these ids cannot be hit: the truth belongs to another base, or its ids count otherwise",
        ),
    ]  # fmt: skip
    for name, flags, example, effect in checks:
        if flags.any():
            yield wrong(name, int(flags.sum()), len(flags), example(int(flags.argmax())), effect)


def _beyond(position: int, n: int) -> str:
    return f"{position}, and the base {'begins at 0' if position < 0 else f'ends at {n - 1}'}"


def _reachable(positions: Positions, n: int) -> float | None:
    """The mean share of a row's places that can be hit, over queries with any."""
    there = (positions >= 0) & (positions < n)
    single = np.sort(np.where(there, positions, -1), axis=1)
    count = there.any(axis=1) + ((single[:, 1:] != single[:, :-1]) & (single[:, :-1] >= 0)).sum(axis=1)
    known = (positions >= 0).any(axis=1)
    return float(np.mean(count[known] / positions.shape[1])) if known.any() else None


def _vectors(base: Faults, queries: Faults, metric: str) -> Iterator[Finding]:
    for name, each in (("base", base), ("queries", queries)):
        if each.not_finite.number:
            what = f"NaN or infinite numbers in the {name}"
            yield _rows(what, True, each.not_finite, each.rows, "nothing is near to such a vector")
        if each.zero.number:
            bad = metric == "cosine"
            yield _rows(f"zero vectors in the {name}", bad, each.zero, each.rows, _ZERO[bad])


def _rows(what: str, bad: bool, found: Found, out_of: int, effect: str) -> Finding:
    return Finding(what, bad, found.number, out_of, f"position {found.first}", effect, "rows")


def _contained(base: Vectors, queries: Vectors) -> Iterator[Finding]:
    """Queries that are in the base as they are."""
    inside: dict[int, int] = {}
    keys = _keys(queries.whole())
    for start, block in pieces(base):
        here = _keys(block)
        for at in np.flatnonzero(np.isin(here, keys)).tolist():
            inside.setdefault(int(here[at]), start + at)
    hit = np.array([int(key) in inside for key in keys], np.bool_)
    if hit.any():
        first = int(hit.argmax())
        yield Finding(
            "queries contained in the base", False, int(hit.sum()), len(hit),
            f"query {first} is at position {inside[int(keys[first])]} of the base",
            "the nearest neighbour is the query itself, an easy hit: recall@1 says little",
        )  # fmt: skip


def _keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each row by its content; that of equal rows is equal, whatever their type."""
    words = (rows.astype(np.float64) + 0.0).view(np.uint64)
    weights = np.random.default_rng(20).integers(1, 2**63, words.shape[1], np.uint64) | np.uint64(1)
    mixed = (words ^ (words >> np.uint64(29))) * weights
    made: NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    return made


def _not_finite(neighbors: Neighbors) -> Iterator[Finding]:
    """Neighbours whose distance is no number."""
    if neighbors.distances is None:
        return
    flags = ~np.isfinite(neighbors.distances) & (neighbors.positions >= 0)
    rows = np.flatnonzero(flags.any(axis=1))
    if len(rows):
        q = int(rows[0])
        at = int(flags[q].argmax())
        pair = f"{neighbors.distances[q, at]} beside {neighbors.positions[q, at]}"
        yield wrong(
            "NaN or infinite distances", len(rows), len(flags), f"query {q} has {pair} at rank {at + 1}",
            "where hits are told by distance, nothing or everything is within such a one",
        )  # fmt: skip


def _unsorted(neighbors: Neighbors, made: Sample | None) -> Iterable[Finding]:
    """Rows whose distances go down, or up where they are similarities; without distances, of the sample."""
    if neighbors.distances is None:
        return made.order if made else ()
    sign = -1 if made and made.similarity else 1
    far = np.where(np.isfinite(neighbors.distances), neighbors.distances, np.nan)
    return unsorted(far, np.zeros(len(far)), np.arange(len(far)), sign)
