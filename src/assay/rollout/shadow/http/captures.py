"""Copies of requests and answers while they pass, within a limit of memory."""

from __future__ import annotations

from assay.rollout.shadow.counts import ANSWER_TOO_LARGE, MEMORY_FULL, REQUEST_TOO_LARGE


class Memory:
    """The bytes that all captures hold together."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0

    def take(self, size: int) -> bool:
        """Take bytes; False if there are not so many."""
        if self.used + size > self.limit:
            return False
        self.used += size
        return True

    def free(self, size: int) -> None:
        """Give bytes back."""
        self.used -= size


class Capture:
    """What is kept of a request and its answer while they pass; nothing once `refusal` says why."""

    def __init__(self, limit: int, memory: Memory) -> None:
        self._limit, self._memory, self._held = limit, memory, 0
        self.body, self.answer = bytearray(), bytearray()
        self.refusal = ""

    def add(self, target: bytearray, data: bytes) -> None:
        """Keep a part of the request or of the answer, unless that is too much."""
        if self.refusal:
            return
        if len(target) + len(data) > self._limit:
            self.refuse(REQUEST_TOO_LARGE if target is self.body else ANSWER_TOO_LARGE)
        elif not self._memory.take(len(data)):
            self.refuse(MEMORY_FULL)
        else:
            self._held += len(data)
            target += data

    def refuse(self, reason: str) -> None:
        """Keep nothing more, and forget what was kept."""
        self.refusal = self.refusal or reason
        self.release()

    def release(self) -> None:
        """Give the memory back."""
        self._memory.free(self._held)
        self._held = 0
        self.body, self.answer = bytearray(), bytearray()
