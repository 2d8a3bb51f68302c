"""Values as text: tables, reports, pages, and plain data for other programs."""

from assay.views.evaluation import FORMATS, describe_counts, render_evaluations, render_scores_per_query

__all__ = ["FORMATS", "describe_counts", "render_evaluations", "render_scores_per_query"]
