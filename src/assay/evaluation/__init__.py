"""Evaluation: scores of runs, slices, comparisons, failures, trends and the gate."""

from assay.evaluation.evaluate import DEFAULT_MEASURES, Counts, Evaluation, SliceEstimates, evaluate

__all__ = ["DEFAULT_MEASURES", "Counts", "Evaluation", "SliceEstimates", "evaluate"]
