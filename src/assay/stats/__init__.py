"""How sure: intervals and, later, tests."""

from assay.stats.intervals import Estimate, estimate

__all__ = ["Estimate", "estimate"]
