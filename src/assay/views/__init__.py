"""Values → pictures: tables, reports and plain data for other programs."""

from assay.views.evaluation import FORMATS, counts, per_query, summary

__all__ = ["FORMATS", "counts", "per_query", "summary"]
