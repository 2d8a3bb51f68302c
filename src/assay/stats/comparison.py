"""Comparison of a candidate with a baseline: the difference, its interval, p and margins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats import difference_intervals, paired_tests
from assay.stats.difference_intervals import NormalSpread, ResampledSpread, Spread, clip_ends
from assay.stats.intervals import Estimate, central_value, logarithms
from assay.stats.paired_differences import subtract, subtract_means


class Subject(NamedTuple):
    """What is compared, and how its values are aggregated over the queries."""

    measure: str
    kind: str = "mean"
    q: float = 0.5
    lower_is_better: bool = False
    is_bounded: bool = False  # whether its values lie between 0 and 1


@dataclass(frozen=True)
class Comparison:
    """One measure of two systems over all queries or one slice; differences are candidate - baseline."""

    measure: str
    baseline_name: str
    candidate_name: str
    column: str  # of the slice; empty: all queries
    value: str
    baseline: float | None
    candidate: float | None
    difference: Estimate
    test: str
    p: float | None
    corrected_p: float | None
    wins: int | None  # queries on which the candidate is better; None: the queries are not paired
    ties: int | None
    losses: int | None
    effect: float | None  # d: difference / its standard deviation; of shares g: share of wins - 1/2
    deviation: (
        float | None
    )  # standard deviation of the queries' differences; None: the difference is not their mean
    lower_is_better: bool
    spread: Spread = field(repr=False, compare=False)

    @property
    def slice(self) -> str:
        """The label of the slice: `category: faq`, or `all`."""
        return f"{self.column}: {self.value}" if self.column else "all"

    @property
    def improvement(self) -> float | None:
        """The difference, above 0 if the candidate is better."""
        value = self.difference.value
        return -value if value is not None and self.lower_is_better else value

    def p_above(self, margin: float) -> float | None:
        """p of the test that the improvement exceeds the margin; small: it is shown to exceed it."""
        if not self.lower_is_better:
            return self.spread.p_at_most(margin)
        p = self.spread.p_at_most(-margin)
        return None if p is None else 1 - p

    def p_below(self, margin: float) -> float | None:
        """p of the test that the improvement is below the margin; small: it is shown to be below."""
        p = self.p_above(margin)
        return None if p is None else 1 - p

    def p_not_inferior(self, margin: float) -> float | None:
        """p of the test that the candidate is not worse by the margin (non-inferiority)."""
        return self.p_above(-margin)

    def p_equivalent(self, margin: float) -> float | None:
        """p of the test that the difference is smaller than the margin (two one-sided tests)."""
        low, high = self.p_above(-margin), self.p_below(margin)
        return None if low is None or high is None else max(low, high)

    def direction(self) -> str | None:
        """`better` or `worse` if the candidate is shown to be so after correction, else None."""
        alpha = 1 - self.difference.level
        if self.corrected_p is None or self.corrected_p > alpha or not self.improvement:
            return None
        return "better" if self.improvement > 0 else "worse"

    def state(self, margin: float) -> str:
        """`same` within the margin, `better`, `worse`, or `open` if nothing is shown."""
        p = self.p_equivalent(margin)
        if p is not None and p <= 1 - self.difference.level:
            return "same"
        return self.direction() or "open"

    @property
    def is_lost_to_correction(self) -> bool:
        """Whether a difference is shown before the correction for many comparisons, and not after it."""
        alpha = 1 - self.difference.level
        return self.p is not None and self.corrected_p is not None and self.p <= alpha < self.corrected_p


def compare_columns(
    subjects: Sequence[Subject],
    baseline: Floats,
    candidate: Floats,
    *,
    paired: bool = True,
    test: str = "t",
    level: float = 0.95,
    seed: int = 0,
    permutations: int | None = None,
) -> list[Comparison]:
    """Compare each column of two tables of values (queries × subjects; NaN: undefined).

    If paired, the rows of both are the same queries, and a query counts if both values are defined.
    """
    if not paired:
        return [
            _compare_unpaired(s, b, c, level, seed)
            for s, b, c in zip(subjects, baseline.T, candidate.T, strict=True)
        ]
    ps = _paired_ps(subjects, baseline, candidate, test, seed, permutations)
    columns = zip(subjects, baseline.T, candidate.T, ps, strict=True)
    return [_compare_paired(s, b, c, p, test, level, seed) for s, b, c, p in columns]


def _paired_ps(
    subjects: Sequence[Subject],
    baseline: Floats,
    candidate: Floats,
    test: str,
    seed: int,
    permutations: int | None,
) -> list[float | None]:
    """p of each column: McNemar's test for shares, none yet for quantiles, else the requested test."""
    logs = np.array([s.kind == "geometric" for s in subjects])
    differences = subtract(candidate, baseline)
    differences[:, logs] = subtract(logarithms(candidate[:, logs]), logarithms(baseline[:, logs]))
    options = {"seed": seed} if test in _COUNT_OPTION else {}
    if test in _COUNT_OPTION and permutations is not None:
        options[_COUNT_OPTION[test]] = permutations
    ps = np.full(len(subjects), np.nan)
    shares = np.array([s.kind == "share" for s in subjects])
    others = ~shares & np.array([s.kind != "quantile" for s in subjects])
    if others.any():
        ps[others] = paired_tests.TESTS[test](differences[:, others], **options)
    if shares.any():
        ps[shares] = paired_tests.mcnemar(differences[:, shares])
    return [None if p != p else p for p in ps.tolist()]


_COUNT_OPTION = {"randomisation": "permutations", "bootstrap": "resamples"}


def _compare_paired(
    subject: Subject, baseline: Floats, candidate: Floats, p: float | None, test: str, level: float, seed: int
) -> Comparison:
    both = ~np.isnan(baseline) & ~np.isnan(candidate)
    baseline, candidate = baseline[both], candidate[both]
    differences = subtract(candidate, baseline)
    spread = difference_intervals.paired_spread(baseline, candidate, subject.kind, seed, subject.q)
    if subject.kind == "quantile":
        p, test = spread.two_sided(), "bootstrap"
    rises, falls = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (falls, rises) if subject.lower_is_better else (rises, falls)
    is_mean = subject.kind in ("mean", "share") and len(differences) > 1
    deviation = float(differences.std(ddof=1)) if is_mean else None
    effect = _share_effect(rises, falls) if subject.kind == "share" else _effect(differences, deviation)
    is_constant = len(differences) > 1 and np.ptp(differences) == 0
    name = (
        "McNemar"
        if subject.kind == "share"
        else "sign"
        if is_constant and test in ("t", "bootstrap")
        else test
    )
    counts = (wins, len(differences) - rises - falls, losses)
    return _build_comparison(subject, baseline, candidate, spread, level, name, p, counts, effect, deviation)


def _compare_unpaired(
    subject: Subject, baseline: Floats, candidate: Floats, level: float, seed: int
) -> Comparison:
    baseline, candidate = baseline[~np.isnan(baseline)], candidate[~np.isnan(candidate)]
    spread = difference_intervals.unpaired_spread(baseline, candidate, subject.kind, seed, subject.q)
    name = {"mean": "Welch", "share": "two shares"}.get(subject.kind, "bootstrap")
    p = two_shares_p(baseline, candidate) if subject.kind == "share" else spread.two_sided()
    counts = (None, None, None)
    return _build_comparison(subject, baseline, candidate, spread, level, name, p, counts, None, None)


def _build_comparison(
    subject: Subject,
    baseline: Floats,
    candidate: Floats,
    spread: Spread,
    level: float,
    test: str,
    p: float | None,
    counts: tuple[int | None, int | None, int | None],
    effect: float | None,
    deviation: float | None,
) -> Comparison:
    before, after = (central_value(v, subject.kind, subject.q) for v in (baseline, candidate))
    value = None if before is None or after is None else subtract_means(after, before)
    n = len(baseline) if counts[0] is not None else len(baseline) + len(candidate)
    ends = spread.interval(level)
    if subject.is_bounded or subject.kind == "share":
        ends = clip_ends(ends)
    return Comparison(
        measure=subject.measure,
        baseline_name="baseline",
        candidate_name="candidate",
        column="",
        value="",
        baseline=before,
        candidate=after,
        difference=Estimate(
            value,
            *ends,
            level,
            n,
            spread.is_narrow and ends[0] is not None,
            isinstance(spread, ResampledSpread),
        ),
        test=test,
        p=p,
        corrected_p=p,
        wins=counts[0],
        ties=counts[1],
        losses=counts[2],
        effect=effect,
        deviation=deviation,
        lower_is_better=subject.lower_is_better,
        spread=spread,
    )


def two_shares_p(baseline: Floats, candidate: Floats) -> float | None:
    """p of a difference between two shares of different queries (pooled z test).

    >>> two_shares_p(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0]))
    1.0
    """
    n, other = len(baseline), len(candidate)
    if min(n, other) < 2:
        return None
    pooled_share = (baseline.sum() + candidate.sum()) / (n + other)
    error = math.sqrt(pooled_share * (1 - pooled_share) * (1 / n + 1 / other))
    gap = abs(float(candidate.mean() - baseline.mean()))
    return math.erfc(gap / error / math.sqrt(2)) if error else 1.0


def p_between_spreads(first: Spread, second: Spread) -> float | None:
    """p of the difference between the differences of two separate slices (Welch); None if unknown."""
    if (
        not isinstance(first, NormalSpread)
        or not isinstance(second, NormalSpread)
        or not first.error * second.error
    ):
        return None
    errors = (first.error**2, second.error**2)
    df_terms = sum(e * e / s.df for e, s in zip(errors, (first, second), strict=True))
    df = sum(errors) ** 2 / df_terms if df_terms else math.inf
    return NormalSpread(first.centre - second.centre, math.sqrt(sum(errors)), df).two_sided()


def _effect(differences: Floats, deviation: float | None) -> float | None:
    """Cohen's d of paired differences; None if they are all equal."""
    if deviation is None or np.ptp(differences) == 0:
        return None
    return float(differences.mean()) / deviation


def _share_effect(rises: int, falls: int) -> float | None:
    """Cohen's g: of the queries that changed, the share that rose, minus 1/2."""
    return rises / (rises + falls) - 0.5 if rises + falls else None
