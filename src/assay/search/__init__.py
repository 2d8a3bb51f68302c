"""What searches: a Searcher is asked for the best documents of a query."""

from assay.search.searcher import Answer, Query, Searcher, SearchError

__all__ = ["Answer", "Query", "SearchError", "Searcher"]
