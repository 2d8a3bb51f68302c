"""What recall to aim for: the levels that the guides give, beside a score and its interval."""

from __future__ import annotations

from typing import NamedTuple

from assay.measures import Measure
from assay.stats import Estimate

LOW, TUNED, HYBRID = 0.70, 0.80, 0.88
RERANKING = (0.02, 0.05)  # what a reranker usually adds
_NOISE = 1e-9  # a mean of 0.8 may be summed to a little less
_REACHED = {HYBRID: "hybrid", TUNED: "tuned", LOW: "below tuned"}


class Standing(NamedTuple):
    """Where a score stands among the levels."""

    reached: str  # hybrid, tuned, below tuned, low, or out of reach
    text: str
    next: float | None  # the level to reach next, None at the highest
    distance: float | None  # how far it is
    held: tuple[float, ...]  # levels inside the interval: both sides of them are possible

    def to_dict(self) -> dict[str, object]:
        """The standing as plain data."""
        return self._asdict() | {"held": list(self.held)}


def standing(measure: Measure, estimate: Estimate, ceiling: float | None = None) -> Standing | None:
    """Where recall in the top 10 stands; None for other measures, for which the guides give no levels.

    The ceiling is what the best ranking there is would have: a level above it says nothing.

    >>> from assay import R
    >>> standing(R @ 10, Estimate(0.83, 0.81, 0.85, 0.95, 300)).text
    'the level of a tuned search (0.80); a hybrid search reaches 0.88: 0.05 more'
    """
    if measure.name not in ("R", "RCap") or measure.cutoff != 10 or estimate.value is None:
        return None
    value = estimate.value
    if ceiling is not None and not _at_least(ceiling, TUNED):
        text = f"none: the best ranking there is has {measure} {ceiling:.4f}; look at RCap@10"
        return Standing("out of reach", text, None, None, ())
    reached = next((name for level, name in _REACHED.items() if _at_least(value, level)), "low")
    above = next((level for level in (TUNED, HYBRID) if not _at_least(value, level)), None)
    held = tuple(level for level in sorted(_REACHED) if _held(level, estimate))
    text = _words(reached, value) + (f"; {_doubt(held)}" if held else "")
    return Standing(reached, text, above, None if above is None else above - value, held)


def _at_least(value: float, level: float) -> bool:
    return value >= level - _NOISE


def _words(reached: str, value: float) -> str:
    """What a value means, and what is next."""
    if reached == "hybrid":
        return f"the level of a hybrid search ({HYBRID:.2f})"
    if reached == "tuned":
        more = f"a hybrid search reaches {HYBRID:.2f}: {HYBRID - value:.2f} more"
        return f"the level of a tuned search ({TUNED:.2f}); {more}"
    away = f"{TUNED - value:.2f} below a tuned search ({TUNED:.2f})"
    if reached == "low":
        return f"{away}; below {LOW:.2f} look at chunking or the embedding model"
    return f"{away}; reranking usually adds {RERANKING[0]:.2f} to {RERANKING[1]:.2f}"


def _held(level: float, estimate: Estimate) -> bool:
    """Whether a level is inside the interval."""
    if estimate.low is None or estimate.high is None:
        return False
    return _at_least(estimate.high, level) and not _at_least(estimate.low, level)


def _doubt(held: tuple[float, ...]) -> str:
    levels = " and ".join(f"{level:.2f}" for level in held)
    return f"the interval holds {levels}: either side is possible"
