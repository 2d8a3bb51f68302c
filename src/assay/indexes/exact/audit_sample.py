"""A truth beside neighbours that are computed anew, for some of its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import METRICS, Held, Neighbors, Positions, Vectors
from assay.indexes.exact.candidates import measured
from assay.indexes.exact.distances import Doubles
from assay.indexes.exact.truth import truth
from assay.indexes.findings import Finding, worth_knowing, wrong

_EQUAL = 1e-6  # relative: distances nearer than this are ties
_ROUNDING = 1e-4  # relative: what single precision may confuse
_FITS = 1e-3  # relative: a distance of the file is that of a metric
_MOST = 0.9  # of the distances must fit
_FAINT = 1e-2  # of the usual distance: in single precision smaller ones lose their digits
_ALIKE = 0.9  # of the neighbours must agree for a shift or a metric to explain them
Flags = NDArray[np.bool_]


class Convention(NamedTuple):
    """What a file may keep as a distance."""

    name: str
    metric: str
    of: Callable[[Doubles], Doubles]  # our distance → what the file keeps
    similarity: bool = False


def _same(far: Doubles) -> Doubles:
    return far


CONVENTIONS = (
    Convention("Euclidean distances", "l2", _same),
    Convention("squared Euclidean distances", "l2", np.square),
    Convention("negated inner products", "ip", _same),
    Convention("inner products (similarities)", "ip", np.negative, True),
    Convention("1 − inner product", "ip", lambda far: 1 + far),
    Convention("1 − cosine", "cosine", _same),
    Convention("cosines (similarities)", "cosine", lambda far: 1 - far, True),
    Convention("negated cosines", "cosine", lambda far: far - 1),
    Convention("angles", "cosine", lambda far: np.arccos(np.clip(1 - far, -1, 1))),
    Convention("Euclidean distances of unit vectors", "cosine", lambda far: np.sqrt(2 * np.maximum(far, 0))),
    Convention("squared Euclidean distances of unit vectors", "cosine", lambda far: 2 * far),
)
PLAIN = {"l2": "Euclidean distances", "ip": "negated inner products", "cosine": "1 − cosine"}


class Sample(NamedTuple):
    """What the queries that were computed anew say."""

    size: int
    findings: list[Finding]
    order: list[Finding]  # rows out of order by the distances that were computed
    convention: str | None
    similarity: bool
    right: int
    recall: float | None


class _Beside(NamedTuple):
    """Rows of a file, what they should be, and how far the file's neighbours really are."""

    queries: NDArray[np.int64]  # which were taken
    given: Positions
    exact: Neighbors  # one more than K, where the base has it
    far: Doubles  # of the given, NaN where there is none
    metric: str

    @property
    def k(self) -> int:
        return int(self.given.shape[1])

    @property
    def last(self) -> Doubles:
        """The K-th true distance of each query."""
        assert self.exact.distances is not None
        return self.exact.distances[:, min(self.k, self.exact.k) - 1]

    def slack(self, share: float) -> Doubles:
        """How much further is no further: relative, and of 1 under cosine, where 0 is common."""
        return share * np.maximum(np.abs(self.last), float(self.metric == "cosine"))

    def beyond(self, share: float) -> Flags:
        """Which rows name a vector further than the K-th (but for a share of its distance)."""
        made: Flags = np.any(self.far > (self.last + self.slack(share))[:, None], axis=1)
        return made

    @property
    def whole(self) -> Flags:
        """Which rows name K different vectors of the base."""
        made: Flags = np.isfinite(self.far).all(axis=1) & ~repeats(self.given)
        return made


def sampled(
    neighbors: Neighbors,
    base: Vectors,
    queries: Vectors,
    metric: str,
    some: NDArray[np.int64],
    threads: int | None,
) -> Sample:
    """Compare a file's neighbours with exact ones for some queries."""
    asked, given = queries.take(some), neighbors.positions[some]
    exact = truth(base, Held(asked), min(neighbors.k + 1, len(base)), metric, threads=threads)
    beside = _Beside(some, given, exact, _far(base, asked, given, metric), metric)
    right = beside.whole & ~beside.beyond(_EQUAL)
    found = [*_ties(beside), *_wrong(beside), *duplicates(given, some)]
    if not right.all():
        found += _shifted(beside)
    fits = None
    if neighbors.distances is not None:
        kept = neighbors.distances[some]
        fits, expected = _convention(kept, base, asked, given, metric)
        if np.isfinite(kept + beside.far).any():
            found += _misfit(fits, metric, len(some), bool(right.all()))
        if fits:
            found += _strays(beside, kept, expected, _EQUAL * (fits.metric == "cosine"))
    elif not right.all():
        found += _other_metric(beside, base, Held(asked))
    name, similarity = (fits.name, fits.similarity) if fits else (None, False)
    recall = _overlap(beside, given)
    told = None if np.isnan(recall) else recall
    return Sample(len(some), found, list(_order(beside)), name, similarity, int(right.sum()), told)


def _far(base: Vectors, asked: NDArray[np.generic], given: Positions, metric: str) -> Doubles:
    """How far the given neighbours are; NaN where an id is none."""
    made = np.full(given.shape, np.nan)
    there = (given >= 0) & (given < len(base))
    made[there] = measured(base, asked, np.nonzero(there)[0], given[there], metric)
    return made


def repeats(positions: Positions) -> Flags:
    """Which rows name an id more than once."""
    ordered = np.sort(positions, axis=1)
    made: Flags = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    return made


def duplicates(positions: Positions, queries: NDArray[np.int64]) -> Iterator[Finding]:
    """The rows, which are of these queries, that name an id more than once."""
    flags = repeats(positions)
    if flags.any():
        at = int(flags.argmax())
        row = positions[at]
        ids, counts = np.unique(row[row >= 0], return_counts=True)
        first = ids[counts.argmax()]
        ranks = (np.flatnonzero(row == first) + 1).tolist()
        yield wrong(
            "duplicate ids", int(flags.sum()), len(flags),
            f"query {queries[at]} names {first} at ranks {', '.join(map(str, ranks[:5]))}",
            "an id can be hit once only, so that no search reaches a recall of 1",
        )  # fmt: skip


def unsorted(far: Doubles, slack: Doubles, queries: NDArray[np.int64], sign: int = 1) -> Iterator[Finding]:
    """The rows, which are of these queries, where one is nearer, by more than the slack, than one before.

    The sign is −1 where the distances are similarities.
    """
    grown = sign * far
    flags = grown < np.fmax.accumulate(grown, axis=1) - slack[:, None]
    rows: Flags = np.any(flags, axis=1)
    if rows.any():
        q = int(rows.argmax())
        at = int(flags[q].argmax())
        top = int(np.nanargmax(grown[q, :at]))
        pair = f"{far[q, top]:.6g} at rank {top + 1} and {far[q, at]:.6g} at rank {at + 1}"
        yield wrong(
            "unsorted rows", int(rows.sum()), len(rows), f"query {queries[q]} has {pair}",
            "the first k of a longer row are not its nearest k, so that recall at a smaller K is wrong",
        )  # fmt: skip


def _order(beside: _Beside) -> Iterator[Finding]:
    """Rows out of order, but for those that name a wrong neighbour or one twice: that is told already."""
    told = beside.beyond(_ROUNDING) | repeats(beside.given)
    return unsorted(np.where(told[:, None], np.nan, beside.far), beside.slack(_ROUNDING), beside.queries)


def _overlap(beside: _Beside, given: Positions) -> float:
    """The recall@K of exact search on the given rows, but for empty ones; NaN where all are."""
    exact = beside.exact.positions[:, : beside.k]
    pairs = ((one, row) for one, row in zip(exact, given, strict=True) if (row >= 0).any())
    shares = [len(np.intersect1d(*pair)) / beside.k for pair in pairs]
    return float(np.mean(shares)) if shares else np.nan


def _ties(beside: _Beside) -> Iterator[Finding]:
    far = beside.exact.distances
    if far is None or far.shape[1] <= beside.k:
        return
    flags = far[:, beside.k] == far[:, beside.k - 1]
    if flags.any():
        at = int(flags.argmax())
        pair = beside.exact.positions[at, beside.k - 1 :].tolist()
        yield worth_knowing(
            "ties at K", int(flags.sum()), len(flags),
            f"query {beside.queries[at]}: positions {pair[0]} and {pair[1]} are at {far[at, beside.k]:.6g}",
            "which of them the file names is chance: count hits by the policy that allows ties",
        )  # fmt: skip


def _wrong(beside: _Beside) -> Iterator[Finding]:
    """Rows that name a vector too far: beyond what single precision confuses, and within."""
    bad = beside.beyond(_ROUNDING)
    rounding = beside.beyond(_EQUAL) & ~bad
    if rounding.any():
        yield worth_knowing(
            "neighbours confused by rounding", int(rounding.sum()), len(bad), _worst(beside, rounding),
            "computed in single precision; a few ids near the K-th are others",
        )  # fmt: skip
    if bad.any():
        yield wrong(
            "wrong neighbours", int(bad.sum()), len(bad), _worst(beside, bad),
            "a right answer counts as a miss: a better search can score less",
        )  # fmt: skip


def _worst(beside: _Beside, flags: Flags) -> str:
    at = int(flags.argmax())
    missing = np.setdiff1d(beside.exact.positions[at, : beside.k], beside.given[at])
    worst = int(np.nanargmax(beside.far[at]))
    named = f"query {beside.queries[at]} names {beside.given[at, worst]} at {beside.far[at, worst]:.6g}"
    return f"{named}, lacks {missing[0]}; the K-th is at {beside.last[at]:.6g}"


def _shifted(beside: _Beside) -> Iterator[Finding]:
    """Whether ids that count from another number explain what is wrong."""
    plain = _overlap(beside, beside.given)
    for shift, words in ((-1, "ids count from 1"), (1, "ids are one too low")):
        moved = np.where(beside.given >= 0, beside.given + shift, -1)
        if plain < _ALIKE <= (found := _overlap(beside, moved)):
            yield wrong(
                "ids off by one", len(moved), len(moved),
                f"{words}: so they agree in {found:.3f} with exact search, as they are in {plain:.3f}",
                "every hit is a neighbour's, so that recall is about chance",
            )  # fmt: skip


def _other_metric(beside: _Beside, base: Vectors, asked: Vectors) -> Iterator[Finding]:
    """Whether another metric explains the ids of a file without distances."""
    plain = _overlap(beside, beside.given)
    for metric in METRICS:
        if metric == beside.metric:
            continue
        try:
            other = beside._replace(exact=truth(base, asked, min(beside.k, len(base)), metric))
        except InputError:  # zero vectors have no cosine
            continue
        if plain < _ALIKE <= (found := _overlap(other, beside.given)):
            yield _mismatch(
                len(beside.given),
                f"ids agree in {found:.3f} with {metric} and in {plain:.3f} with {beside.metric}",
            )


def _mismatch(count: int, example: str) -> Finding:
    effect = "a search by the right metric looks wrong, and one by the wrong metric right"
    return wrong("metric mismatch", count, count, example, effect)


def _convention(
    kept: Doubles, base: Vectors, asked: NDArray[np.generic], given: Positions, metric: str
) -> tuple[Convention | None, Doubles]:
    """What the distances of a file are, that of the metric asked for first, and what each should be."""
    ours = [each for each in CONVENTIONS if each.metric == metric]
    for each in (*ours, *(other for other in CONVENTIONS if other.metric != metric)):
        with np.errstate(invalid="ignore", divide="ignore"):  # zero vectors have no cosine
            expected = each.of(_far(base, asked, given, each.metric))
        known = np.isfinite(kept) & np.isfinite(expected)
        if known.any() and float(_fits(kept[known], expected[known]).mean()) >= _MOST:
            return each, np.where(known, expected, np.nan)
    return None, np.full(kept.shape, np.nan)


def _fits(kept: Doubles, expected: Doubles) -> Flags:
    size = np.median(np.abs(expected))
    made: Flags = np.abs(kept - expected) <= _FITS * np.maximum(np.abs(expected), 1e-2 * size)
    return made


def _strays(beside: _Beside, kept: Doubles, expected: Doubles, slack: float) -> Iterator[Finding]:
    """Distances unlike what most of the file's are, but for rows that name an id twice."""
    known = np.isfinite(expected) & ~repeats(beside.given)[:, None]
    if not known.any():
        return
    off = np.zeros(kept.shape, np.bool_)
    pair = kept[known], expected[known]
    off[known] = ~_fits(*pair) & ~_faint(*pair) & (np.abs(pair[0] - pair[1]) > slack)
    rows: Flags = np.any(off, axis=1)
    if rows.any():
        q = int(rows.argmax())
        at = int(off[q].argmax())
        yield wrong(
            "wrong distances", int(rows.sum()), len(rows),
            f"query {beside.queries[q]} has {kept[q, at]:.6g} at rank {at + 1}, where {beside.given[q, at]} "
            f"is at {expected[q, at]:.6g}",
            "where hits are told by distance, misses count as hits, or hits as misses",
        )  # fmt: skip


def _faint(kept: Doubles, expected: Doubles) -> Flags:
    """Where the squares differ by no more than that of a faint distance, as a root of rounded sums may."""
    with np.errstate(over="ignore"):
        made: Flags = np.abs(kept**2 - expected**2) <= (_FAINT * np.median(np.abs(expected))) ** 2
    return made


def _misfit(fits: Convention | None, metric: str, count: int, right: bool) -> Iterator[Finding]:
    if fits is None:
        effect = "the truth may be of other vectors: no recall means anything until that is known"
        if right:
            effect = "the neighbours are right; hits and ties that are told by these distances are not"
        yield wrong("distances of no metric", count, count, "none of the usual distances fits", effect)
    elif fits.metric != metric and not right:
        yield _mismatch(count, f"the file keeps {fits.name}, so its metric is {fits.metric}, not {metric}")
    elif fits.name != PLAIN[metric]:
        yield worth_knowing(
            "another convention", count, count, f"the file keeps {fits.name}, not {PLAIN[metric]}",
            "say so when it is read; ties are told by distances",
        )  # fmt: skip
