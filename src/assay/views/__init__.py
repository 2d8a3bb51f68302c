"""Values → pictures: tables, reports and plain data for other programs."""

from assay.views.evaluation import FORMATS, per_query, summary

__all__ = ["FORMATS", "per_query", "summary"]
