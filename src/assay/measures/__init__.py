"""Measures as values, with one formula each, and advice on which to use."""

from assay.measures import formulas as _formulas
from assay.measures.measure import ALIASES, DEFINITIONS, Measure, default_measure, measure, parse
from assay.measures.rankings import Ranking, Rankings

__all__ = ["ALIASES", "DEFINITIONS", "Measure", "Ranking", "Rankings", "default_measure", "measure", "parse"]

del _formulas
