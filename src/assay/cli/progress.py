"""How far a long piece of work is, for a person who watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Self

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


class Counted:
    """Work of which so many parts are done; it is told on standard error, if that takes long."""

    def __init__(self, name: str) -> None:
        self.name, self._said = name, False
        self._begin = time.monotonic()
        self._due = self._begin + _PATIENCE

    def __call__(self, done: int, total: int) -> None:
        """So many of the parts are done."""
        now = time.monotonic()
        if now < self._due or not done:
            return
        left = (now - self._begin) * (total - done) / done
        said = f"\r{self.name}: {done:,} of {total:,}, {left:,.0f} s left"
        print(said, end="\033[K", file=sys.stderr, flush=True)
        self._due, self._said = now + _PAUSE, True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._said:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
