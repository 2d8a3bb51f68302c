"""What became of every request: mirrored, or not, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

# why the candidate did not receive a request
NOT_SAMPLED, NOT_IDEMPOTENT = "not sampled", "not idempotent"
QUEUE_FULL, MEMORY_FULL = "queue full", "memory full"
REQUEST_TOO_LARGE, ANSWER_TOO_LARGE = "request too large", "answer too large"
PRIMARY_FAILED, CLIENT_LEFT = "primary failed", "client left"
CLOSING, FAULT, PROCESS_ENDED = "closing", "fault of the shadow", "shadow process ended"
REASONS = (
    *(NOT_SAMPLED, NOT_IDEMPOTENT, QUEUE_FULL, MEMORY_FULL, REQUEST_TOO_LARGE, ANSWER_TOO_LARGE),
    *(PRIMARY_FAILED, CLIENT_LEFT, CLOSING, FAULT, PROCESS_ENDED),
)
CHOSEN = (NOT_SAMPLED, NOT_IDEMPOTENT)  # left out by the settings; the others are drops


class ShadowCounts:
    """Counts that any thread may add to.

    Every request is either mirrored or left out for one of REASONS, so `requests` is the sum of them.

    >>> counts = ShadowCounts()
    >>> counts.add_request(), counts.add_mirrored(), counts.add_request(), counts.leave_out("queue full")
    (None, None, None, None)
    >>> counts.to_dict()
    {'requests': 2, 'mirrored': 1, 'left_out': {'queue full': 1}, 'logged': 0, 'log_dropped': 0, 'late': 0}
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def add_request(self) -> None:
        """Count a request that the primary received."""
        self._add("requests")

    def add_mirrored(self) -> None:
        """Count a request that the candidate is to receive, too."""
        self._add("mirrored")

    def add_logged(self) -> None:
        """Count a request whose answers were handed to the log."""
        self._add("logged")

    def add_log_dropped(self) -> None:
        """Count a request whose answers the log could not take."""
        self._add("log_dropped")

    def add_late(self) -> None:
        """Count a call that ended after its time, when it had been logged as a timeout."""
        self._add("late")

    def _add(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1

    def leave_out(self, reason: str) -> None:
        """Count a request that the candidate does not receive."""
        with self._lock:
            self._left_out[reason] += 1

    def to_dict(self) -> dict[str, int | dict[str, int]]:
        """Return the counts as plain data."""
        with self._lock:
            numbers = {name: self._counts[name] for name in ("requests", "mirrored")}
            left_out = {reason: self._left_out[reason] for reason in REASONS if self._left_out[reason]}
            rest = {name: self._counts[name] for name in ("logged", "log_dropped", "late")}
        return {**numbers, "left_out": left_out, **rest}


def drop_count(left_out: Mapping[str, int]) -> int:
    """Return how many requests were dropped, which is more than the settings ask for."""
    return sum(count for reason, count in left_out.items() if reason not in CHOSEN)
