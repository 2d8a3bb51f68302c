"""Search: a Searcher returns the best documents of a query."""

from assay.remote.errors import RemoteError
from assay.search.searcher import Answer, Query, Searcher

SearchError = RemoteError  # what a Searcher raises

__all__ = ["Answer", "Query", "SearchError", "Searcher"]
