"""The audit of a truth file: which errors it has, and how they affect recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vector_faults import FaultyRows, VectorFaults, find_faults, refuse_mismatch, row_blocks
from assay.core.vectors import Neighbors, Positions, Vectors, check_metric
from assay.indexes.exact.audit_sample import Sample, audit_sample, duplicate_ids, unsorted_rows
from assay.indexes.exact.findings import Finding, error_finding

SAMPLE_SIZE = 200  # queries whose neighbours are recomputed
_ZERO_EFFECTS = {
    True: "they have no direction, so their cosine is undefined and differs between programs",
    False: "they often represent missing data",
}


class Audit(NamedTuple):
    """The result of the audit of a truth file."""

    metric: str
    n: int
    d: int
    queries: int
    k: int
    convention: str | None  # what the distances of the file are; None if it has none or none matches
    findings: list[Finding]
    reachable: float | None  # the highest recall@K that a search can reach; None if no query has truth
    sampled: int  # queries whose neighbours were recomputed
    right: int | None  # of these, the queries with correct rows; None if nothing could be computed
    exact: float | None  # the recall@K of exact search, by ids only

    @property
    def is_clean(self) -> bool:
        """Whether there is no error; findings that are only worth knowing do not count."""
        return not any(finding.wrong for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, with the keys that `assay truth audit --format json` prints."""
        findings = [finding._asdict() | {"share": finding.share} for finding in self.findings]
        return self._asdict() | {"clean": self.is_clean, "findings": findings}


def audit(
    neighbors: Neighbors,
    base: Vectors,
    queries: Vectors,
    metric: str,
    *,
    sample: int = SAMPLE_SIZE,
    seed: int = 0,
    threads: int | None = None,
) -> Audit:
    """Check a truth file for all errors that are known to occur in such files.

    All ids, distances and vectors are checked; neighbours are recomputed for a sample of queries, which also
    shows whether the distances are right.
    """
    check_metric(metric)
    refuse_mismatch(base, queries)
    rows = min(len(neighbors.positions), len(queries))
    positions = neighbors.positions[:rows]
    vector_faults = find_faults(base), find_faults(queries)
    findings = [*_row_count_findings(neighbors, queries), *_id_findings(positions, len(base))]
    findings += [
        *duplicate_ids(positions, np.arange(rows)),
        *_non_finite_distances(neighbors),
        *_vector_findings(*vector_faults, metric),
    ]
    findings += find_queries_in_base(base, queries)
    sample_result: Sample | None = None
    if rows and not any(item.problems(metric) for item in vector_faults):
        sample_rows = np.sort(np.random.default_rng(seed).permutation(rows)[:sample])
        sample_result = audit_sample(neighbors, base, queries, metric, sample_rows, threads)
        names = {item.name for item in findings}  # found in the whole file
        findings += [item for item in sample_result.findings if item.name not in names]
    findings += _unsorted_findings(neighbors, sample_result)
    reachable = _reachable_recall(positions, len(base))
    sizes = len(base), base.d, len(queries), neighbors.k
    if sample_result is None:
        return Audit(metric, *sizes, None, findings, reachable, 0, None, None)
    convention, right, recall = sample_result.convention, sample_result.right, sample_result.recall
    return Audit(metric, *sizes, convention, findings, reachable, sample_result.size, right, recall)


def _row_count_findings(neighbors: Neighbors, queries: Vectors) -> Iterator[Finding]:
    rows = len(neighbors.positions)
    if rows != len(queries):
        surplus = abs(rows - len(queries))
        yield error_finding(
            "another number of rows", surplus, max(rows, len(queries)),
            f"{rows:,} rows of truth, {len(queries):,} queries",
            "rows may belong to other queries, so recall is meaningless",
        )  # fmt: skip


def _id_findings(positions: Positions, n: int) -> Iterator[Finding]:
    """Yield the errors that are visible in the ids alone."""
    missing, outside = positions == -1, (positions < -1) | (positions >= n)
    checks: list[tuple[str, Any, Callable[[int], str], str]] = [
        (
            "empty rows", missing.all(axis=1), lambda q: f"query {q} has no neighbour",
            "such a query has no recall: leave it out and count it",
        ),
        (
            "padding", missing.any(axis=1) & ~missing.all(axis=1),
            lambda q: f"query {q} has {int(missing[q].sum())} of {positions.shape[1]} places empty",
            "recall is divided by K, but the empty places cannot be hit",
        ),
        (
            "ids outside the base", outside.any(axis=1),
            lambda q: f"query {q} names {_outside_text(int(positions[q, outside[q].argmax()]), n)}",
            "these ids cannot be hit: the truth belongs to another base, or its ids are numbered differently",
        ),
    ]  # fmt: skip
    for name, flags, example, effect in checks:
        if flags.any():
            yield error_finding(name, int(flags.sum()), len(flags), example(int(flags.argmax())), effect)


def _outside_text(position: int, n: int) -> str:
    return f"{position}, but the base {'begins at 0' if position < 0 else f'ends at {n - 1}'}"


def _reachable_recall(positions: Positions, n: int) -> float | None:
    """Return the mean share of the places of a row that can be hit, over queries with truth."""
    in_base = (positions >= 0) & (positions < n)
    sorted_positions = np.sort(np.where(in_base, positions, -1), axis=1)
    count = in_base.any(axis=1) + (
        (sorted_positions[:, 1:] != sorted_positions[:, :-1]) & (sorted_positions[:, :-1] >= 0)
    ).sum(axis=1)
    has_truth = (positions >= 0).any(axis=1)
    return float(np.mean(count[has_truth] / positions.shape[1])) if has_truth.any() else None


def _vector_findings(base: VectorFaults, queries: VectorFaults, metric: str) -> Iterator[Finding]:
    for table, found_faults in (("base", base), ("queries", queries)):
        if found_faults.not_finite.number:
            name, effect = f"NaN or infinite numbers in the {table}", "no vector is near such a vector"
            yield _row_finding(name, True, found_faults.not_finite, found_faults.rows, effect)
        if found_faults.zero.number:
            is_error = metric == "cosine"
            name, effect = f"zero vectors in the {table}", _ZERO_EFFECTS[is_error]
            yield _row_finding(name, is_error, found_faults.zero, found_faults.rows, effect)


def _row_finding(name: str, is_error: bool, vectors: FaultyRows, out_of: int, effect: str) -> Finding:
    return Finding(name, is_error, vectors.number, out_of, f"position {vectors.first}", effect, "rows")


def find_queries_in_base(base: Vectors, queries: Vectors) -> list[Finding]:
    """Return a finding if queries are contained in the base, else none."""
    positions_by_key: dict[int, int] = {}
    keys = _row_keys(queries.to_matrix())
    for start, block in row_blocks(base):
        block_keys = _row_keys(block)
        for at in np.flatnonzero(np.isin(block_keys, keys)).tolist():
            positions_by_key.setdefault(int(block_keys[at]), start + at)
    is_contained = np.array([int(key) in positions_by_key for key in keys], np.bool_)
    if not is_contained.any():
        return []
    first = int(is_contained.argmax())
    return [
        Finding(
            "queries contained in the base", False, int(is_contained.sum()), len(is_contained),
            f"query {first} is at position {positions_by_key[int(keys[first])]} of the base",
            "the nearest neighbour is the query itself, an easy hit, so recall@1 says little",
        )
    ]  # fmt: skip


def _row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a hash of the content of each row; equal rows have equal hashes, whatever their type."""
    words = (rows.astype(np.float64) + 0.0).view(np.uint64)
    weights = np.random.default_rng(20).integers(1, 2**63, words.shape[1], np.uint64) | np.uint64(1)
    mixed = (words ^ (words >> np.uint64(29))) * weights
    keys: NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    return keys


def _non_finite_distances(neighbors: Neighbors) -> Iterator[Finding]:
    """Yield a finding if a neighbour has a distance that is NaN or infinite."""
    if neighbors.distances is None:
        return
    flags = ~np.isfinite(neighbors.distances) & (neighbors.positions >= 0)
    rows = np.flatnonzero(flags.any(axis=1))
    if len(rows):
        q = int(rows[0])
        at = int(flags[q].argmax())
        pair = f"{neighbors.distances[q, at]} beside {neighbors.positions[q, at]}"
        yield error_finding(
            "NaN or infinite distances", len(rows), len(flags), f"query {q} has {pair} at rank {at + 1}",
            "if hits are decided by distance, such a distance accepts nothing or everything",
        )  # fmt: skip


def _unsorted_findings(neighbors: Neighbors, sample: Sample | None) -> Iterable[Finding]:
    """Return the finding about unsorted rows, by the distances of the file, or by those of the sample."""
    if neighbors.distances is None:
        return sample.order if sample else ()
    sign = -1 if sample and sample.similarity else 1
    distances = np.where(np.isfinite(neighbors.distances), neighbors.distances, np.nan)
    return unsorted_rows(distances, np.zeros(len(distances)), np.arange(len(distances)), sign)
