"""Checks of evaluation sets: what could make their scores wrong, with examples and the fix."""

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import ERROR, INFO, SEVERITIES, WARNING, Finding
from assay.judging.checks.registry import check_evaluation_set
from assay.judging.checks.run_tops import RunTop
from assay.judging.checks.training_set import TrainingSet

__all__ = [
    "ERROR",
    "INFO",
    "SEVERITIES",
    "WARNING",
    "EvaluationSet",
    "Finding",
    "RunTop",
    "TrainingSet",
    "check_evaluation_set",
]
