"""How far a long piece of work is, for a person who watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator

from assay.core.groups import Blocks, Segments

_PATIENCE = 1.0  # seconds before a word is said
_PAUSE = 0.2  # seconds between two


class Watched:
    """A run that says on standard error how many of its rows were scored, if that takes long."""

    def __init__(self, run: Blocks) -> None:
        self._run, self.name = run, run.name

    def blocks(self) -> Iterator[Segments]:
        """The pieces of the run."""
        return self._counted(self._run.blocks())

    def gathered(self) -> Iterator[Segments]:
        """The pieces of the run, gathered first."""
        return self._counted(self._run.gathered())

    def _counted(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        rows, said, begin = 0, False, time.monotonic()
        due = begin + _PATIENCE
        for block in blocks:
            yield block
            rows += len(block)
            if time.monotonic() > due:
                rate = rows / (time.monotonic() - begin)
                print(
                    f"\r{self.name}: {rows:,} rows, {rate:,.0f}/s", end="\033[K", file=sys.stderr, flush=True
                )
                due, said = time.monotonic() + _PAUSE, True
        if said:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
