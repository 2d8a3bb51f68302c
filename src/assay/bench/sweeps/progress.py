"""The progress of a sweep, as reported to a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class TrialFigures(NamedTuple):
    """The figures of a trial while a sweep is running; None if unknown."""

    recall: float | None = None
    qps: float | None = None
    p50_ms: float | None = None


class Progress(NamedTuple):
    """A step of a sweep, reported to the progress callback."""

    kind: str  # known, building, matching, matched, skipped, built, passing, passed, done, failed
    key: str
    number: int = 0  # number of the repetition, from 1
    message: str = ""
    figures: TrialFigures | None = None  # of the passes so far, if passed


ProgressCallback = Callable[[Progress], None]
