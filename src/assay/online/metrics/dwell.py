"""How long people stayed with a clicked result: until their next event or query in the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.online.event_tables import EventTables, load_ibis
from assay.online.metrics.metric import MetricSettings
from assay.online.metrics.sessions import IN_ORDER, LogProfile, activity, elapsed_seconds

if TYPE_CHECKING:
    from ibis.expr.types import Table


def add_dwell(facts: Table, tables: EventTables, settings: MetricSettings, profile: LogProfile) -> Table:
    """Return the facts with the dwell of the clicks of each query; the last of a session is censored."""
    ibis = load_ibis()
    rows = activity(tables, profile, settings)
    order = ibis.window(group_by="timeline", order_by=IN_ORDER)
    rows = rows.mutate(next_at=rows["at"].lead().over(order))
    clicks = rows.filter(rows.is_click, rows.query_id.notnull())
    seconds = elapsed_seconds(clicks["at"], clicks.next_at)
    is_next = clicks.next_at.notnull() & (~clicks.is_split | (seconds <= settings.idle_minutes * 60))
    clicks = clicks.mutate(seconds=is_next.ifelse(seconds, ibis.null("float64")))
    dwell = clicks.group_by(dwell_query_id=clicks.query_id).aggregate(
        dwell_seconds=clicks.seconds.sum(),
        dwell_clicks=clicks.seconds.count(),
        censored_clicks=clicks.seconds.isnull().ifelse(1, 0).sum(),
    )
    joined = facts.left_join(dwell, facts.query_id == dwell.dwell_query_id).drop("dwell_query_id")
    return joined.mutate(
        dwell_clicks=joined.dwell_clicks.coalesce(0), censored_clicks=joined.censored_clicks.coalesce(0)
    )
