"""How sure: intervals and, later, tests."""

from assay.stats.intervals import Estimate, central, estimate

__all__ = ["Estimate", "central", "estimate"]
