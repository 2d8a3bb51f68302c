"""The losses of a search by stage as a table that is kept with its experiment, and read back from it."""

from __future__ import annotations

import numpy as np

from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.evaluation.stage_losses import StageLosses
from assay.store.store import Store

_LOST, _RECALL = "lost: ", "recall: "  # before the names of parts and of checkpoints


def losses_table(losses: StageLosses) -> Scores:
    """Return the losses of each query by part, and its recall at each checkpoint, as one table."""
    parts = {f"{_LOST}{name}": losses.counts[:, at].astype(float) for at, name in enumerate(losses.names)}
    recalls = {f"{_RECALL}{name}": losses.recalls[:, at] for at, name in enumerate(losses.checkpoints)}
    return Scores(losses.query_ids, {**parts, **recalls})


def read_losses(store: Store, experiment: Experiment) -> StageLosses | None:
    """Return the losses of an experiment; None if they are not kept."""
    digest = experiment.digests.get("losses")
    if digest is None or not store.tables.has(digest):
        return None
    table = store.tables.get(digest)
    names = [name for name in table.values if name.startswith(_LOST)]
    checkpoints = [name for name in table.values if name.startswith(_RECALL)]
    empty = np.empty((len(table.query_ids), 0))
    return StageLosses(
        [name.removeprefix(_LOST) for name in names],
        list(table.query_ids),
        np.column_stack([table.values[name] for name in names]).astype(np.int64),
        np.column_stack([empty, *(table.values[name] for name in checkpoints)]),
        [name.removeprefix(_RECALL) for name in checkpoints],
    )
