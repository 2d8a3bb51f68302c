"""Statistics: intervals, paired tests, corrections, margins and power."""

from assay.stats.intervals import Estimate, central_value, estimate

__all__ = ["Estimate", "central_value", "estimate"]
