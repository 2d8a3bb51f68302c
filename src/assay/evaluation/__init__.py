"""Qrels + run + measures → scores; slices of them, and how sure they are."""

from assay.evaluation.evaluate import DEFAULT_MEASURES, Counts, Evaluation, SliceEstimates, evaluate

__all__ = ["DEFAULT_MEASURES", "Counts", "Evaluation", "SliceEstimates", "evaluate"]
