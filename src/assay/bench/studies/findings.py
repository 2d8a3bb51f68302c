"""The findings of a study beyond mean recall, as far as its trials allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from assay.bench.studies.advice import Advice, advise
from assay.bench.studies.difficulty import DifficultyRelation, Doubles, difficulty_relations, query_difficulty
from assay.bench.studies.distribution import RecallDistribution
from assay.bench.studies.failing_queries import FailingQueries, find_failing_queries
from assay.bench.studies.families import family_of_trial
from assay.bench.studies.matched_pairs import RECALL_TOLERANCE, MatchedPair, match_by_recall
from assay.bench.studies.parameter_studies import (
    Frontier,
    ParameterStudy,
    find_frontiers,
    study_parameters,
)
from assay.bench.studies.pooled_families import POOLING_TOLERANCE, PooledRatio, pool_families
from assay.bench.studies.recall_correlation import (
    MINIMUM_CONFIGURATIONS,
    MINIMUM_RECALL_RANGE,
    RECALL_RANGE,
    RecallCorrelation,
    recall_correlations,
    trials_in_range,
)
from assay.bench.studies.reranking import Reranking, study_reranking
from assay.bench.studies.same_data import other_data_reasons
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.severity import TRUTH_DEPTH, Severity, failure_severity
from assay.bench.studies.side_by_side import DataSetFindings, compare_data_sets, robustness_curve
from assay.bench.studies.study import Study
from assay.stats.intervals import Estimate, order_statistic

PERCENTILES = (1, 5, 10, 50)


@dataclass(frozen=True, kw_only=True)
class FindingSettings:
    """The thresholds of findings."""

    delta: float = 0.1  # a query fails below this recall
    at_most: float = 0.3  # severity covers queries with at most this recall
    recall: float = 0.9  # mean recall at which engines and families are compared
    tolerance: float | None = None  # of the same mean recall; None: RECALL_TOLERANCE, or POOLING_TOLERANCE
    recall_range: tuple[float, float] = RECALL_RANGE  # of the configurations of which r² is computed

    @property
    def pair_tolerance(self) -> float:
        """The largest difference of the mean recalls of two configurations that are compared."""
        return RECALL_TOLERANCE if self.tolerance is None else self.tolerance

    @property
    def pooling_tolerance(self) -> float:
        """The largest distance from the target of the mean recalls that are pooled."""
        return POOLING_TOLERANCE if self.tolerance is None else self.tolerance


@dataclass(frozen=True)
class TrialFindings:
    """The findings for one trial."""

    key: str
    label: str
    family: str
    recall: Estimate
    failure: Estimate  # share of queries whose recall is below δ
    zero_hit: Estimate
    percentiles: Mapping[str, Estimate]  # p5: at most 5 % of queries have a lower recall
    histogram: list[int] | None  # number of queries with 0, 1, … K hits
    curve: list[tuple[float, Estimate]]  # δ and Robustness-δ@K
    severity: Severity | None
    relations: list[DifficultyRelation]  # of the difficulty of queries to their recall


@dataclass(frozen=True)
class StudyFindings:
    """The findings for all trials of a study; unknown values are None or empty, and a note says why."""

    source: str
    k: int
    delta: float
    at_most: float
    recall: float
    tolerance: float  # within which two mean recalls are the same
    pooling_tolerance: float  # around the target, of the configurations of families
    recall_range: tuple[float, float]
    level: float
    trials: list[TrialFindings]
    matched: list[MatchedPair]
    pooled: list[PooledRatio]
    information: list[RecallCorrelation]
    data_sets: list[DataSetFindings]
    parameter_studies: list[ParameterStudy]
    frontiers: list[Frontier]
    reranking: list[Reranking]
    advice: Advice
    failing: FailingQueries | None
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data."""
        content: dict[str, Any] = _plain_value(self)
        return content


def collect_findings(
    study: Study,
    settings: FindingSettings | None = None,
    dataset: str | None = None,
    others: Sequence[Study] = (),
) -> StudyFindings:
    """Return the findings of a study, without trials that failed, did not use an index or have other data.

    Other studies, and other data of this one, are only compared side by side.
    """
    settings = settings or FindingSettings()
    exclusions = [
        (scored_trial, _exclusion_reason(scored_trial, study) or other_data_reason)
        for scored_trial, other_data_reason in zip(
            study.scored_trials, other_data_reasons(study, dataset), strict=True
        )
    ]
    usable = [scored_trial for scored_trial, reason in exclusions if not reason]
    approximate = [scored_trial for scored_trial in usable if family_of_trial(scored_trial.trial) != "exact"]
    pairs = match_by_recall(approximate, settings.delta, settings.pair_tolerance)
    return StudyFindings(
        trials=_all_trial_findings(usable, study, settings),
        matched=pairs,
        failing=find_failing_queries(approximate, settings.delta),
        notes=[
            *_unfinished_notes(study),
            *_exclusion_notes(exclusions, usable),
            *_unknown_notes(study, usable, approximate, pairs, settings),
            *_zero_failure_notes(usable, settings.delta),
        ],
        **_comparisons(study, approximate, settings),
        data_sets=compare_data_sets(
            [study, *others], settings.recall, settings.pooling_tolerance, settings.recall_range
        ),
    )


def _comparisons(
    study: Study, approximate: Sequence[ScoredTrial], settings: FindingSettings
) -> dict[str, Any]:
    """Return the settings, and what compares families, parameters and engines, by the names of fields."""
    delta, recall, tolerance = settings.delta, settings.recall, settings.pooling_tolerance
    truth = study.data.truth if study.data is not None else None
    return {
        "source": study.source,
        "k": study.k,
        "delta": delta,
        "at_most": settings.at_most,
        "recall": recall,
        "tolerance": settings.pair_tolerance,
        "pooling_tolerance": tolerance,
        "recall_range": settings.recall_range,
        "level": 0.95,
        "pooled": pool_families(approximate, recall, tolerance),
        "information": recall_correlations(
            replace(study, scored_trials=tuple(approximate)), settings.recall_range
        ),
        "parameter_studies": study_parameters(approximate, delta),
        "frontiers": find_frontiers(approximate, delta),
        "reranking": study_reranking(approximate, truth, settings.at_most),
        "advice": advise(approximate, delta, recall, tolerance),
    }


def _all_trial_findings(
    usable: Sequence[ScoredTrial], study: Study, settings: FindingSettings
) -> list[TrialFindings]:
    has_hits = any(scored_trial.hits is not None for scored_trial in usable)
    features = query_difficulty(study.data) if study.data is not None and has_hits else {}
    return [_trial_findings(one, study, features, settings.delta, settings.at_most) for one in usable]


def _trial_findings(
    scored_trial: ScoredTrial, study: Study, features: Mapping[str, Doubles], delta: float, at_most: float
) -> TrialFindings:
    distribution, truth = scored_trial.distribution, study.data.truth if study.data else None
    return TrialFindings(
        key=scored_trial.trial.key,
        label=scored_trial.trial.label,
        family=family_of_trial(scored_trial.trial),
        recall=scored_trial.recall,
        failure=scored_trial.failure(delta),
        zero_hit=scored_trial.failure(1 / scored_trial.trial.k),
        percentiles={f"p{p}": recall_percentile(distribution, p / 100) for p in PERCENTILES},
        histogram=distribution.counts.tolist() if distribution else None,
        curve=robustness_curve(scored_trial),
        severity=None if truth is None else failure_severity(scored_trial, truth, at_most),
        relations=difficulty_relations(scored_trial, features, delta),
    )


def recall_percentile(distribution: RecallDistribution | None, share: float, level: float = 0.95) -> Estimate:
    """Return the recall that at most this share of queries stay below, with a distribution-free interval."""
    if distribution is None or not distribution.n:
        return Estimate(None, None, None, level, 0)
    recalls = np.repeat(np.arange(distribution.k + 1) / distribution.k, distribution.counts)
    ends = order_statistic(recalls, share, level)
    low, high = 0.0 if ends.low is None else ends.low, 1.0 if ends.high is None else ends.high
    return Estimate(distribution.percentile(share), low, high, level, distribution.n)


def _unfinished_notes(study: Study) -> list[str]:
    """Return notes on trials with passes still to run."""
    passes: dict[int, list[str]] = {}
    for trial in (scored_trial.trial for scored_trial in study.scored_trials):
        if trial.status == "begun":
            passes.setdefault(trial.qps.repetitions if trial.qps else 0, []).append(trial.label)
    planned_passes = study.metadata.get("options", {}).get("repetitions", "?")
    return [
        f"unfinished: {finished_passes} of {planned_passes} passes; run the same bench command to continue: "
        f"{_list_labels(labels)}"
        for finished_passes, labels in passes.items()
    ]


def _exclusion_reason(scored_trial: ScoredTrial, study: Study) -> str:
    if scored_trial.trial.status == "failed":
        return "failed"
    if scored_trial.trial.indexed is False:
        return "not indexed: it answers by brute force, which says nothing about an index"
    if study.has_earlier_source(scored_trial.trial):
        return "measured with an earlier source of the engine"
    return "" if scored_trial.recall.value is not None else "recall is not known"


def _exclusion_notes(
    exclusions: Sequence[tuple[ScoredTrial, str]], usable: Sequence[ScoredTrial]
) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for scored_trial, reason in exclusions:
        if reason:
            reasons.setdefault(reason, []).append(scored_trial.trial.label)
    notes = [f"left out ({reason}): {_list_labels(labels)}" for reason, labels in reasons.items()]
    exact = [
        scored_trial.trial.label for scored_trial in usable if family_of_trial(scored_trial.trial) == "exact"
    ]
    return notes + [f"exact, so left out of the comparison of indexes: {_list_labels(exact)}"] * bool(exact)


def _unknown_notes(
    study: Study,
    usable: Sequence[ScoredTrial],
    approximate: Sequence[ScoredTrial],
    pairs: Sequence[MatchedPair],
    settings: FindingSettings,
) -> list[str]:
    """Return notes on findings that are not available, and why."""
    if not usable:
        return []
    notes = []
    without_hits = [scored_trial.trial.label for scored_trial in usable if scored_trial.hits is None]
    if without_hits:
        notes.append(
            f"only figures, not single queries, are known for {_list_labels(without_hits, usable)}: "
            "the severity of failures, the failing queries and their difficulty are not available"
        )
    without_distribution = [
        scored_trial.trial.label for scored_trial in usable if scored_trial.distribution is None
    ]
    if without_distribution:
        notes.append(
            f"the distribution of recall is not known for {_list_labels(without_distribution, usable)}: "
            "no percentiles"
        )
    if not pairs:
        notes.append(
            "no two configurations of different engines have a mean recall within "
            f"{settings.pair_tolerance:g}: no comparison at matched recall"
        )
    notes += _correlation_notes(approximate, settings.recall_range)
    if study.data is not None and study.data.truth.k < TRUTH_DEPTH:
        notes.append(f"the truth has {study.data.truth.k} neighbors: outside means not among those")
    return notes


def _correlation_notes(approximate: Sequence[ScoredTrial], recall_range: tuple[float, float]) -> list[str]:
    """Return a note if the correlations with mean recall are withheld."""
    recalls = [one.recall.value or 0.0 for one in trials_in_range(approximate, recall_range)]
    ends = f"{recall_range[0]:g} to {recall_range[1]:g}"
    if len(recalls) < MINIMUM_CONFIGURATIONS:
        return [
            f"r² needs {MINIMUM_CONFIGURATIONS} configurations or more with a mean recall of {ends}, "
            f"but there are {len(recalls)}"
        ]
    spread = float(np.ptp(recalls))
    if spread >= MINIMUM_RECALL_RANGE - 1e-9:
        return []
    return [
        f"r² is withheld: mean recall varies by {spread:.4f} among {len(recalls)} configurations, "
        f"and below {MINIMUM_RECALL_RANGE:g} a correlation is chance"
    ]


def _zero_failure_notes(usable: Sequence[ScoredTrial], delta: float) -> list[str]:
    """Return notes with the rule of three for trials without failing queries."""
    rates = [(scored_trial.trial.label, scored_trial.failure(delta)) for scored_trial in usable]
    without_failures = [(label, rate.n) for label, rate in rates if rate.value == 0 and rate.n]
    return [
        f"none of {n:,} queries failed at δ = {delta:g}, which shows only that fewer than 3 in {n:,} do: "
        f"{_list_labels([label for label, queries in without_failures if queries == n])}"
        for n in dict.fromkeys(n for _, n in without_failures)
    ]


def _list_labels(labels: Sequence[str], all_trials: Sequence[ScoredTrial] = (), limit: int = 5) -> str:
    """Return labels as a list in a sentence, shortened if there are many.

    >>> _list_labels(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    if len(labels) == len(all_trials) > 1:
        return "any trial"
    remaining = len(labels) - limit
    return ", ".join(labels[:limit]) + (f" and {remaining} more" if remaining > 0 else "")


def _plain_value(value: Any) -> Any:
    """Return values, named tuples and containers as plain data."""
    if isinstance(value, Estimate):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain_value(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _plain_value(inner) for name, inner in value.items()}
    return [_plain_value(inner) for inner in value] if isinstance(value, list | tuple) else value
