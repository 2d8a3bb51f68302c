"""Rollouts as metrics for alerts: Prometheus text, and OpenTelemetry (OTLP/HTTP with JSON)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from assay.core.errors import AssayError
from assay.remote.errors import RemoteError
from assay.remote.http import HttpClient
from assay.rollout.machine import STATES, candidate_share
from assay.store.database import Database
from assay.store.rollouts import Rollouts
from assay.store.webhook_deliveries import WebhookDeliveries
from assay.workflows.stores import open_existing_store

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HELP = {
    "assay_rollout_state": "1 for the state of the rollout, 0 for the others",
    "assay_rollout_step": "the step of the rollout, counted from 0",
    "assay_rollout_coverage_ratio": "the share of the traffic that takes part",
    "assay_rollout_candidate_ratio": "the share of the traffic that is shown the candidate",
    "assay_rollout_transitions_total": "the moves of the rollout so far",
    "assay_rollout_changed_timestamp_seconds": "when the rollout last moved",
    "assay_webhooks_given_up": "messages to webhooks that are no longer tried",
}


class Sample(NamedTuple):
    """One value of a metric."""

    name: str
    labels: Mapping[str, str]
    value: float


def rollout_samples(database: Database) -> list[Sample]:
    """Return the metrics of all rollouts of a store."""
    return [*_rollout_samples(database), Sample(*_given_up(database))]


def _rollout_samples(database: Database) -> Iterator[Sample]:
    for rollout in Rollouts(database).all():
        labels = {"rollout": rollout.name}
        for state in STATES:
            is_state = float(state == rollout.position.state)
            yield Sample("assay_rollout_state", {**labels, "state": state}, is_state)
        values = {
            "step": float(rollout.position.step),
            "coverage_ratio": rollout.coverage,
            "candidate_ratio": candidate_share(rollout.position, rollout.steps),
            "transitions_total": float(len(rollout.transitions)),
            "changed_timestamp_seconds": rollout.transitions[-1].at.timestamp(),
        }
        yield from (Sample(f"assay_rollout_{name}", labels, value) for name, value in values.items())


def _given_up(database: Database) -> tuple[str, Mapping[str, str], float]:
    return "assay_webhooks_given_up", {}, float(WebhookDeliveries(database).given_up())


def read_prometheus(store: str | None = None) -> str:
    """Return the metrics of a store as Prometheus reads them."""
    with open_existing_store(store) as opened:
        return prometheus_text(rollout_samples(opened.database))


def prometheus_text(samples: list[Sample]) -> str:
    """Return metrics in the text format of Prometheus.

    >>> print(prometheus_text([Sample("assay_rollout_step", {"rollout": "a"}, 2.0)]), end="")
    # HELP assay_rollout_step the step of the rollout, counted from 0
    # TYPE assay_rollout_step gauge
    assay_rollout_step{rollout="a"} 2.0
    """
    lines = []
    for name in dict.fromkeys(sample.name for sample in samples):
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(s.labels)} {s.value!r}" for s in samples if s.name == name]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    parts = ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())
    return f"{{{parts}}}" if parts else ""


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def otlp_metrics(samples: list[Sample], at_ns: int) -> dict[str, Any]:
    """Return metrics as a request of OTLP/HTTP in JSON: gauges, and sums for what only grows."""
    metrics = []
    for name in dict.fromkeys(sample.name for sample in samples):
        points = [
            {
                "timeUnixNano": str(at_ns),
                "asDouble": sample.value,
                "attributes": [
                    {"key": key, "value": {"stringValue": value}} for key, value in sample.labels.items()
                ],
            }
            for sample in samples
            if sample.name == name
        ]
        is_sum = name.endswith("_total")
        data = {"dataPoints": points} | ({"aggregationTemporality": 2, "isMonotonic": True} if is_sum else {})
        metrics.append({"name": name, "description": _HELP[name], "sum" if is_sum else "gauge": data})
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "assay"}}]}
    scope = {"scope": {"name": "assay.rollout"}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]}


def push_metrics(database: Database, seconds: float = 3.0) -> list[str]:
    """Send the metrics to OTEL_EXPORTER_OTLP_ENDPOINT, if that is set; return what went wrong."""
    endpoint = os.environ.get(ENDPOINT_VARIABLE, "").rstrip("/")
    if not endpoint:
        return []
    try:
        with closing(HttpClient(endpoint, timeout=seconds, max_bytes=65_536)) as client:
            body = otlp_metrics(rollout_samples(database), time.time_ns())
            client.call("POST", f"{client.base_path}/v1/metrics", body, allow_empty=True)
    except RemoteError as error:
        return [] if error.kind == "malformed" else [f"OpenTelemetry: {error}"]
    except AssayError as error:
        return [f"OpenTelemetry: {error}"]
    return []
