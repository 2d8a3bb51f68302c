"""The pages, in the order of the navigation: one module each, with its template beside it."""

from collections.abc import Sequence

from assay.web.page import PageModule
from assay.web.pages import annotate, compare, experiments, query

MODULES: Sequence[PageModule] = (experiments, compare, query, annotate)
