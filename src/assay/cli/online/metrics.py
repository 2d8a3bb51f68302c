"""assay online metrics: online metrics of an event log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace

from assay.cli.event_source import add_event_source, event_source
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.online_records import ONLINE_METRICS
from assay.online.metrics import MetricSettings
from assay.views.online_metrics import FORMATS, render_metrics
from assay.workflows.online_metrics import MetricsRequest, OnlineMetrics, measure_online_metrics

EXAMPLES = """  assay online metrics ubi_log.ndjson
  assay online metrics queries.parquet events.parquet --by day --by variant
  assay online metrics log/ -m ctr -m abandonment -m latency_p95 --slo-ms 300
  assay online metrics events.parquet --column client_id=visitor --column at=ts
  assay online metrics --url postgresql://HOST/DB --queries-table searches --events-table clicks
  assay online metrics ubi_log.ndjson --save "week 12"
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    add_event_source(part)
    part.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="METRIC",
        help="a metric, such as ctr, ctr@4, clicks@5, latency_p90 or one of your own under [online.metrics] "
        "in assay.toml; may be repeated (default: all)",
    )
    part.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="slice by day, variant or any column of the queries; may be repeated",
    )
    part.add_argument(
        "--unit", default="client_id", metavar="COLUMN", help="what varies independently (default: client_id)"
    )
    part.add_argument(
        "--slo-ms", type=float, default=500.0, metavar="MS", help="the latency objective (default: 500)"
    )
    _add_definitions(part)
    part.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    part.add_argument(
        "--project", default="assay.toml", metavar="FILE", help="settings with metrics of your own"
    )
    part.add_argument(
        "--save",
        metavar="NAME",
        help="keep the metrics in the store under this name, with the searches and the clicks of documents",
    )
    add_store(part)
    add_format(part, FORMATS)


def _add_definitions(part: argparse.ArgumentParser) -> None:
    group = part.add_argument_group("definitions")
    group.add_argument(
        "--idle-minutes",
        type=float,
        default=30.0,
        metavar="T",
        help="end a session after this time without events, where the log names no sessions (default: 30)",
    )
    group.add_argument(
        "--reformulation-minutes",
        type=float,
        default=5.0,
        metavar="T",
        help="a later query is no reformulation (default: 5)",
    )
    group.add_argument(
        "--click",
        action="append",
        default=[],
        metavar="ACTION",
        help="an action that counts as a click; may be repeated (default: click)",
    )
    group.add_argument(
        "--completion",
        action="append",
        default=[],
        metavar="ACTION",
        help="an action that completes a search; may be repeated (default: purchase)",
    )
    group.add_argument(
        "--winsorise",
        type=float,
        metavar="Q",
        help="cut the values of queries, such as dwell and cost, at this quantile of the values above 0",
    )


def _metrics(arguments: argparse.Namespace) -> int:
    request = _request(arguments)
    save = _check_saving(arguments)
    progress = _print_step if sys.stderr.isatty() else None
    try:
        result = measure_online_metrics(request, progress or (lambda step: None))
    finally:
        if progress:
            progress("")
    show_result(result, arguments.format, lambda style: render_metrics(result, style))
    if save is not None:
        save(result)
    return 0


def _request(arguments: argparse.Namespace) -> MetricsRequest:
    return MetricsRequest(
        source=event_source(arguments, arguments.project),
        metrics=arguments.metric,
        by=arguments.by,
        unit=arguments.unit,
        slo_ms=arguments.slo_ms,
        settings=MetricSettings(
            idle_minutes=arguments.idle_minutes,
            reformulation_minutes=arguments.reformulation_minutes,
            clicks=tuple(arguments.click) or ("click",),
            completions=tuple(arguments.completion) or ("purchase",),
            winsorise=arguments.winsorise,
        ),
        level=arguments.level,
        project=arguments.project,
        with_searches=arguments.save is not None,
    )


def _check_saving(arguments: argparse.Namespace) -> Callable[[OnlineMetrics], None] | None:
    """Return what keeps the result in the store, after a check that it can; None without --save."""
    if arguments.save is None:
        return None
    from assay.workflows import document_clicks, online_saving, searched_queries  # load the store

    request = online_saving.SaveOnlineRequest(
        name=arguments.save, store=arguments.store, project=arguments.project
    )
    online_saving.check_online_saving(request)

    def save(result: OnlineMetrics) -> None:
        place = (request.store, request.project)
        tables = searched_queries.put_searches(result.searches, *place)
        tables |= document_clicks.put_document_clicks(result.document_clicks, *place)
        saved = online_saving.save_online(ONLINE_METRICS, result.to_dict(), replace(request, tables=tables))
        print(f"saved {saved.name} as {saved.id} in {saved.store}", file=sys.stderr)

    return save


def _print_step(step: str) -> None:
    end = " …" if step else ""
    print(f"\r{step}{end}", end="\033[K", file=sys.stderr, flush=True)


SUBCOMMANDS = {
    "metrics": Subcommand(
        _metrics,
        _add_options,
        "metrics of what users did: clicks, abandonment, dwell, latency, with intervals over users",
    )
}
