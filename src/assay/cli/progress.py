"""Progress of a run that is being read, for a person at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.groups import RunBlocks, Segments
from assay.core.score_order import WrappedRun

_FIRST_REPORT_SECONDS = 1.0  # before the first report
_REPORT_SECONDS = 0.2  # between two reports


def watch_run(run: RunBlocks) -> RunBlocks:
    """Report the progress of a run if standard error is a terminal."""
    return WatchedRun(run) if sys.stderr.isatty() else run


@contextmanager
def note_when_interrupted(folder: str, results: str) -> Iterator[None]:
    """After Ctrl-C, say that the results so far are stored in a folder and how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        if Path(folder).is_dir():
            note = f"{results} are stored in {folder}: the same command continues from there"
            print(note, file=sys.stderr)
        raise


class WatchedRun(WrappedRun):
    """A run that reports on standard error how many of its rows were scored, if it takes long."""

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return the blocks, and count their rows."""
        rows, has_reported, begin = 0, False, time.monotonic()
        due = begin + _FIRST_REPORT_SECONDS
        for block in blocks:
            yield block
            rows += len(block)
            if time.monotonic() > due:
                rate = rows / (time.monotonic() - begin)
                line = f"\r{self.name}: {rows:,} rows, {rate:,.0f}/s"
                print(line, end="\033[K", file=sys.stderr, flush=True)
                due, has_reported = time.monotonic() + _REPORT_SECONDS, True
        if has_reported:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
