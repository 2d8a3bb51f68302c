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
_ALIKE = 0.9  # of the neighbours must agree for a shift or a metric to explain them


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
    Convention("1 − cosine", "cosine", _same),
    Convention("cosines (similarities)", "cosine", lambda far: 1 - far, True),
    Convention("Euclidean distances of unit vectors", "cosine", lambda far: np.sqrt(2 * np.maximum(far, 0))),
    Convention("squared Euclidean distances of unit vectors", "cosine", lambda far: 2 * far),
)
PLAIN = {"l2": "Euclidean distances", "ip": "negated inner products", "cosine": "1 − cosine"}


class Sample(NamedTuple):
    """What the queries that were computed anew say."""

    size: int
    findings: list[Finding]
    convention: str | None
    similarity: bool
    right: int
    recall: float


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
    fits = None
    if neighbors.distances is not None:
        fits = _convention(neighbors.distances[some], base, asked, given, metric)
    right = _within(beside, _EQUAL)
    found = [*_ties(beside), *_wrong(beside, right)]
    if not right.all():
        found += _shifted(beside)
        if neighbors.distances is None:
            found += _other_metric(beside, base, Held(asked))
    if neighbors.distances is not None:
        found += _misfit(fits, metric, len(some))
    name, similarity = (fits.name, fits.similarity) if fits else (None, False)
    return Sample(len(some), found, name, similarity, int(right.sum()), _overlap(beside, given))


def _far(base: Vectors, asked: NDArray[np.generic], given: Positions, metric: str) -> Doubles:
    """How far the given neighbours are; NaN where an id is none."""
    made = np.full(given.shape, np.nan)
    there = (given >= 0) & (given < len(base))
    made[there] = measured(base, asked, np.nonzero(there)[0], given[there], metric)
    return made


def _within(beside: _Beside, share: float) -> NDArray[np.bool_]:
    """Which rows name K different vectors, none further than the K-th (but for a share of its distance)."""
    ordered = np.sort(beside.given, axis=1)
    different = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    near = beside.far <= (beside.last + beside.slack(share))[:, None]
    made: NDArray[np.bool_] = different & near.all(axis=1)
    return made


def _overlap(beside: _Beside, given: Positions) -> float:
    """The recall@K of exact search on the given rows."""
    exact = beside.exact.positions[:, : beside.k]
    return float(np.mean([len(np.intersect1d(*pair)) for pair in zip(exact, given, strict=True)]) / beside.k)


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


def _wrong(beside: _Beside, right: NDArray[np.bool_]) -> Iterator[Finding]:
    """Rows that are not the nearest: beyond what single precision confuses, and within."""
    rounding = _within(beside, _ROUNDING) & ~right
    if rounding.any():
        yield worth_knowing(
            "neighbours confused by rounding", int(rounding.sum()), len(right), _worst(beside, rounding),
            "computed in single precision; a few ids near the K-th are others",
        )  # fmt: skip
    bad = ~right & ~rounding
    if bad.any():
        yield wrong(
            "wrong neighbours", int(bad.sum()), len(right), _worst(beside, bad),
            "a right answer counts as a miss: a better search can score less",
        )  # fmt: skip


def _worst(beside: _Beside, flags: NDArray[np.bool_]) -> str:
    at = int(flags.argmax())
    missing = np.setdiff1d(beside.exact.positions[at, : beside.k], beside.given[at])
    query = f"query {beside.queries[at]}"
    if not len(missing):
        return f"{query} names one id more than once"
    far = np.where(np.isnan(beside.far[at]), -np.inf, beside.far[at])
    named = f"names {beside.given[at, far.argmax()]} at {far.max():.6g}"
    return f"{query} {named}, lacks {missing[0]}; the K-th is at {beside.last[at]:.6g}"


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
) -> Convention | None:
    """What the distances of a file are: of those that fit, that of the metric asked for."""
    ours = [each for each in CONVENTIONS if each.metric == metric]
    for each in (*ours, *(other for other in CONVENTIONS if other.metric != metric)):
        with np.errstate(invalid="ignore", divide="ignore"):  # zero vectors have no cosine
            if _fits(kept, each.of(_far(base, asked, given, each.metric))):
                return each
    return None


def _fits(kept: Doubles, expected: Doubles) -> bool:
    known = np.isfinite(expected)
    size = np.median(np.abs(expected[known])) if known.any() else 0.0
    off = np.abs(kept - expected)[known] <= _FITS * np.maximum(np.abs(expected[known]), 1e-2 * size)
    return bool(known.any()) and float(off.mean()) >= _MOST


def _misfit(fits: Convention | None, metric: str, count: int) -> Iterator[Finding]:
    if fits is None:
        effect = "the truth may be of other vectors: no recall means anything until that is known"
        yield wrong("distances of no metric", count, count, "none of the usual distances fits", effect)
    elif fits.metric != metric:
        yield _mismatch(count, f"the file keeps {fits.name}, so its metric is {fits.metric}, not {metric}")
    elif fits.name != PLAIN[metric]:
        yield worth_knowing(
            "another convention", count, count, f"the file keeps {fits.name}, not {PLAIN[metric]}",
            "say so when it is read; ties are told by distances",
        )  # fmt: skip
