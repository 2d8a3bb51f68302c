"""Whether offline differences predict online ones, over past tests that measured both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.stats.distributions import normal_quantile
from assay.stats.errors_in_variables import MeasuredLine, fit_line
from assay.stats.intervals import Estimate, estimate_share
from assay.stats.rank_correlation import kendall, spearman, spearman_rows

LEAST_TESTS = 5  # below it, no rank correlation differs from none
PERMUTATIONS = 10_000
_RESAMPLES = 2000


class DifferencePair(NamedTuple):
    """The offline and the online difference of one test by one offline measure; above 0 is better."""

    test: str
    measure: str
    offline: Estimate
    online: Estimate

    @property
    def is_reversal(self) -> bool:
        """Whether the candidate won offline and lost online, both shown by their intervals."""
        return (self.offline.low or 0) > 0 and (self.online.high or 0) < 0

    @property
    def is_decided(self) -> bool:
        """Whether both intervals exclude zero."""
        return all(_excludes_zero(e) for e in (self.offline, self.online))

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as plain data."""
        sides = {"offline": self.offline.to_dict(), "online": self.online.to_dict()}
        return {"test": self.test, "measure": self.measure, **sides, "is_reversal": self.is_reversal}


def _excludes_zero(e: Estimate) -> bool:
    return (e.low is not None and e.low > 0) or (e.high is not None and e.high < 0)


@dataclass(frozen=True)
class MeasurePrediction:
    """How well the differences of one offline measure predict the online ones; None: too few tests."""

    measure: str
    n: int
    spearman: Estimate
    kendall: Estimate
    sign_agreement: Estimate
    decided_agreement: Estimate  # of the tests whose intervals both exclude zero
    line: MeasuredLine

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as plain data."""
        return {
            "measure": self.measure,
            "n": self.n,
            "spearman": self.spearman.to_dict(),
            "kendall": self.kendall.to_dict(),
            "sign_agreement": self.sign_agreement.to_dict(),
            "decided_agreement": self.decided_agreement.to_dict(),
            "calibration": {
                "slope": self.line.slope.to_dict(),
                "intercept": self.line.intercept.to_dict(),
                "reliability": self.line.reliability,
                "scatter": self.line.scatter,
                "method": "moments with known errors (Fuller 1987)",
            },
        }


@dataclass(frozen=True)
class BestMeasure:
    """The measure with the highest rank correlation, and how much of that is due to the choice."""

    measure: str
    measures: int  # among which it was chosen
    n: int  # tests that have all of these measures
    p: float  # of the highest of all correlations, by permutation
    chosen_share: float  # of resamples of the tests in which it is the best, too
    left_out_agreement: Estimate  # of signs, each by the measure that is best on the other tests
    left_out_r2: float | None  # of the left-out differences by their predictions; below 0: worse than a mean
    left_out_choices: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data."""
        left_out = {
            "sign_agreement": self.left_out_agreement.to_dict(),
            "r2": self.left_out_r2,
            "choices": dict(self.left_out_choices),
        }
        head = {"measure": self.measure, "measures": self.measures, "n": self.n, "p": self.p}
        return {**head, "chosen_share": self.chosen_share, "leave_one_out": left_out}


@dataclass(frozen=True)
class Prediction:
    """Whether offline differences predict online ones, by measure."""

    pairs: Sequence[DifferencePair]
    measures: Sequence[MeasurePrediction]
    best: BestMeasure | None  # None: fewer than two measures or too few tests that have them all
    level: float = 0.95
    least_tests: int = field(default=LEAST_TESTS)

    @cached_property
    def tests(self) -> list[str]:
        """The names of the tests, in their order."""
        return list(dict.fromkeys(pair.test for pair in self.pairs))

    @property
    def is_decidable(self) -> bool:
        """Whether any measure has enough tests."""
        return any(m.spearman.value is not None for m in self.measures)

    @property
    def reversals(self) -> dict[str, list[DifferencePair]]:
        """The tests whose candidate won offline and lost online, with the measures by which it won."""
        reversals: dict[str, list[DifferencePair]] = {}
        for pair in self.pairs:
            if pair.is_reversal:
                reversals.setdefault(pair.test, []).append(pair)
        return reversals

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as plain data."""
        return {
            "tests": len(self.tests),
            "least_tests": self.least_tests,
            "measures": [m.to_dict() for m in self.measures],
            "best": None if self.best is None else self.best.to_dict(),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def assess_prediction(pairs: Sequence[DifferencePair], level: float = 0.95, seed: int = 0) -> Prediction:
    """Return how well each offline measure predicts the online differences, and which predicts best."""
    by_measure: dict[str, list[DifferencePair]] = {}
    for pair in pairs:
        if pair.offline.value is not None and pair.online.value is not None:
            by_measure.setdefault(pair.measure, []).append(pair)
    measures = [_assess_measure(measure, rows, level) for measure, rows in by_measure.items()]
    return Prediction(pairs, measures, _choose_best(by_measure, level, seed), level)


def _assess_measure(measure: str, rows: Sequence[DifferencePair], level: float) -> MeasurePrediction:
    n = len(rows)
    if n < LEAST_TESTS:
        nothing = Estimate(None, None, None, level, n)
        line = MeasuredLine(nothing, nothing, None, None)
        return MeasurePrediction(measure, n, nothing, nothing, nothing, nothing, line)
    x, y = (_values([getattr(row, side) for row in rows]) for side in ("offline", "online"))
    x_errors, y_errors = (
        _standard_errors([getattr(row, side) for row in rows]) for side in ("offline", "online")
    )
    is_decided = np.array([row.is_decided for row in rows])
    return MeasurePrediction(
        measure,
        n,
        spearman(x, y, level),
        kendall(x, y, level),
        _agreement(x, y, level),
        _agreement(x[is_decided], y[is_decided], level),
        fit_line(x, y, x_errors, y_errors, level),
    )


def _agreement(x: Floats, y: Floats, level: float) -> Estimate:
    """Return the share of pairs with the same sign; pairs with a difference of zero are left out."""
    has_sign = (x != 0) & (y != 0)
    same = np.sign(x[has_sign]) == np.sign(y[has_sign])
    return estimate_share(float(same.sum()), len(same), level)


def _values(estimates: Sequence[Estimate]) -> Floats:
    return np.array([e.value for e in estimates], np.float64)


def _standard_errors(estimates: Sequence[Estimate]) -> Floats:
    """Return the standard errors that the widths of the intervals imply; an unknown one counts as 0."""
    return np.array([_standard_error(e) for e in estimates], np.float64)


def _standard_error(e: Estimate) -> float:
    if e.low is None or e.high is None:
        return 0.0
    return (e.high - e.low) / (2 * normal_quantile(0.5 + e.level / 2))


def _choose_best(
    by_measure: Mapping[str, Sequence[DifferencePair]], level: float, seed: int
) -> BestMeasure | None:
    """Return the measure with the highest correlation, of the tests that have all measures."""
    names = [name for name, rows in by_measure.items() if len(rows) >= LEAST_TESTS]
    if len(names) < 2:
        return None
    values = {name: {row.test: row for row in by_measure[name]} for name in names}
    tests = [test for test in values[names[0]] if all(test in values[name] for name in names)]
    if len(tests) < LEAST_TESTS:
        return None
    x = np.array([_values([values[name][test].offline for test in tests]) for name in names])
    y = _values([values[names[0]][test].online for test in tests])
    correlations = _correlations(x, y)
    if np.isnan(correlations).all():
        return None
    best = int(np.nanargmax(correlations))
    choices, predictions, signs = _leave_one_out(x, y)
    return BestMeasure(
        names[best],
        len(names),
        len(tests),
        _permutation_p(x, y, float(correlations[best]), seed),
        _chosen_share(x, y, best, seed),
        _agreement(signs, y, level),
        _explained(y, predictions),
        dict(Counter(names[choice] for choice in choices)),
    )


def _correlations(x: Floats, y: Floats) -> Floats:
    """Return Spearman's ρ of each row of x with y."""
    return spearman_rows(x, np.broadcast_to(y, x.shape))


def _permutation_p(x: Floats, y: Floats, best: float, seed: int) -> float:
    """Return how often the highest correlation of all measures is as high when tests are shuffled."""
    orders = _orders(len(y), seed)
    measures, online = _standardized_ranks(x), _standardized_ranks(y[None])[0]
    highest = (online[orders] @ measures[~np.isnan(measures).any(axis=1)].T).max(axis=1)
    hits, count = int((highest >= best - 1e-12).sum()), len(orders)
    return hits / count if count == factorial(len(y)) else (hits + 1) / (count + 1)


def _standardized_ranks(rows: Floats) -> Floats:
    """Return the ranks of each row so that products are correlations; NaN without variation."""
    from scipy.stats import rankdata

    ranks = rankdata(rows, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled: Floats = centred / np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return scaled


def _orders(n: int, seed: int) -> Ints:
    """Return all orders of n tests, or as many random ones as are drawn."""
    if factorial(n) <= PERMUTATIONS:
        return np.array(list(permutations(range(n))))
    generator = np.random.default_rng(seed)
    return np.argsort(generator.random((PERMUTATIONS, n)), axis=1)


def _chosen_share(x: Floats, y: Floats, best: int, seed: int) -> float:
    """Return the share of resamples of the tests in which a measure is the best."""
    draws = np.random.default_rng(seed).integers(0, len(y), (_RESAMPLES, len(y)))
    rho = np.array([spearman_rows(row[draws], y[draws]) for row in x])
    usable = rho[:, ~np.isnan(rho).all(axis=0)]
    if not usable.shape[1]:
        return 0.0
    return float((np.nanargmax(usable, axis=0) == best).mean())


def _leave_one_out(x: Floats, y: Floats) -> tuple[list[int], Floats, Floats]:
    """Return for each test the measure that is best on the others, its prediction, and its own value."""
    choices, predictions, signs = [], [], []
    for place in range(len(y)):
        others = np.arange(len(y)) != place
        correlations = _correlations(x[:, others], y[others])
        choice = 0 if np.isnan(correlations).all() else int(np.nanargmax(correlations))
        chosen = x[choice]
        choices.append(choice)
        predictions.append(_predict(chosen[others], y[others], float(chosen[place])))
        signs.append(float(chosen[place]))
    return choices, np.array(predictions), np.array(signs)


def _predict(x: Floats, y: Floats, at: float) -> float:
    """Return the value of the least-squares line: the best prediction from a measured difference."""
    if np.ptp(x) == 0:
        return float(y.mean())
    slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1))
    return float(y.mean()) + slope * (at - float(x.mean()))


def _explained(y: Floats, predictions: Floats) -> float | None:
    """Return 1 - the squared errors of predictions over those of the mean of the other tests."""
    n = len(y)
    means = (y.sum() - y) / (n - 1)
    total = float(((y - means) ** 2).sum())
    return None if total == 0 else 1 - float(((y - predictions) ** 2).sum()) / total
