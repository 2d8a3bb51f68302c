"""Qrels from the judgments of several judges, by a named rule."""

from assay.judging.aggregation.aggregate import RULES, Aggregation, Rule, aggregate
from assay.judging.aggregation.ties import TIES

__all__ = ["RULES", "TIES", "Aggregation", "Rule", "aggregate"]
