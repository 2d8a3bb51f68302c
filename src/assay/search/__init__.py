"""What searches: a Searcher takes queries and gives a run."""

from typing import Protocol

from assay.core.tables import Queries, Run


class Searcher(Protocol):
    """Anything that can be asked for the best documents of each query."""

    name: str

    def search(self, queries: Queries, k: int) -> Run:
        """The k best documents of each query."""
        ...
