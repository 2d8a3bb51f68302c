"""Jobs in words: their state, how far they are and how long that takes."""

from __future__ import annotations

_STATES = {
    "waiting": "waits for its worker",
    "running": "running",
    "stopping": "stopping: what is finished is kept",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled: what was finished is kept",
    "interrupted": "its worker ended without a word: resume it",
}
_LEAST_SHARE = 0.02  # of the work that must be done before the rest is estimated


def describe_state(state: str) -> str:
    """Return the state of a job in words."""
    return _STATES.get(state, state)


def describe_progress(done: int | None, total: int | None, phase: str, seconds: float) -> str:
    """Return how far a job is, and how long the rest takes at this speed.

    >>> describe_progress(9, 15, "trials", 90)
    '9 of 15 trials · about 1 min left'
    >>> describe_progress(1200, None, "rows scored", 2)
    '1,200 rows scored'
    """
    if done is None:
        return phase
    if not total:
        return f"{done:,} {phase}"
    rest = seconds * (total - done) / done if done and done / total >= _LEAST_SHARE else None
    left = f" · about {format_seconds(rest)} left" if rest and total > done else ""
    return f"{done:,} of {total:,} {phase}{left}"


def format_seconds(seconds: float) -> str:
    """Return a duration in words.

    >>> format_seconds(4.2), format_seconds(100), format_seconds(7300)
    ('4 s', '1 min 40 s', '2 h 1 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
