"""Which measures tell what the mean recall does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.vectors import Neighbors
from assay.indexes.study.observed import Observed, Study
from assay.indexes.study.places import places
from assay.indexes.trials import robustness_name

DELTAS = tuple(step / 10 for step in range(1, 11))
PERCENTILES = (1, 5, 10)
FEWEST = 5  # configurations: through two points there is always a line, and near three there often is
SPAN = 0.02  # of mean recall: over less of it, what goes with it is chance


class Information(NamedTuple):
    """How much of a measure the mean recall tells already, across configurations."""

    measure: str
    r2: (
        float | None
    )  # the squared correlation with the mean recall; None: too few, too near, or the measure is constant
    n: int  # configurations


def information(study: Study) -> list[Information]:
    """The r² of each measure against the mean recall."""
    truth = study.data.truth if study.data is not None else None
    told = [(one.recall.value, _measures(one, truth)) for one in study.observed]
    names = dict.fromkeys(name for _, measures in told for name in measures)
    return [_of(name, ((recall, measures.get(name)) for recall, measures in told)) for name in names]


def _of(measure: str, pairs: Iterable[tuple[float | None, float | None]]) -> Information:
    known = np.array([pair for pair in pairs if None not in pair], np.float64).reshape(-1, 2)
    if len(known) < FEWEST or (np.ptp(known, axis=0) < (SPAN - 1e-9, 1e-12)).any():
        return Information(measure, None, len(known))
    return Information(measure, float(np.corrcoef(known[:, 0], known[:, 1])[0, 1] ** 2), len(known))


def _measures(observed: Observed, truth: Neighbors | None) -> dict[str, float | None]:
    """The measures of a configuration, as far as they are known."""
    k = observed.trial.k
    made = {robustness_name(delta, k): observed.robustness(delta).value for delta in DELTAS}
    spread = observed.distribution
    made |= {f"p{p} of R@{k}": spread.percentile(p / 100) if spread else None for p in PERCENTILES}
    made[f"ZeroHit@{k}"] = observed.failure(1 / k).value
    if truth is not None and observed.hits is not None and observed.returned is not None:
        known = observed.hits.out_of > 0
        found = places(observed.returned[known, :k], truth.positions[known, :k])
        made |= _by_rank((found >= 0) & (found < k), observed.hits.out_of[known], k)
    return made


def _by_rank(member: NDArray[np.bool_], relevant: NDArray[np.int64], k: int) -> dict[str, float | None]:
    """AP and nDCG with the K nearest as what is relevant, alike."""
    ranks = np.arange(1, member.shape[1] + 1)
    precision = member.cumsum(axis=1) / ranks
    gains = 1 / np.log2(np.arange(2, k + 2))
    best = gains.cumsum()[relevant - 1]
    ap = (precision * member).sum(axis=1) / relevant
    return {f"AP@{k}": float(ap.mean()), f"nDCG@{k}": float((member @ gains[: len(ranks)] / best).mean())}
