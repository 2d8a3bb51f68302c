"""The order of a run by its scores, and a run whose scores are ordered in another way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from assay.core.arrays import Floats
from assay.core.groups import RunBlocks, Segments


@dataclass(frozen=True, kw_only=True)
class ScoreOrder:
    """How scores order the documents of a query: as doubles, the highest first, unless set otherwise."""

    lower_is_better: bool = False  # the scores are distances or costs
    single_precision: bool = False  # scores that are equal as 32-bit floats are ties, as in trec_eval 9

    def apply(self, run: RunBlocks) -> RunBlocks:
        """Return a run with the same documents in this order."""
        return run if self == ScoreOrder() else ReorderedRun(run, self)

    def convert(self, scores: Floats) -> Floats:
        """Return numbers that have this order if the highest is the first.

        >>> ScoreOrder(lower_is_better=True).convert(np.array([0.25, 0.5])).tolist()
        [-0.25, -0.5]
        """
        if self.single_precision:
            with np.errstate(over="ignore"):  # a score beyond the range of 32-bit floats is infinite
                scores = scores.astype(np.float32).astype(np.float64)
        return -scores if self.lower_is_better else scores


class WrappedRun:
    """A run whose blocks pass through `convert_blocks`."""

    def __init__(self, run: RunBlocks) -> None:
        self._run, self.name, self.tag, self.rank_changes = run, run.name, run.tag, run.rank_changes

    def blocks(self) -> Iterator[Segments]:
        """Return the blocks of the run."""
        return self.convert_blocks(self._run.blocks())

    def blocks_in_memory(self) -> Iterator[Segments]:
        """Return the blocks of the run after it has been read into memory."""
        return self.convert_blocks(self._run.blocks_in_memory())

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return these blocks, changed or observed."""
        raise NotImplementedError


class ReorderedRun(WrappedRun):
    """A run whose scores are converted, so that the highest is the first in another order."""

    def __init__(self, run: RunBlocks, order: ScoreOrder) -> None:
        super().__init__(run)
        self._order = order
        if order.lower_is_better:
            self.rank_changes = run.rank_changes.reversed()

    def convert_blocks(self, blocks: Iterable[Segments]) -> Iterator[Segments]:
        """Return the blocks with converted scores."""
        return (block.with_values(self._order.convert(block.values)) for block in blocks)
