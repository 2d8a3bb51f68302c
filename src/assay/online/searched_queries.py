"""What users searched for: the texts of the queries of a log, with how often each was searched."""

from __future__ import annotations

from assay.core.tables import Queries
from assay.online.event_tables import EventTables

MOST_TEXTS = 100_000


def count_searches(tables: EventTables, most: int = MOST_TEXTS) -> Queries:
    """Return the different texts of queries, the most frequent first, with how often each was issued.

    >>> from assay.core.events import Events
    >>> len(count_searches(EventTables.from_events(Events.empty())))
    0
    """
    queries = tables.queries.mutate(text=tables.queries.user_query.strip())
    counted = queries.filter(queries.text.length() > 0).group_by("text").agg(issued=lambda t: t.count())
    rows = counted.order_by([counted.issued.desc(), counted.text]).limit(most).to_pyarrow().to_pydict()
    return Queries(
        {
            "query_id": [f"s{number}" for number in range(1, len(rows["text"]) + 1)],
            "text": rows["text"],
            "issued": rows["issued"],
        }
    )
