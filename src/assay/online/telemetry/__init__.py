"""A client that emits events of searches in the form of UBI 1.3; it needs no other library."""

from assay.online.telemetry.async_client import AsyncEventClient
from assay.online.telemetry.client import EventClient, EventCounts
from assay.online.telemetry.records import Record
from assay.online.telemetry.sinks import FileSink, HttpSink, Sink

__all__ = ["AsyncEventClient", "EventClient", "EventCounts", "FileSink", "HttpSink", "Record", "Sink"]
