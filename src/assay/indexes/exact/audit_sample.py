"""The comparison of a truth file with recomputed neighbours, for a sample of its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import METRICS, InMemoryVectors, Neighbors, Positions, Vectors
from assay.indexes.exact.candidates import measure_pairs
from assay.indexes.exact.distances import Doubles
from assay.indexes.exact.findings import Finding, error_finding, note_finding
from assay.indexes.exact.truth import truth

_TIE_TOLERANCE = 1e-6  # relative: distances that differ by less are ties
_ROUNDING_TOLERANCE = 1e-4  # relative: differences that single precision may not resolve
_MATCH_TOLERANCE = 1e-3  # relative: within it a distance of the file is that of a convention
_MATCHING_SHARE = 0.9  # of the distances must match
_SMALL_DISTANCE = 1e-2  # relative to the median: smaller distances lose their digits in single precision
_MIN_AGREEMENT = 0.9  # share of neighbours that must agree for a shift or a metric to explain an error
Flags = NDArray[np.bool_]


class Convention(NamedTuple):
    """A way in which files express distances."""

    name: str
    metric: str
    from_distance: Callable[[Doubles], Doubles]  # distance of Assay → value in the file
    similarity: bool = False


def _identity(distances: Doubles) -> Doubles:
    return distances


CONVENTIONS = (
    Convention("Euclidean distances", "l2", _identity),
    Convention("squared Euclidean distances", "l2", np.square),
    Convention("negated inner products", "ip", _identity),
    Convention("inner products (similarities)", "ip", np.negative, True),
    Convention("1 − inner product", "ip", lambda far: 1 + far),
    Convention("1 − cosine", "cosine", _identity),
    Convention("cosines (similarities)", "cosine", lambda far: 1 - far, True),
    Convention("negated cosines", "cosine", lambda far: far - 1),
    Convention("angles", "cosine", lambda far: np.arccos(np.clip(1 - far, -1, 1))),
    Convention("Euclidean distances of unit vectors", "cosine", lambda far: np.sqrt(2 * np.maximum(far, 0))),
    Convention("squared Euclidean distances of unit vectors", "cosine", lambda far: 2 * far),
)
EXPECTED_CONVENTIONS = {"l2": "Euclidean distances", "ip": "negated inner products", "cosine": "1 − cosine"}


class Sample(NamedTuple):
    """The findings in a sample of queries with recomputed neighbours."""

    size: int
    findings: list[Finding]
    order: list[Finding]  # unsorted rows, by the recomputed distances
    convention: str | None
    similarity: bool
    right: int
    recall: float | None


class _SampledRows(NamedTuple):
    """Rows of a file with their exact neighbours and the true distances of the neighbours in the file."""

    queries: NDArray[np.int64]  # numbers of the sampled queries
    positions: Positions
    exact: Neighbors  # one more than K if the base has more
    distances: Doubles  # true distances of the positions, NaN where there is none
    metric: str

    @property
    def k(self) -> int:
        return int(self.positions.shape[1])

    @property
    def kth_distance(self) -> Doubles:
        """The true distance of the K-th neighbour of each query."""
        assert self.exact.distances is not None
        return self.exact.distances[:, min(self.k, self.exact.k) - 1]

    def slack(self, share: float) -> Doubles:
        """Return the tolerance of each query, relative to its K-th distance, or to 1 under cosine."""
        return share * np.maximum(np.abs(self.kth_distance), float(self.metric == "cosine"))

    def names_farther(self, share: float) -> Flags:
        """Return a flag for each row that names a vector farther than the K-th, beyond the tolerance."""
        flags: Flags = np.any(self.distances > (self.kth_distance + self.slack(share))[:, None], axis=1)
        return flags

    @property
    def is_complete(self) -> Flags:
        """A flag for each row that names K different vectors of the base."""
        flags: Flags = np.isfinite(self.distances).all(axis=1) & ~has_repeats(self.positions)
        return flags


def audit_sample(
    neighbors: Neighbors,
    base: Vectors,
    queries: Vectors,
    metric: str,
    rows: NDArray[np.int64],
    threads: int | None,
) -> Sample:
    """Compare the neighbours of a file with exact ones for some queries."""
    query_rows, positions = queries.take(rows), neighbors.positions[rows]
    exact = truth(base, InMemoryVectors(query_rows), min(neighbors.k + 1, len(base)), metric, threads=threads)
    sample = _SampledRows(
        rows, positions, exact, _pair_distances(base, query_rows, positions, metric), metric
    )
    is_right = sample.is_complete & ~sample.names_farther(_TIE_TOLERANCE)
    findings = [*_ties(sample), *_wrong_neighbors(sample), *duplicate_ids(positions, rows)]
    if not is_right.all():
        findings += _shifted_ids(sample)
    convention = None
    if neighbors.distances is not None:
        file_distances = neighbors.distances[rows]
        convention, expected = _convention(file_distances, base, query_rows, positions, metric)
        if np.isfinite(file_distances + sample.distances).any():
            findings += _convention_findings(convention, metric, len(rows), bool(is_right.all()))
        if convention:
            findings += _wrong_distances(
                sample, file_distances, expected, _TIE_TOLERANCE * (convention.metric == "cosine")
            )
    elif not is_right.all():
        findings += _other_metric(sample, base, InMemoryVectors(query_rows))
    name, similarity = (convention.name, convention.similarity) if convention else (None, False)
    recall = _overlap(sample, positions)
    recall_or_none = None if np.isnan(recall) else recall
    return Sample(
        len(rows),
        findings,
        list(_unsorted_sample(sample)),
        name,
        similarity,
        int(is_right.sum()),
        recall_or_none,
    )


def _pair_distances(
    base: Vectors, query_rows: NDArray[np.generic], positions: Positions, metric: str
) -> Doubles:
    """Return the distances of the neighbours of a file; NaN for ids outside the base."""
    distances = np.full(positions.shape, np.nan)
    in_base = (positions >= 0) & (positions < len(base))
    distances[in_base] = measure_pairs(base, query_rows, np.nonzero(in_base)[0], positions[in_base], metric)
    return distances


def has_repeats(positions: Positions) -> Flags:
    """Return a flag for each row that names an id more than once."""
    sorted_positions = np.sort(positions, axis=1)
    flags: Flags = (
        (sorted_positions[:, 1:] == sorted_positions[:, :-1]) & (sorted_positions[:, 1:] >= 0)
    ).any(axis=1)
    return flags


def duplicate_ids(positions: Positions, queries: NDArray[np.int64]) -> Iterator[Finding]:
    """Yield a finding if rows name an id more than once; `queries` are the numbers of the rows."""
    flags = has_repeats(positions)
    if flags.any():
        at = int(flags.argmax())
        row = positions[at]
        ids, counts = np.unique(row[row >= 0], return_counts=True)
        repeated_id = ids[counts.argmax()]
        ranks = (np.flatnonzero(row == repeated_id) + 1).tolist()
        yield error_finding(
            "duplicate ids", int(flags.sum()), len(flags),
            f"query {queries[at]} names {repeated_id} at ranks {', '.join(map(str, ranks[:5]))}",
            "an id can be hit only once, so no search reaches a recall of 1",
        )  # fmt: skip


def unsorted_rows(
    distances: Doubles, slack: Doubles, queries: NDArray[np.int64], sign: int = 1
) -> Iterator[Finding]:
    """Yield a finding if rows have a neighbour that is nearer than a previous one by more than the slack.

    The sign is −1 if the distances are similarities.
    """
    ascending = sign * distances
    flags = ascending < np.fmax.accumulate(ascending, axis=1) - slack[:, None]
    rows: Flags = np.any(flags, axis=1)
    if rows.any():
        q = int(rows.argmax())
        at = int(flags[q].argmax())
        previous = int(np.nanargmax(ascending[q, :at]))
        pair = (
            f"{distances[q, previous]:.6g} at rank {previous + 1} and {distances[q, at]:.6g} at rank {at + 1}"
        )
        yield error_finding(
            "unsorted rows", int(rows.sum()), len(rows), f"query {queries[q]} has {pair}",
            "the first k of a longer row are not its nearest k, so recall at a smaller K is wrong",
        )  # fmt: skip


def _unsorted_sample(sample: _SampledRows) -> Iterator[Finding]:
    """Yield a finding about unsorted rows, except those with wrong or repeated neighbours."""
    is_reported = sample.names_farther(_ROUNDING_TOLERANCE) | has_repeats(sample.positions)
    return unsorted_rows(
        np.where(is_reported[:, None], np.nan, sample.distances),
        sample.slack(_ROUNDING_TOLERANCE),
        sample.queries,
    )


def _overlap(sample: _SampledRows, positions: Positions) -> float:
    """Return the recall@K of exact search on these rows without empty ones; NaN if all are empty."""
    exact = sample.exact.positions[:, : sample.k]
    pairs = ((exact_row, row) for exact_row, row in zip(exact, positions, strict=True) if (row >= 0).any())
    shares = [len(np.intersect1d(*pair)) / sample.k for pair in pairs]
    return float(np.mean(shares)) if shares else np.nan


def _ties(sample: _SampledRows) -> Iterator[Finding]:
    distances = sample.exact.distances
    if distances is None or distances.shape[1] <= sample.k:
        return
    flags = distances[:, sample.k] == distances[:, sample.k - 1]
    if flags.any():
        at = int(flags.argmax())
        pair = sample.exact.positions[at, sample.k - 1 :].tolist()
        yield note_finding(
            "ties at K", int(flags.sum()), len(flags),
            f"query {sample.queries[at]}: positions {pair[0]} and {pair[1]} "
            f"are at {distances[at, sample.k]:.6g}",
            "which of them the file names is arbitrary: count hits with the policy `ties`",
        )  # fmt: skip


def _wrong_neighbors(sample: _SampledRows) -> Iterator[Finding]:
    """Yield findings about rows that name a vector that is too far, within rounding and beyond it."""
    is_wrong = sample.names_farther(_ROUNDING_TOLERANCE)
    is_rounding = sample.names_farther(_TIE_TOLERANCE) & ~is_wrong
    if is_rounding.any():
        yield note_finding(
            "neighbours confused by rounding", int(is_rounding.sum()), len(is_wrong),
            _worst_example(sample, is_rounding),
            "the file was computed in single precision; a few ids near the K-th differ",
        )  # fmt: skip
    if is_wrong.any():
        yield error_finding(
            "wrong neighbours", int(is_wrong.sum()), len(is_wrong), _worst_example(sample, is_wrong),
            "a right answer counts as a miss, so a better search can have a lower recall",
        )  # fmt: skip


def _worst_example(sample: _SampledRows, flags: Flags) -> str:
    at = int(flags.argmax())
    missing = np.setdiff1d(sample.exact.positions[at, : sample.k], sample.positions[at])
    farthest = int(np.nanargmax(sample.distances[at]))
    position, distance = sample.positions[at, farthest], sample.distances[at, farthest]
    text = f"query {sample.queries[at]} names {position} at {distance:.6g}"
    return f"{text}, lacks {missing[0]}; the K-th is at {sample.kth_distance[at]:.6g}"


def _shifted_ids(sample: _SampledRows) -> Iterator[Finding]:
    """Yield a finding if ids that start at another number explain the errors."""
    agreement = _overlap(sample, sample.positions)
    for shift, reason in ((-1, "ids start at 1"), (1, "ids are one too low")):
        shifted_positions = np.where(sample.positions >= 0, sample.positions + shift, -1)
        if agreement < _MIN_AGREEMENT <= (shifted_agreement := _overlap(sample, shifted_positions)):
            yield error_finding(
                "ids off by one", len(shifted_positions), len(shifted_positions),
                f"{reason}: shifted they agree with exact search in {shifted_agreement:.3f}, "
                f"unchanged in {agreement:.3f}",
                "every id is that of an adjacent vector, so recall is about that of random answers",
            )  # fmt: skip


def _other_metric(sample: _SampledRows, base: Vectors, query_vectors: Vectors) -> Iterator[Finding]:
    """Yield a finding if another metric explains the ids of a file without distances."""
    agreement = _overlap(sample, sample.positions)
    for metric in METRICS:
        if metric == sample.metric:
            continue
        try:
            other_sample = sample._replace(exact=truth(base, query_vectors, min(sample.k, len(base)), metric))
        except InputError:  # zero vectors have no cosine
            continue
        if agreement < _MIN_AGREEMENT <= (other_agreement := _overlap(other_sample, sample.positions)):
            yield _metric_mismatch(
                len(sample.positions),
                f"ids agree in {other_agreement:.3f} with {metric}, in {agreement:.3f} with {sample.metric}",
            )


def _metric_mismatch(count: int, example: str) -> Finding:
    effect = "a search by the right metric looks wrong, and one by the wrong metric looks right"
    return error_finding("metric mismatch", count, count, example, effect)


def _convention(
    file_distances: Doubles, base: Vectors, query_rows: NDArray[np.generic], positions: Positions, metric: str
) -> tuple[Convention | None, Doubles]:
    """Return the convention that the distances of a file follow, and the expected distances.

    The conventions of the requested metric are tried first.
    """
    own_conventions = [convention for convention in CONVENTIONS if convention.metric == metric]
    for convention in (
        *own_conventions,
        *(convention for convention in CONVENTIONS if convention.metric != metric),
    ):
        with np.errstate(invalid="ignore", divide="ignore"):  # zero vectors have no cosine
            expected = convention.from_distance(
                _pair_distances(base, query_rows, positions, convention.metric)
            )
        is_defined = np.isfinite(file_distances) & np.isfinite(expected)
        if (
            is_defined.any()
            and float(_matches(file_distances[is_defined], expected[is_defined]).mean()) >= _MATCHING_SHARE
        ):
            return convention, np.where(is_defined, expected, np.nan)
    return None, np.full(file_distances.shape, np.nan)


def _matches(file_distances: Doubles, expected: Doubles) -> Flags:
    size = np.median(np.abs(expected))
    flags: Flags = np.abs(file_distances - expected) <= _MATCH_TOLERANCE * np.maximum(
        np.abs(expected), 1e-2 * size
    )
    return flags


def _wrong_distances(
    sample: _SampledRows, file_distances: Doubles, expected: Doubles, slack: float
) -> Iterator[Finding]:
    """Yield a finding about distances that differ from the convention, in rows without repeated ids."""
    is_defined = np.isfinite(expected) & ~has_repeats(sample.positions)[:, None]
    if not is_defined.any():
        return
    is_wrong = np.zeros(file_distances.shape, np.bool_)
    pair = file_distances[is_defined], expected[is_defined]
    is_wrong[is_defined] = ~_matches(*pair) & ~_within_rounding(*pair) & (np.abs(pair[0] - pair[1]) > slack)
    rows: Flags = np.any(is_wrong, axis=1)
    if rows.any():
        q = int(rows.argmax())
        at = int(is_wrong[q].argmax())
        yield error_finding(
            "wrong distances", int(rows.sum()), len(rows),
            f"query {sample.queries[q]} has {file_distances[q, at]:.6g} at rank {at + 1}, "
            f"where {sample.positions[q, at]} is at {expected[q, at]:.6g}",
            "if hits are decided by distance, misses count as hits or hits as misses",
        )  # fmt: skip


def _within_rounding(file_distances: Doubles, expected: Doubles) -> Flags:
    """Return a flag where squared distances differ by no more than rounded sums may."""
    with np.errstate(over="ignore"):
        flags: Flags = (
            np.abs(file_distances**2 - expected**2) <= (_SMALL_DISTANCE * np.median(np.abs(expected))) ** 2
        )
    return flags


def _convention_findings(
    convention: Convention | None, metric: str, count: int, is_right: bool
) -> Iterator[Finding]:
    if convention is None:
        effect = "the truth may belong to other vectors: recall is meaningless until this is clear"
        if is_right:
            effect = "the neighbours are right, but hits and ties that are decided by these distances are not"
        yield error_finding(
            "distances of no metric", count, count, "none of the usual distances matches", effect
        )
    elif convention.metric != metric and not is_right:
        yield _metric_mismatch(
            count, f"the file has {convention.name}, so its metric is {convention.metric}, not {metric}"
        )
    elif convention.name != EXPECTED_CONVENTIONS[metric]:
        yield note_finding(
            "another convention", count, count,
            f"the file has {convention.name}, not {EXPECTED_CONVENTIONS[metric]}",
            "convert the distances before use: ties are decided by distances",
        )  # fmt: skip
