"""The metrics that Assay has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.core.errors import MeasureError
from assay.core.suggestions import did_you_mean
from assay.online.event_tables import load_ibis
from assay.online.metrics.metric import Metric

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

SLO_MS = 500.0
RANKS = 10  # of the CTR by rank that is shown
_PATTERN = re.compile(r"([a-z_]+?)(?:@(\d+))?(?:\((?:ms=)?(\d+(?:\.\d*)?)\))?")
_PERCENTILE = re.compile(r"latency_p(\d{1,2}(?:\.\d+)?)")


def _when(condition: Value, value: Value) -> Value:
    """Return a value where a condition holds, else null."""
    return condition.ifelse(value, load_ibis().null(value.type()))


def _has_click_at(rank: int) -> Callable[[Table], Value]:
    return lambda t: _when(t.result_count >= rank, t[f"clicked_rank_{rank}"] > 0)


def ctr_at(rank: int) -> Metric:
    """Return the CTR of one rank."""
    definition = (
        f"queries with a click on rank {rank} / queries with at least {rank} result{'s' * (rank > 1)}"
    )
    facts = frozenset({"result_count", f"clicked_rank_{rank}"})
    return Metric(
        f"ctr@{rank}", definition, _has_click_at(rank), facts=facts, is_share=True, lower_is_better=False
    )


def clicks_at(rank: int) -> Metric:
    """Return the clicks on the first ranks."""
    return Metric(
        f"clicks@{rank}",
        f"clicks on {'rank 1' if rank == 1 else f'ranks 1 to {rank}'} / queries",
        lambda t: t[f"clicks_within_{rank}"],
        facts=frozenset({f"clicks_within_{rank}"}),
        lower_is_better=False,
    )


def latency_percentile(percent: float) -> Metric:
    """Return a percentile of the latency."""
    return Metric(
        f"latency_p{percent:g}",
        f"the latency that {percent:g} % of the queries do not exceed",
        lambda t: t.latency_ms,
        facts=frozenset({"latency_ms"}),
        quantile=percent / 100,
        lower_is_better=True,
        unit="ms",
    )


def slo_share(milliseconds: float) -> Metric:
    """Return the share of queries within a latency objective."""
    return Metric(
        "slo",
        f"queries answered within {milliseconds:g} ms / queries with a latency",
        lambda t: t.latency_ms <= milliseconds,
        facts=frozenset({"latency_ms"}),
        is_share=True,
        lower_is_better=False,
    )


_FIXED = (
    Metric(
        "ctr",
        "queries with a click / queries",
        lambda t: t.clicks > 0,
        facts=frozenset({"clicks"}),
        is_share=True,
        lower_is_better=False,
    ),
    Metric(
        "zero_result",
        "queries without results / queries whose number of results the log has",
        lambda t: t.result_count == 0,
        facts=frozenset({"result_count"}),
        is_share=True,
        lower_is_better=True,
    ),
    Metric(
        "abandonment",
        "queries with results and no click before the next query or the end of the session / queries with "
        "results",
        lambda t: t.is_abandoned,
        facts=frozenset({"is_abandoned"}),
        is_share=True,
        lower_is_better=True,
    ),
    Metric(
        "reformulation",
        "queries followed in their session by a different query within some minutes that shares a word or "
        "is near by edit distance / queries with a text",
        lambda t: t.is_reformulated,
        facts=frozenset({"is_reformulated"}),
        is_share=True,
        lower_is_better=True,
    ),
    Metric(
        "session_success",
        "sessions with a click or a completion / sessions",
        lambda t: (t.clicks > 0) | (t.completions > 0),
        facts=frozenset({"clicks", "completions"}),
        scope="session",
        is_share=True,
        lower_is_better=False,
    ),
    Metric(
        "clicks_per_query",
        "clicks / queries",
        lambda t: t.clicks,
        facts=frozenset({"clicks"}),
        lower_is_better=False,
    ),
    Metric(
        "mrr",
        "1 / the best clicked rank, over queries with a click whose rank is known",
        lambda t: 1.0 / t.best_clicked_rank.cast("float64"),
        facts=frozenset({"best_clicked_rank"}),
        is_share=True,
        lower_is_better=False,
    ),
    Metric(
        "completion",
        "queries followed by a completing action (purchase) / queries",
        lambda t: t.completions > 0,
        facts=frozenset({"completions"}),
        is_share=True,
        lower_is_better=False,
    ),
    Metric(
        "dwell",
        "seconds from a click to the next event or query of the session / clicks that have one",
        lambda t: t.dwell_seconds,
        weight=lambda t: t.dwell_clicks,
        facts=frozenset({"dwell_seconds", "dwell_clicks"}),
        unit="s",
    ),
    Metric(
        "queries_per_unit",
        "queries / units that asked any",
        lambda t: t.unit_id.notnull(),
        is_per_unit=True,
    ),
    Metric(
        "cost",
        "cost of the queries / queries with a cost",
        lambda t: t.cost,
        facts=frozenset({"cost"}),
        lower_is_better=True,
    ),
)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *_FIXED[:1],
        *map(ctr_at, range(1, RANKS + 1)),
        *_FIXED[1:6],
        clicks_at(1),
        clicks_at(3),
        *_FIXED[6:10],
        *map(latency_percentile, (50, 95, 99)),
        slo_share(SLO_MS),
        _FIXED[10],
    )
}
_OTHER_NAMES = {
    "abandonment_rate": "abandonment",
    "click_mrr": "mrr",
    "clicks": "clicks_per_query",
    "cost_per_request": "cost",
    "ctr_by_rank": "ctr",
    "dwell_time": "dwell",
    "queries_per_client": "queries_per_unit",
    "reformulation_rate": "reformulation",
    "slo_share": "slo",
    "zero_results": "zero_result",
    "zero_result_rate": "zero_result",
}


def parse_metric(text: str, slo_ms: float = SLO_MS) -> Metric:
    """Return the metric of a name; `ctr@4`, `clicks@5`, `latency_p90` and `slo(ms=300)` have a parameter.

    >>> parse_metric("clicks@5").definition
    'clicks on ranks 1 to 5 / queries'
    """
    name = text.strip().lower().replace("-", "_")
    percentile, parts = _PERCENTILE.fullmatch(name), _PATTERN.fullmatch(name)
    if percentile and 0 < float(percentile[1]) < 100:
        return latency_percentile(float(percentile[1]))
    if parts:
        found = _parse_parts(_OTHER_NAMES.get(parts[1], parts[1]), parts[2], parts[3], slo_ms)
        if found is not None:
            return found
    hint = did_you_mean(name, [*METRICS, *_OTHER_NAMES])
    raise MeasureError(
        f"there is no online metric {text!r}; {f'{hint} ' if hint else ''}known: {', '.join(METRICS)}; one "
        f"of your own is defined in assay.toml under [online.metrics.{name or 'NAME'}]"
    )


def _parse_parts(name: str, rank: str | None, milliseconds: str | None, slo_ms: float) -> Metric | None:
    if rank is not None:
        at = {"ctr": ctr_at, "clicks": clicks_at, "clicks_per_query": clicks_at}.get(name)
        return at(int(rank)) if at and int(rank) > 0 and milliseconds is None else None
    if name == "slo":
        return slo_share(slo_ms if milliseconds is None else float(milliseconds))
    return METRICS.get(name) if milliseconds is None else None
