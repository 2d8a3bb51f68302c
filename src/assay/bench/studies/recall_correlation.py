"""The correlation of measures with mean recall: a low one shows what mean recall hides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.studies.truth_ranks import truth_ranks
from assay.bench.trials import robustness_name
from assay.core.vectors import Neighbors

DELTAS = tuple(step / 10 for step in range(1, 11))
PERCENTILES = (1, 5, 10)
MINIMUM_CONFIGURATIONS = 5  # a line fits two points always and three points often
MINIMUM_RECALL_RANGE = 0.02  # over a smaller range a correlation with mean recall is chance
RECALL_RANGE = (0.7, 0.95)  # mean recalls of configurations that people use (arXiv 2507.00379, section 4)


class RecallCorrelation(NamedTuple):
    """The correlation of a measure with the mean recall across configurations."""

    measure: str
    # The squared correlation; None: too few or too similar configurations, or a constant measure.
    r2: float | None
    n: int  # number of configurations


def trials_in_range(
    scored_trials: Iterable[ScoredTrial], recall_range: tuple[float, float]
) -> list[ScoredTrial]:
    """Return the trials whose mean recall lies in a range, with its ends."""
    low, high = recall_range
    return [one for one in scored_trials if low - 1e-9 <= (one.recall.value or 0.0) <= high + 1e-9]


def recall_correlations(
    study: Study, recall_range: tuple[float, float] = RECALL_RANGE
) -> list[RecallCorrelation]:
    """Return the r² of each measure with the mean recall, over the configurations in a range of it."""
    truth = study.data.truth if study.data is not None else None
    rows = [
        (scored_trial.recall.value, _measures(scored_trial, truth))
        for scored_trial in trials_in_range(study.scored_trials, recall_range)
    ]
    names = dict.fromkeys(name for _, measures in rows for name in measures)
    return [_correlate(name, ((recall, measures.get(name)) for recall, measures in rows)) for name in names]


def _correlate(measure: str, pairs: Iterable[tuple[float | None, float | None]]) -> RecallCorrelation:
    values = np.array([pair for pair in pairs if None not in pair], np.float64).reshape(-1, 2)
    minimum_ranges = (MINIMUM_RECALL_RANGE - 1e-9, 1e-12)
    if len(values) < MINIMUM_CONFIGURATIONS or (np.ptp(values, axis=0) < minimum_ranges).any():
        return RecallCorrelation(measure, None, len(values))
    correlation = np.corrcoef(values[:, 0], values[:, 1])[0, 1]
    return RecallCorrelation(measure, float(correlation**2), len(values))


def _measures(scored_trial: ScoredTrial, truth: Neighbors | None) -> dict[str, float | None]:
    """Return the known measures of a configuration."""
    k = scored_trial.trial.k
    measures = {robustness_name(delta, k): scored_trial.robustness(delta).value for delta in DELTAS}
    distribution = scored_trial.distribution
    reported = scored_trial.trial.reported
    measures |= {
        f"p{p} of R@{k}": distribution.percentile(p / 100)
        if distribution
        else reported.get(f"p{p} of recall")
        for p in PERCENTILES
    }
    measures |= {name: reported[name] for name in _rank_names(k) if name in reported}
    measures[f"ZeroHit@{k}"] = scored_trial.failure(1 / k).value
    if truth is not None and scored_trial.hits is not None and scored_trial.returned_ids is not None:
        has_truth = scored_trial.hits.out_of > 0
        ranks = truth_ranks(scored_trial.returned_ids[has_truth, :k], truth.positions[has_truth, :k])
        measures |= _rank_measures((ranks >= 0) & (ranks < k), scored_trial.hits.out_of[has_truth], k)
    return measures


def _rank_names(k: int) -> tuple[str, str, str]:
    """Return the names of the measures of ranking."""
    return f"AP@{k}", f"nDCG@{k}", f"RR@{k}"


def _rank_measures(
    is_member: NDArray[np.bool_], relevant: NDArray[np.int64], k: int
) -> dict[str, float | None]:
    """Return AP, nDCG and RR with the K nearest neighbors as equally relevant."""
    ranks = np.arange(1, is_member.shape[1] + 1)
    precision = is_member.cumsum(axis=1) / ranks
    gains = 1 / np.log2(np.arange(2, k + 2))
    ideal = gains.cumsum()[relevant - 1]
    ap = (precision * is_member).sum(axis=1) / relevant
    ndcg = is_member @ gains[: len(ranks)] / ideal
    rr = is_member.any(axis=1) / (is_member.argmax(axis=1) + 1)
    return dict(zip(_rank_names(k), (float(values.mean()) for values in (ap, ndcg, rr)), strict=True))
