"""The queries that fail everywhere, on one family of indexes, or on one configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.bench.studies.families import family_of_trial
from assay.bench.studies.scored_trial import ScoredTrial


class FailingQueries(NamedTuple):
    """The numbers of the failing queries, by where they fail."""

    everywhere: list[int]  # on every configuration
    families: dict[str, list[int]]  # on all configurations of one family and on no other configuration
    some: dict[str, list[int]]  # on several but not all configurations of one family and on no other
    alone: dict[str, list[int]]  # on a single configuration, by the key of its trial
    mixed: list[int]  # on configurations of several families, but not on all


def find_failing_queries(scored_trials: Sequence[ScoredTrial], delta: float) -> FailingQueries | None:
    """Return where each failing query fails at δ; None if no trial has the recall of single queries."""
    with_hits = [scored_trial for scored_trial in scored_trials if scored_trial.hits is not None]
    if not with_hits:
        return None
    fails = np.array([trial.hits.reaches(delta) == 0 for trial in with_hits if trial.hits is not None])
    kinds = np.array([family_of_trial(scored_trial.trial) for scored_trial in with_hits])
    families = {
        str(kind): _true_positions(fails[kinds == kind].all(axis=0) & ~fails[kinds != kind].any(axis=0))
        for kind in dict.fromkeys(kinds.tolist())
        if not (kinds == kind).all()
    }
    by_family = {kind: fails[kinds == kind] for kind in families}
    family_has_failure = np.array([family_fails.any(axis=0) for family_fails in by_family.values()])
    count, where = fails.sum(axis=0), family_has_failure.reshape(-1, fails.shape[1]).sum(axis=0)
    partial = {
        kind: _true_positions(
            (where == 1) & (count > 1) & family_fails.any(axis=0) & ~family_fails.all(axis=0)
        )
        for kind, family_fails in by_family.items()
    }
    if not by_family:  # only one family: no other to compare with
        partial = {str(kinds[0]): _true_positions((count > 1) & (count < len(with_hits)))}
    single = {
        scored_trial.trial.key: _true_positions(trial_fails & (count == 1) & (len(with_hits) > 1))
        for scored_trial, trial_fails in zip(with_hits, fails, strict=True)
    }
    mixed = _true_positions((where > 1) & (count < len(with_hits)))
    return FailingQueries(_true_positions(count == len(with_hits)), families, partial, single, mixed)


def _true_positions(mask: NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(mask).tolist()
