"""Whether the order of systems stays the same when another rater's labels score them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.core.groups import RunBlocks
from assay.core.judgments import Judgments
from assay.core.tables import Qrels
from assay.evaluation import evaluate
from assay.evaluation.evaluate import estimate_measure
from assay.measures import Measure
from assay.stats import Estimate
from assay.stats.intervals import estimate_mean
from assay.stats.paired_differences import subtract
from assay.stats.resampling import resampled_means

RESAMPLES = 2000
MOST_RATERS = 10  # whose labels score the runs; those with the most judgments


class Swap(NamedTuple):
    """Two systems whose order is another by another rater; each difference is first - second."""

    first: str
    second: str
    by_first_rater: Estimate
    by_second_rater: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the swap as plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "difference_by_a": self.by_first_rater.to_dict(),
            "difference_by_b": self.by_second_rater.to_dict(),
        }


class OrderComparison(NamedTuple):
    """The scores of systems by two raters, on the pairs that both judged."""

    first: str
    second: str
    queries: int
    pairs: int
    scores: Mapping[str, tuple[Estimate, Estimate]]  # of each run, by the first and by the second rater
    tau: Estimate
    swaps: Sequence[Swap]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        scores = {name: [by.to_dict() for by in both] for name, both in self.scores.items()}
        return {
            "a": self.first,
            "b": self.second,
            "queries": self.queries,
            "pairs": self.pairs,
            "tau": self.tau.to_dict(),
            "scores": [{"run": name, "by_a": a, "by_b": b} for name, (a, b) in scores.items()],
            "swaps": [swap.to_dict() for swap in self.swaps],
        }


@dataclass(frozen=True)
class SystemOrder:
    """The order of systems by each two raters."""

    measure: Measure
    runs: Sequence[str]
    comparisons: Sequence[OrderComparison]
    left_out: Sequence[str]  # raters with fewer judgments than the others

    def to_dict(self) -> dict[str, Any]:
        """Return the comparisons as plain data."""
        return {
            "measure": str(self.measure),
            "runs": list(self.runs),
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "left_out": list(self.left_out),
        }


def compare_orders(
    judgments: Judgments, runs: Sequence[RunBlocks], measure: Measure, level: float = 0.95, seed: int = 0
) -> SystemOrder:
    """Score the runs by the labels of each rater, and compare the orders of each two raters.

    >>> from assay import Run
    >>> rows = [("q", "x", "ann", 1), ("q", "y", "ann", 0), ("q", "x", "bob", 0), ("q", "y", "bob", 1)]
    >>> runs = [Run({"q": {"x": 2.0, "y": 1.0}}, name="A"), Run({"q": {"x": 1.0, "y": 2.0}}, name="B")]
    >>> from assay.measures import parse
    >>> order = compare_orders(Judgments.from_rows(rows), runs, parse("RR@10"))
    >>> order.comparisons[0].tau.value, [(swap.first, swap.second) for swap in order.comparisons[0].swaps]
    (-1.0, [('A', 'B')])
    """
    if len(runs) < 2:
        raise InputError(f"the order of systems needs two runs or more (--run), found {len(runs)}")
    labels = judgments.frame.filter(pl.col("grade").is_not_null())
    _check_whole_grades(labels)
    counts = labels.group_by("judge").len().sort(["len", "judge"], descending=[True, False])
    raters = counts["judge"].to_list()
    scorer = _Scorer(labels, runs, measure)
    comparisons = [
        scorer.compare(first, second, level, seed) for first, second in combinations(raters[:MOST_RATERS], 2)
    ]
    return SystemOrder(
        measure, [run.name for run in runs], [c for c in comparisons if c is not None], raters[MOST_RATERS:]
    )


def _check_whole_grades(labels: pl.DataFrame) -> None:
    wrong = labels.filter(pl.col("grade") != pl.col("grade").floor())
    if len(wrong):
        query, doc, judge, grade = wrong.select("query_id", "doc_id", "judge", "grade").row(0)
        raise InputError(
            f"the order of systems needs whole grades, found {grade:g} of {judge!r} for {doc!r} in "
            f"{query!r}: write whole numbers, or leave out --run"
        )


class _Scorer:
    """Scores runs by the labels of raters, each set of labels once."""

    def __init__(self, labels: pl.DataFrame, runs: Sequence[RunBlocks], measure: Measure) -> None:
        self.labels = {str(judge): part for (judge,), part in labels.group_by("judge")}
        self.runs, self.measure = runs, measure
        self.scores: dict[tuple[str, int], Floats] = {}

    def compare(self, first: str, second: str, level: float, seed: int) -> OrderComparison | None:
        """Return the orders by two raters; None if they share no pair."""
        key = ["query_id", "doc_id"]
        sides = [
            self.labels[rater].join(self.labels[other], on=key, how="semi").sort(key)
            for rater, other in ((first, second), (second, first))
        ]
        if sides[0].is_empty():
            return None
        pairs = int(sides[0].select(key).hash_rows().sum())
        by_first, by_second = (
            self._score(rater, pairs, side) for rater, side in zip((first, second), sides, strict=True)
        )
        names = [run.name for run in self.runs]
        estimates = [
            [estimate_measure(self.measure, column, level) for column in values.T]
            for values in (by_first, by_second)
        ]
        return OrderComparison(
            first,
            second,
            len(by_first),
            len(sides[0]),
            dict(zip(names, zip(*estimates, strict=True), strict=True)),
            _estimate_tau(by_first, by_second, level, seed),
            _find_swaps(names, by_first, by_second, level),
        )

    def _score(self, rater: str, pairs: int, labels: pl.DataFrame) -> Floats:
        """Return the scores: queries × runs."""
        if (rater, pairs) not in self.scores:
            qrels = Qrels(labels.select("query_id", "doc_id", "grade"))
            columns = [evaluate(qrels, run, [self.measure]).scores[self.measure] for run in self.runs]
            self.scores[rater, pairs] = np.column_stack(columns)
        return self.scores[rater, pairs]


def _estimate_tau(first: Floats, second: Floats, level: float, seed: int) -> Estimate:
    """Return Kendall's τ-b of the mean scores, with an interval of samples of queries."""
    is_scored = ~(np.isnan(first) | np.isnan(second)).any(axis=1)
    both = np.hstack([first, second])[is_scored]
    if not len(both):
        return Estimate(None, None, None, level, 0)
    runs = first.shape[1]
    means = both.mean(axis=0, keepdims=True)
    value = float(kendall_tau(means[:, :runs], means[:, runs:])[0])
    if np.isnan(value) or len(both) < 2:
        return Estimate(None if np.isnan(value) else value, None, None, level, len(both))
    samples = resampled_means(both, RESAMPLES, seed)
    taus = kendall_tau(samples[:, :runs], samples[:, runs:])
    low, high = np.nanquantile(taus, [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(value, min(float(low), value), max(float(high), value), level, len(both), False, True)


def kendall_tau(first: Floats, second: Floats) -> Floats:
    """Return Kendall's τ-b of each row of two tables; NaN if all values of a row are equal.

    >>> kendall_tau(np.array([[3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0]])).round(4).tolist()
    [0.3333]
    """
    left, right = np.triu_indices(first.shape[1], 1)
    a, b = (np.sign((side[:, left] - side[:, right]).round(12)) for side in (first, second))
    with np.errstate(invalid="ignore"):
        tau: Floats = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return tau


def _find_swaps(names: Sequence[str], first: Floats, second: Floats, level: float) -> list[Swap]:
    """Return the pairs of systems whose mean difference has another sign by the second rater."""
    swaps = []
    for one, other in combinations(range(len(names)), 2):
        by_first, by_second = (
            _mean_difference(side[:, one], side[:, other], level) for side in (first, second)
        )
        if (by_first.value or 0.0) * (by_second.value or 0.0) < 0:
            swaps.append(Swap(names[one], names[other], by_first, by_second))
    return swaps


def _mean_difference(first: Floats, second: Floats, level: float) -> Estimate:
    differences = subtract(first, second)
    differences = differences[~np.isnan(differences)]
    return estimate_mean(differences, level) if len(differences) else Estimate(None, None, None, level, 0)
