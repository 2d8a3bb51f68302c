"""How sure: intervals, paired tests, corrections, margins and power."""

from assay.stats.intervals import Estimate, central, estimate

__all__ = ["Estimate", "central", "estimate"]
