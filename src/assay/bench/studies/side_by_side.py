"""Several data sets and several K side by side: curves, correlations and failures of families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from assay.bench.studies.families import FAMILIES, family_of_trial
from assay.bench.studies.pooled_families import POOLING_TOLERANCE, PooledRatio, near_recall, pool_families
from assay.bench.studies.recall_correlation import RECALL_RANGE, RecallCorrelation, recall_correlations
from assay.bench.studies.robustness_columns import parse_robustness_column
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.stats.intervals import Estimate

CURVE_TOLERANCE = 0.05  # distance from the target within which a configuration stands for its engine
Curve = list[tuple[float, Estimate]]


class EngineCurve(NamedTuple):
    """The robustness of the configuration of an engine whose mean recall is nearest to the target."""

    label: str
    engine: str
    family: str
    recall: Estimate
    curve: Curve  # δ and Robustness-δ@K


class DataSetFindings(NamedTuple):
    """What the trials of one data set at one K show."""

    dataset: str
    k: int
    configurations: int
    curves: list[EngineCurve]
    information: list[RecallCorrelation]
    pooled: list[PooledRatio]


def compare_data_sets(
    studies: Sequence[Study],
    recall: float = 0.9,
    tolerance: float = POOLING_TOLERANCE,
    recall_range: tuple[float, float] = RECALL_RANGE,
) -> list[DataSetFindings]:
    """Return the findings of every data set of the studies, in their order."""
    return [
        _data_set_findings(name, part, recall, tolerance, recall_range)
        for study in studies
        for name, part in _split_by_data_set(study)
    ]


def _split_by_data_set(study: Study) -> list[tuple[str, Study]]:
    """Return the study of each data set and K, by the name that the trials or the source state."""
    sources = study.metadata.get("sources", {})
    default = Path(str(sources.get("base") or study.source)).stem
    groups: dict[tuple[str, int], list[ScoredTrial]] = {}
    for one in study.scored_trials:
        is_usable = one.trial.status != "failed" and one.trial.indexed is not False
        if is_usable and family_of_trial(one.trial) != "exact" and one.recall.value is not None:
            groups.setdefault((one.trial.dataset or default, one.trial.k), []).append(one)
    return [(name, replace(study, scored_trials=tuple(trials))) for (name, _), trials in groups.items()]


def _data_set_findings(
    name: str, study: Study, recall: float, tolerance: float, recall_range: tuple[float, float]
) -> DataSetFindings:
    nearest = nearest_by_engine(study.scored_trials, recall)
    return DataSetFindings(
        name,
        study.k,
        len(study.scored_trials),
        [_engine_curve(one) for one in nearest],
        recall_correlations(study, recall_range),
        pool_families(study.scored_trials, recall, tolerance),
    )


def nearest_by_engine(scored_trials: Sequence[ScoredTrial], recall: float) -> list[ScoredTrial]:
    """Return for each engine and family the configuration with the nearest mean recall, if it is near."""
    nearest: dict[tuple[str, str], ScoredTrial] = {}
    near = near_recall(scored_trials, recall, CURVE_TOLERANCE)
    for one in sorted(near, key=lambda one: abs((one.recall.value or 0.0) - recall)):
        nearest.setdefault((one.trial.engine, family_of_trial(one.trial)), one)
    return sorted(
        nearest.values(), key=lambda one: (FAMILIES.index(family_of_trial(one.trial)), one.trial.engine)
    )


def _engine_curve(one: ScoredTrial) -> EngineCurve:
    family = family_of_trial(one.trial)
    return EngineCurve(one.trial.label, one.trial.engine, family, one.recall, robustness_curve(one))


def robustness_curve(scored_trial: ScoredTrial) -> Curve:
    """Return robustness at every possible δ, or, if single queries are not known, at every reported δ."""
    if scored_trial.distribution is not None:
        return scored_trial.distribution.curve()
    names = (*scored_trial.trial.measures, *scored_trial.trial.reported)
    columns = filter(None, map(parse_robustness_column, names))
    steps = sorted({column.delta for column in columns if column.k == scored_trial.trial.k})
    return [(step, scored_trial.robustness(step)) for step in steps]
