"""Baseline against candidate: how far apart, how sure, and past which margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assay.core.texts import Floats
from assay.stats import paired as tests
from assay.stats import spreads
from assay.stats.intervals import Estimate, central, logarithms
from assay.stats.spreads import Normal, Spread


class Subject(NamedTuple):
    """What is compared, and how its values for the queries are summed up."""

    measure: str
    kind: str = "mean"
    q: float = 0.5
    lower_is_better: bool = False


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
    corrected: float | None
    wins: int | None  # queries on which the candidate is better; None: the queries are not the same
    ties: int | None
    losses: int | None
    effect: float | None  # d: difference / its standard deviation; of shares g: share of wins - 1/2
    deviation: float | None  # of the differences of the queries; None: the difference is not their mean
    lower_is_better: bool
    spread: Spread = field(repr=False, compare=False)

    @property
    def slice(self) -> str:
        """The slice as it is shown: `category: faq`, or `all`."""
        return f"{self.column}: {self.value}" if self.column else "all"

    @property
    def improvement(self) -> float | None:
        """The difference, above 0 where the candidate is better."""
        value = self.difference.value
        return -value if value is not None and self.lower_is_better else value

    def above(self, margin: float) -> float | None:
        """p against an improvement of no more than the margin; small: it is shown to be more."""
        if not self.lower_is_better:
            return self.spread.below(margin)
        p = self.spread.below(-margin)
        return None if p is None else 1 - p

    def below(self, margin: float) -> float | None:
        """p against an improvement of the margin or more; small: it is shown to be less."""
        p = self.above(margin)
        return None if p is None else 1 - p

    def not_inferior(self, margin: float) -> float | None:
        """p against the candidate being worse by the margin or more (non-inferiority)."""
        return self.above(-margin)

    def equivalent(self, margin: float) -> float | None:
        """p against a difference of the margin or more either way (two one-sided tests)."""
        low, high = self.above(-margin), self.below(margin)
        return None if low is None or high is None else max(low, high)

    def moved(self) -> str | None:
        """`up` or `down` for better or worse where that is shown, after correction."""
        alpha = 1 - self.difference.level
        if self.corrected is None or self.corrected > alpha or not self.improvement:
            return None
        return "up" if self.improvement > 0 else "down"

    def state(self, margin: float) -> str:
        """`same` within the margin, `up` or `down` for better or worse, `open` where nothing is shown."""
        p = self.equivalent(margin)
        if p is not None and p <= 1 - self.difference.level:
            return "same"
        return self.moved() or "open"


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

    Paired, the rows of both are the same queries, and a query counts where both values are defined.
    """
    if not paired:
        return [
            _unpaired(s, b, c, level, seed) for s, b, c in zip(subjects, baseline.T, candidate.T, strict=True)
        ]
    ps = _paired_ps(subjects, baseline, candidate, test, seed, permutations)
    columns = zip(subjects, baseline.T, candidate.T, ps, strict=True)
    return [_paired(s, b, c, p, test, level, seed) for s, b, c, p in columns]


def _paired_ps(
    subjects: Sequence[Subject],
    baseline: Floats,
    candidate: Floats,
    test: str,
    seed: int,
    permutations: int | None,
) -> list[float | None]:
    """p of each column: McNemar's for shares, none yet for quantiles, else the test that was asked for."""
    logs = np.array([s.kind == "geometric" for s in subjects])
    differences = candidate - baseline
    differences[:, logs] = logarithms(candidate[:, logs]) - logarithms(baseline[:, logs])
    options = {"seed": seed} if test in _COUNT else {}
    if test in _COUNT and permutations is not None:
        options[_COUNT[test]] = permutations
    ps = np.full(len(subjects), np.nan)
    shares = np.array([s.kind == "share" for s in subjects])
    others = ~shares & np.array([s.kind != "quantile" for s in subjects])
    if others.any():
        ps[others] = tests.TESTS[test](differences[:, others], **options)
    if shares.any():
        ps[shares] = tests.mcnemar(differences[:, shares])
    return [None if p != p else p for p in ps.tolist()]


_COUNT = {"randomisation": "permutations", "bootstrap": "resamples"}


def _paired(
    subject: Subject, baseline: Floats, candidate: Floats, p: float | None, test: str, level: float, seed: int
) -> Comparison:
    both = ~np.isnan(baseline) & ~np.isnan(candidate)
    baseline, candidate = baseline[both], candidate[both]
    differences = candidate - baseline
    spread = spreads.paired(baseline, candidate, subject.kind, seed, subject.q)
    if subject.kind == "quantile":
        p, test = spread.two_sided(), "bootstrap"
    up, down = int((differences > 0).sum()), int((differences < 0).sum())
    wins, losses = (down, up) if subject.lower_is_better else (up, down)
    summed = subject.kind in ("mean", "share") and len(differences) > 1
    deviation = float(differences.std(ddof=1)) if summed else None
    effect = _share_effect(up, down) if subject.kind == "share" else _effect(differences, deviation)
    flat = len(differences) > 1 and np.ptp(differences) <= 1e-12 * float(np.abs(differences).max())
    name = "McNemar" if subject.kind == "share" else "sign" if flat and test in ("t", "bootstrap") else test
    counts = (wins, len(differences) - up - down, losses)
    return _made(subject, baseline, candidate, spread, level, name, p, counts, effect, deviation)


def _unpaired(subject: Subject, baseline: Floats, candidate: Floats, level: float, seed: int) -> Comparison:
    baseline, candidate = baseline[~np.isnan(baseline)], candidate[~np.isnan(candidate)]
    spread = spreads.unpaired(baseline, candidate, subject.kind, seed, subject.q)
    name = {"mean": "Welch", "share": "two shares"}.get(subject.kind, "bootstrap")
    p = two_shares(baseline, candidate) if subject.kind == "share" else spread.two_sided()
    counts = (None, None, None)
    return _made(subject, baseline, candidate, spread, level, name, p, counts, None, None)


def _made(
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
    before, after = (central(v, subject.kind, subject.q) for v in (baseline, candidate))
    value = None if before is None or after is None else after - before
    n = len(baseline) if counts[0] is not None else len(baseline) + len(candidate)
    low, high = spread.interval(level)
    return Comparison(
        measure=subject.measure,
        baseline_name="baseline",
        candidate_name="candidate",
        column="",
        value="",
        baseline=before,
        candidate=after,
        difference=Estimate(value, low, high, level, n),
        test=test,
        p=p,
        corrected=p,
        wins=counts[0],
        ties=counts[1],
        losses=counts[2],
        effect=effect,
        deviation=deviation,
        lower_is_better=subject.lower_is_better,
        spread=spread,
    )


def two_shares(baseline: Floats, candidate: Floats) -> float | None:
    """p of a difference between two shares of different queries (pooled z test).

    >>> two_shares(np.array([1.0, 0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0, 1.0]))
    1.0
    """
    n, other = len(baseline), len(candidate)
    if min(n, other) < 2:
        return None
    pooled = (baseline.sum() + candidate.sum()) / (n + other)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / other))
    gap = abs(float(candidate.mean() - baseline.mean()))
    return math.erfc(gap / error / math.sqrt(2)) if error else 1.0


def apart(first: Spread, second: Spread) -> float | None:
    """p of a difference between two differences of separate slices (Welch), None where it is unknown."""
    if not isinstance(first, Normal) or not isinstance(second, Normal) or not first.error * second.error:
        return None
    errors = (first.error**2, second.error**2)
    freedom = sum(e * e / s.df for e, s in zip(errors, (first, second), strict=True))
    df = sum(errors) ** 2 / freedom if freedom else math.inf
    return Normal(first.centre - second.centre, math.sqrt(sum(errors)), df).two_sided()


def _effect(differences: Floats, deviation: float | None) -> float | None:
    """Cohen's d of paired differences; None where they are all equal."""
    if deviation is None or deviation <= 1e-12 * float(np.abs(differences).max()):
        return None
    return float(differences.mean()) / deviation


def _share_effect(up: int, down: int) -> float | None:
    """Cohen's g: of the queries that changed sides, the share that rose, less a half."""
    return up / (up + down) - 0.5 if up + down else None
