"""The δ that an application needs: the recall of a query below which its answers become wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.rag.accuracy_curve import MINIMUM_LEVELS, AccuracyCurve, CurvePoint
from assay.stats.intervals import Estimate

BEND, SHARE = "bend", "share"
REMOVED_CURVE, OBSERVED_CURVE = CURVES = "removed", "observed"
TOO_FEW_LEVELS, NO_GAIN, NO_BEND, NOT_REACHED = "too few levels", "no gain", "no bend", "not reached"


@dataclass(frozen=True)
class DeltaChoice:
    """A δ with its interval, by which rule it was chosen, and the evidence."""

    delta: Estimate
    rule: str  # BEND or SHARE
    share: float | None  # of the accuracy of exact search that must be reached; of the rule SHARE
    at: CurvePoint | None  # the answers at δ
    below: CurvePoint | None  # the answers at the level before
    problem: str = ""  # why no δ can be chosen: TOO_FEW_LEVELS, NO_GAIN, NO_BEND or NOT_REACHED
    curve: str = ""  # which curve it was chosen by, one of CURVES

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data."""
        return {
            **self.delta.to_dict(),
            "rule": self.rule,
            "share": self.share,
            "at": self.at and self.at.to_dict(),
            "below": self.below and self.below.to_dict(),
            "problem": self.problem,
            "curve": self.curve,
        }


def choose_delta(curve: AccuracyCurve, share: float | None = None) -> DeltaChoice:
    """Return the δ of a curve: where it bends, or the least recall with that share of the best accuracy.

    The curve bends where it has risen most above the straight line from its lowest to its highest recall:
    before that point a little recall changes many answers, after it few (Satopää et al. 2011). The interval
    has the bends of resamples of the questions.
    """
    rule = BEND if share is None else SHARE
    problem = _problem(curve)
    place = None if problem else _place(curve.recalls, curve.fitted, share)
    if place is not None and share is None and not _is_bent(curve, place):
        place, problem = None, NO_BEND
    if place is None:
        nothing = Estimate(None, None, None, curve.level, curve.questions)
        return DeltaChoice(nothing, rule, share, None, None, problem or NOT_REACHED)
    places = [_place(curve.recalls, fit, share) for fit in curve.fits]
    found = curve.recalls[[p for p in places if p is not None]]
    tail = (1 - curve.level) / 2
    low, high = np.quantile(found, [tail, 1 - tail], method="nearest") if len(found) else (None, None)
    value = float(curve.recalls[place])
    delta = Estimate(
        value,
        None if low is None else min(value, float(low)),
        None if high is None else max(value, float(high)),
        curve.level,
        curve.questions,
        is_resampled=True,
    )
    return DeltaChoice(delta, rule, share, curve.points[place], curve.points[place - 1] if place else None)


def _problem(curve: AccuracyCurve) -> str:
    if len(curve.points) < MINIMUM_LEVELS:
        return TOO_FEW_LEVELS
    return "" if curve.depends_on_recall else NO_GAIN


def _place(recalls: Floats, fit: Floats, share: float | None) -> int | None:
    """Return the place of δ among the levels; None if the fit does not rise, or never reaches the share."""
    if not np.isfinite(fit).all() or fit[-1] <= 0:
        return None
    if share is not None:
        reached = np.flatnonzero(fit >= share * fit[-1] - 1e-12)
        return int(reached[0]) if len(reached) else None
    if fit[-1] <= fit[0]:
        return None
    return int(np.argmax(np.round(_above_line(recalls, fit), 9)))


def _above_line(recalls: Floats, fit: Floats) -> Floats:
    """Return how far a fit lies above the straight line between its ends, as a share of its rise."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rise = (fit - fit[..., :1]) / (fit[..., -1:] - fit[..., :1])
    above: Floats = rise - (recalls - recalls[0]) / (recalls[-1] - recalls[0])
    return above


def _is_bent(curve: AccuracyCurve, place: int) -> bool:
    """Return whether the curve is shown to lie above the straight line at its bend."""
    above = _above_line(curve.recalls, curve.fits)[:, place]
    return bool(np.quantile(above[np.isfinite(above)], (1 - curve.level) / 2) > 0)
