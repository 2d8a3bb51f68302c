"""Events and queries as tables of a database that Ibis reads: what every online metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.core.events import Problem

if TYPE_CHECKING:
    from ibis.expr.types import Table


@dataclass(frozen=True)
class EventTables:
    """The queries and the events of one log, where they are, with the problems of the log."""

    queries: Table  # one row for each query_id; `result_count` stands for the list of results
    events: Table
    problems: tuple[Problem, ...] = ()
