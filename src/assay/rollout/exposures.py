"""Exposures: that a unit was shown its arm, as UBI events and in OpenTelemetry's form of a flag evaluation.

The module needs nothing but the standard library, so that it can run where requests are served.
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from assay.rollout.assignment import Assignment

ACTION = "exposure"
_MAX_UNITS = 100_000


def query_attributes(experiment: str, assignment: Assignment) -> dict[str, str]:
    """Return what the UBI query of a request carries in query_attributes; nothing of a unit outside.

    >>> query_attributes("new-ranker", Assignment("treatment", "assigned"))
    {'experiment_id': 'new-ranker', 'variant': 'treatment'}
    >>> query_attributes("new-ranker", Assignment("control", "outside the coverage"))
    {}
    """
    return {"experiment_id": experiment, "variant": assignment.arm} if assignment.is_counted else {}


def ubi_exposure(
    experiment: str, unit: str, arm: str, at: datetime | None = None, application: str = ""
) -> dict[str, Any]:
    """Return an exposure as a UBI event."""
    return {
        **({"application": application} if application else {}),
        "action_name": ACTION,
        "client_id": unit,
        "timestamp": (at or datetime.now(UTC)).isoformat(),
        "message_type": "INFO",
        "message": f"{experiment}: {arm}",
        "event_attributes": {"experiment_id": experiment, "variant": arm},
    }


def otel_exposure(experiment: str, unit: str, arm: str, at: datetime | None = None) -> dict[str, Any]:
    """Return an exposure as an OpenTelemetry event by the conventions for feature flags."""
    at = at or datetime.now(UTC)
    return {
        "event.name": "feature_flag.evaluation",
        "timeUnixNano": str(int(at.timestamp() * 1_000_000) * 1000),
        "attributes": {
            "feature_flag.key": experiment,
            "feature_flag.result.variant": arm,
            "feature_flag.result.reason": "split",
            "feature_flag.context.id": unit,
            "feature_flag.provider.name": "assay",
        },
    }


class ExposureLog:
    """Appends exposures to a file as UBI lines, each unit of an experiment once; safe in several threads.

    It is what `ExposureHook` reports to: `ExposureHook(ExposureLog("exposures.jsonl").report)`.
    """

    def __init__(self, path: str | os.PathLike[str], application: str = "") -> None:
        self._file: TextIO = open(path, "a", encoding="utf-8")  # noqa: SIM115 (closed by close)
        self._application = application
        self._seen: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def report(self, experiment: str, unit: str, arm: str) -> None:
        """Write an exposure unless it was written lately."""
        key = (experiment, unit, arm)
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
                return
            self._seen[key] = None
            if len(self._seen) > _MAX_UNITS:
                self._seen.popitem(last=False)
            self._write(ubi_exposure(experiment, unit, arm, application=self._application))

    def _write(self, event: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
