"""What to compute: measures as values, one formula each."""

from assay.measures import formulas as _formulas
from assay.measures.measure import ALIASES, DEFINITIONS, Measure, bare, measure, parse
from assay.measures.rankings import Ranking, Rankings

__all__ = ["ALIASES", "DEFINITIONS", "Measure", "Ranking", "Rankings", "bare", "measure", "parse"]

del _formulas
