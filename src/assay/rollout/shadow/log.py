"""The log of a shadow: UBI as JSON lines, written by a thread of its own and bounded in memory."""

from __future__ import annotations

import fcntl
import json
import os
import queue
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from assay.core.errors import InputError, StoreError
from assay.core.timing import error_text
from assay.rollout.shadow.counts import ShadowCounts
from assay.rollout.shadow.records import Exchange, counts_record

_MAX_WAITING = 1000  # exchanges that wait to be written
_BATCH = 100
_COUNTS_SECONDS = 60.0  # the counts are written so often, and at the end


class ShadowLog:
    """Writes exchanges to a file, each whole or not at all; a caller never waits for the disk.

    `{pid}` in the name of the file is the number of the process, for services of several processes.
    """

    def __init__(self, path: str | os.PathLike[str], counts: ShadowCounts | None = None) -> None:
        self.path = Path(str(path).replace("{pid}", str(os.getpid())))
        self.counts = counts or ShadowCounts()
        self.error = ""  # why lines could not be written, the last time
        self.extra_counts: Mapping[str, Any] = {}  # what another process counted
        self._run = os.urandom(8).hex()
        self._waiting: queue.Queue[Exchange | None] = queue.Queue(_MAX_WAITING)
        self._descriptor = _open(self.path)
        self._is_closed = False
        self._thread = Thread(target=self._write, name="shadow-log", daemon=True)
        self._thread.start()

    def put(self, exchange: Exchange) -> bool:
        """Hand an exchange to the writer; False if it cannot take it, which is counted."""
        try:
            if not self._is_closed:
                self._waiting.put_nowait(exchange)
                return True
        except queue.Full:
            pass
        self.counts.add_log_dropped()
        return False

    @property
    def is_full(self) -> bool:
        """Whether the log cannot take another exchange now."""
        return self._waiting.full()

    def close(self) -> None:
        """Write what waits and the counts; afterwards the file is complete on the disk."""
        if self._is_closed:
            return
        self._is_closed = True
        self._waiting.put(None)
        self._thread.join()
        self._append([counts_record(self._run, self._all_counts())])
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def _all_counts(self) -> dict[str, Any]:
        return {**self.counts.to_dict(), **self.extra_counts}

    def _write(self) -> None:
        due = monotonic() + _COUNTS_SECONDS
        while batch := self._next_batch():
            exchanges = [exchange for exchange in batch if exchange is not None]
            self._append_exchanges(exchanges)
            if monotonic() > due:
                due = monotonic() + _COUNTS_SECONDS
                self._append([counts_record(self._run, self._all_counts())])
            if len(exchanges) < len(batch):
                return

    def _next_batch(self) -> list[Exchange | None]:
        """Wait for an exchange, and take what else is there."""
        batch = [self._waiting.get()]
        while batch[-1] is not None and len(batch) < _BATCH and not self._waiting.empty():
            batch.append(self._waiting.get())
        return batch

    def _append_exchanges(self, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            if self._append(exchange.to_records()):
                self.counts.add_logged()
            else:
                self.counts.add_log_dropped()

    def _append(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Write lines; a part of them that a full disk accepted is taken back."""
        lines = "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records).encode()
        size = os.fstat(self._descriptor).st_size
        try:
            while lines:
                lines = lines[os.write(self._descriptor, lines) :]
            return True
        except OSError as error:
            self.error = error_text(error)
            os.ftruncate(self._descriptor, size)
            return False


def _open(path: Path) -> int:
    """Open a log to add to it, behind a line that a killed process left incomplete."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error}); name another file") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(
            f"{path}: another process writes this log; name another file, or put {{pid}} in its name"
        ) from None
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")
    return descriptor
