"""The latency objective (SLO) of a request: the share of the answers within so many milliseconds."""

from __future__ import annotations

from typing import Any, Protocol

from assay.core.errors import InputError
from assay.stats import Estimate


class LatencySource(Protocol):
    """Measured latencies."""

    def slo(self, ms: float) -> Estimate:
        """Return the share of the requests answered within so many milliseconds."""


def check_slo(ms: float | None) -> None:
    """Refuse an objective that no request can meet."""
    if ms is not None and not ms > 0:
        raise InputError(f"--slo: expected milliseconds above 0, found {ms:g}")


def slo_dict(source: LatencySource, ms: float | None) -> dict[str, Any]:
    """Return the share within the objective under the key `slo`, or nothing if there is no objective."""
    return {} if ms is None else {"slo": {"ms": ms, **source.slo(ms).to_dict()}}
