"""Accuracy of answers as a function of the recall of their context, and the recall at which it bends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.stats.intervals import Estimate, estimate_share
from assay.stats.resampling import draw_samples

RESAMPLES = 2000
MINIMUM_LEVELS = 3  # with two there is no bend
_ROUND = 9  # digits of a level of recall


class RecallAnswer(NamedTuple):
    """How correct the answer to a question was with a context of some recall."""

    question_id: str
    recall: float
    correct: float


class CurvePoint(NamedTuple):
    """The answers at one level of recall."""

    recall: float
    accuracy: Estimate
    fitted: Estimate  # by isotonic regression: accuracy does not fall with recall
    relative: Estimate  # the fit, over that at the highest recall

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain data."""
        parts = {name: getattr(self, name).to_dict() for name in ("accuracy", "fitted", "relative")}
        return {"recall": self.recall, **parts}


@dataclass(frozen=True)
class AccuracyCurve:
    """Accuracy against recall, with resamples of the questions, from which all intervals come."""

    points: tuple[CurvePoint, ...]
    questions: int
    level: float
    fits: Floats  # one row for each resample, one column for each point
    gain: Estimate  # the fit at the highest recall less that at the lowest

    @property
    def recalls(self) -> Floats:
        """The levels of recall."""
        return np.array([point.recall for point in self.points], np.float64)

    @property
    def fitted(self) -> Floats:
        """The fit at each level."""
        return np.array([point.fitted.value for point in self.points], np.float64)

    @property
    def depends_on_recall(self) -> bool:
        """Whether the accuracy is shown to rise with recall."""
        return self.gain.low is not None and self.gain.low > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain data."""
        return {
            "questions": self.questions,
            "gain": self.gain.to_dict(),
            "points": [point.to_dict() for point in self.points],
        }


def fit_curve(answers: Iterable[RecallAnswer], level: float = 0.95, seed: int = 0) -> AccuracyCurve | None:
    """Return the accuracy at each level of recall; None without answers.

    Intervals are percentiles over resamples of the questions, since the answers to one question are alike;
    where each question has one answer, that is right or wrong, they are those of a share.

    >>> rows = [RecallAnswer(f"q{n}", r, float(r >= 0.5)) for n in range(20) for r in (0.0, 0.5, 1.0)]
    >>> fit_curve(rows).fitted.tolist()
    [0.0, 1.0, 1.0]
    """
    rows = [(a.question_id, round(a.recall, _ROUND), a.correct) for a in answers]
    if not rows:
        return None
    questions = {key: row for row, key in enumerate(dict.fromkeys(key for key, _, _ in rows))}
    recalls = sorted({recall for _, recall, _ in rows})
    columns = {recall: column for column, recall in enumerate(recalls)}
    sums, counts = np.zeros((2, len(questions), len(recalls)))
    for key, recall, correct in rows:
        sums[questions[key], columns[recall]] += correct
        counts[questions[key], columns[recall]] += 1
    return _curve(sums, counts, recalls, level, seed)


def _curve(sums: Floats, counts: Floats, recalls: Sequence[float], level: float, seed: int) -> AccuracyCurve:
    n = len(sums)
    weights = _sample_weights(n, seed)
    means, numbers = _means(sums.sum(axis=0), counts.sum(axis=0)), counts.sum(axis=0)
    fitted = isotonic_fit(means, numbers)
    sampled_counts = weights @ counts
    sampled_means = _means(weights @ sums, sampled_counts)
    fits = np.array(
        [isotonic_fit(row, count) for row, count in zip(sampled_means, sampled_counts, strict=True)]
    )
    top = fitted[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = fits / fits[:, -1:]
    points = []
    for column, recall in enumerate(recalls):
        size = int((counts[:, column] > 0).sum())
        ratio = float(fitted[column] / top) if top > 0 else None
        points.append(
            CurvePoint(
                recall,
                _share(sums[:, column], counts[:, column], level)
                or _estimate(means[column], sampled_means[:, column], level, size),
                _estimate(fitted[column], fits[:, column], level, size),
                _estimate(ratio, relative[:, column], level, size),
            )
        )
    gain = _estimate(float(fitted[-1] - fitted[0]), fits[:, -1] - fits[:, 0], level, n)
    return AccuracyCurve(tuple(points), n, level, fits, gain)


def _share(sums: Floats, counts: Floats, level: float) -> Estimate | None:
    """Return the share of right answers at a level; None unless each question has one, right or wrong.

    Resamples of equal answers are equal, too: they would say that nothing is uncertain.
    """
    if counts.max() > 1 or not np.isin(sums, (0.0, 1.0)).all():
        return None
    return estimate_share(float(sums.sum()), int(counts.sum()), level)


def _sample_weights(n: int, seed: int) -> Floats:
    """Return how often each question is in each resample."""
    rows = draw_samples(0, RESAMPLES, n, seed) + n * np.arange(RESAMPLES)[:, None]
    return np.bincount(rows.ravel(), minlength=RESAMPLES * n).reshape(RESAMPLES, n).astype(np.float64)


def _means(sums: Floats, counts: Floats) -> Floats:
    means: Floats = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means


def isotonic_fit(values: Floats, weights: Floats) -> Floats:
    """Return the nearest values that do not fall; one without weight takes the value before it.

    >>> isotonic_fit(np.array([0.0, 0.6, 0.4, 1.0]), np.ones(4)).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    from scipy.optimize import isotonic_regression

    has_weight = weights > 0
    if not has_weight.any():
        return np.full(len(values), np.nan)
    fitted = isotonic_regression(values[has_weight], weights=weights[has_weight]).x
    places = np.maximum(np.cumsum(has_weight) - 1, 0)
    result: Floats = fitted[places]
    return result


def _estimate(value: float | None, samples: Floats, level: float, n: int) -> Estimate:
    defined = samples[np.isfinite(samples)]
    if value is None or n < 2 or not len(defined):
        return Estimate(None if value is None else float(value), None, None, level, n)
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(value), float(low), float(high), level, n, is_resampled=True)
