"""What requests that score runs have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.groups import RunBlocks
from assay.core.score_order import ScoreOrder
from assay.evaluation.evaluate import DEFAULT_ORDER
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import digest_runs


@dataclass(frozen=True, kw_only=True)
class ScoringRequest:
    """The files of a request, how its runs are scored, and what is recorded of them."""

    files: TableFiles
    by: Sequence[str] = ()  # the columns to slice by
    level: float = 0.95
    seed: int = 0
    order: ScoreOrder = DEFAULT_ORDER  # in which scores order documents
    config: Sequence[str] = ()  # the configuration file of each run
    params: Sequence[str] = ()  # KEY=VALUE or RUN:KEY=VALUE, beside the files
    with_recordings: bool = False  # prepare what `save` records
    with_digests: bool = False  # compute the digests of the inputs, for a page

    def prepare_runs(self, runs: list[RunBlocks]) -> list[RunBlocks]:
        """Return runs whose digests and first documents are collected if they are recorded or shown."""
        return digest_runs(runs, self.order) if self.with_recordings or self.with_digests else runs
