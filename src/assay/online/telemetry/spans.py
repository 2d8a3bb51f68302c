"""An exporter of OpenTelemetry: spans that describe searches and events become records of UBI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.core.errors import MissingExtraError
from assay.online.telemetry.records import Record, event_record, query_record
from assay.online.telemetry.sinks import Sink

try:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
except ModuleNotFoundError:
    raise MissingExtraError("opentelemetry-sdk", "the exporter of spans", "opentelemetry") from None

PREFIX = "ubi."
_IDS = ("application", "client_id", "session_id", "user_id")
_QUERY = (*_IDS, "query_id", "user_query", "hit_ids")
_EVENT = (*_IDS, "query_id", "action_name", "object_id", "rank", "message")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UbiSpanExporter(SpanExporter):
    """Writes the queries and events among spans to a sink; other spans are left alone.

    A span with the attribute `ubi.user_query` is a query: its time is the start of the span, its latency the
    duration, its id `ubi.query_id` or else the id of the trace. A span, or an event of a span, with
    `ubi.action_name` is an event. Other attributes that begin with `ubi.` become attributes of the record.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.refused = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write the records of spans; FAILURE if the sink failed."""
        records = [record for span in spans for record in span_records(span)]
        if not records:
            return SpanExportResult.SUCCESS
        try:
            self.refused += self.sink.write(records)
        except Exception:  # a sink may be anything; OpenTelemetry wants no error
            self.refused += len(records)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the sink."""
        self.sink.close()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: nothing waits here."""
        return True


def span_records(span: ReadableSpan) -> Iterator[Record]:
    """Yield the query and the events of a span."""
    values = _own_values(span.attributes)
    trace = f"{span.context.trace_id:032x}" if span.context else ""
    if values.get("user_query") is not None:
        yield _query(values, span, trace)
    if values.get("action_name") is not None:
        yield _event(values, span.start_time, values.get("query_id"))
    for event in span.events:
        inner = _own_values(event.attributes)
        if inner.get("action_name") is not None:
            ids = {name: values[name] for name in _IDS if name in values}
            home = values.get("query_id", trace if "user_query" in values else None)
            yield _event({**ids, **inner}, event.timestamp, inner.get("query_id", home))


def _own_values(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    items = (attributes or {}).items()
    return {name.removeprefix(PREFIX): value for name, value in items if name.startswith(PREFIX)}


def _query(values: Mapping[str, Any], span: ReadableSpan, trace: str) -> Record:
    further = {name: value for name, value in values.items() if name not in _QUERY}
    if span.start_time is not None and span.end_time is not None:
        further.setdefault("latency_ms", (span.end_time - span.start_time) / 1e6)
    hits = values.get("hit_ids")
    return query_record(
        str(values["user_query"]),
        str(values.get("query_id", trace)),
        hit_ids=None if hits is None else list(hits),
        at=_time(span.start_time),
        attributes=further,
        **{name: values[name] for name in _IDS if name in values},
    )


def _event(values: Mapping[str, Any], nanoseconds: int | None, query_id: str | None) -> Record:
    return event_record(
        str(values["action_name"]),
        object_id=values.get("object_id"),
        rank=values.get("rank"),
        at=_time(nanoseconds),
        attributes={name: value for name, value in values.items() if name not in _EVENT},
        query_id=query_id,
        message=values.get("message"),
        **{name: values[name] for name in _IDS if name in values},
    )


def _time(nanoseconds: int | None) -> datetime | None:
    return None if nanoseconds is None else _EPOCH + timedelta(microseconds=nanoseconds // 1000)
