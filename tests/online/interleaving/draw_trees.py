"""All outcomes of a function that draws, with their chances: what it does on average, exactly."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from unittest.mock import patch

from assay.online.interleaving import lists
from assay.online.interleaving.draws import RequestDraws

Outcome = TypeVar("Outcome")


class ScriptedDraws(RequestDraws):
    """Draws that follow a script, and then take the first outcome."""

    script: Sequence[int] = ()
    branches: list[list[float]]  # the chances of the outcomes of each draw

    def position(self, n: int) -> int:
        return self._take([1 / n] * n)

    def choose(self, weights: Sequence[float]) -> int:
        return self._take([weight / sum(weights) for weight in weights])

    def _take(self, chances: list[float]) -> int:
        place = len(self.branches)
        self.branches.append(chances)
        return self.script[place] if place < len(self.script) else 0


def all_outcomes(build: Callable[[], Outcome]) -> Iterator[tuple[float, Outcome]]:
    """Yield each outcome of a function that builds a list, with its chance."""
    waiting: list[list[int]] = [[]]
    while waiting:
        script = waiting.pop()
        branches: list[list[float]] = []
        own = type("Draws", (ScriptedDraws,), {"script": script, "branches": branches})
        with patch.object(lists, "RequestDraws", own):
            outcome = build()
        taken = [*script, *[0] * (len(branches) - len(script))]
        chance = 1.0
        for place, (draw, chances) in enumerate(zip(taken, branches, strict=True)):
            chance *= chances[draw]
            if place >= len(script):
                waiting += [[*taken[:place], other] for other in range(1, len(chances))]
        yield chance, outcome
