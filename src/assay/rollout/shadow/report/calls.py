"""How fast the calls of each system were, and how they failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.rollout.shadow.records import CANDIDATE, NOT_CALLED, PRIMARY, ROLES, CallAnswer
from assay.rollout.shadow.report.exchanges import LoggedExchange
from assay.stats import Estimate
from assay.stats.clustered_quantiles import clustered_quantile
from assay.stats.intervals import estimate_share

QUANTILES = (0.5, 0.95, 0.99)
_TIMED_ERRORS = ("", "timeout", "malformed", "too large")  # other failures end early, or never began


@dataclass(frozen=True)
class RoleLatency:
    """The latency of the calls of one role, in milliseconds; a timeout counts as its limit."""

    role: str
    calls: int
    quantiles: Mapping[str, Estimate]  # p50, p95, p99; n counts clients, or queries

    def to_dict(self) -> dict[str, Any]:
        """Return the latency as plain data."""
        quantiles = {name: e.to_dict() for name, e in self.quantiles.items()}
        return {"role": self.role, "calls": self.calls, **quantiles}


@dataclass(frozen=True)
class ErrorClass:
    """One kind of failure of the calls of one role."""

    role: str
    kind: str
    count: int
    share: Estimate  # of its calls
    query: str  # of the first one
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return the failures as plain data."""
        return {**vars(self), "share": self.share.to_dict()}


def measure_latency(exchanges: Sequence[LoggedExchange], level: float) -> list[RoleLatency]:
    """Return the latency of each role, with intervals over clients, or over queries if none is named."""
    return [_latency(role, list(_calls(exchanges, role)), level) for role in ROLES]


def latency_unit(exchanges: Sequence[LoggedExchange]) -> str:
    """Return what the intervals of latencies are over: clients, or queries if no client is named."""
    return "client" if any(exchange.client_id for exchange in exchanges) else "query"


def _latency(role: str, calls: list[tuple[LoggedExchange, CallAnswer]], level: float) -> RoleLatency:
    timed = [(exchange, answer) for exchange, answer in calls if answer.error in _TIMED_ERRORS]
    values = np.array([answer.latency_ms for _, answer in timed], np.float64)
    owners = [exchange.client_id or exchange.query for exchange, _ in timed]
    codes = np.unique(np.array(owners, object), return_inverse=True)[1] if owners else np.zeros(0, np.int64)
    quantiles = {f"p{100 * q:g}": clustered_quantile(values, codes, q, level).estimate for q in QUANTILES}
    return RoleLatency(role, len(timed), quantiles)


def _calls(exchanges: Sequence[LoggedExchange], role: str) -> Iterator[tuple[LoggedExchange, CallAnswer]]:
    """Yield the calls of a role that were made."""
    for exchange in exchanges:
        answer = exchange.answers.get(role)
        if answer is not None and answer.error != NOT_CALLED.error:
            yield exchange, answer


def find_errors(exchanges: Sequence[LoggedExchange], level: float) -> list[ErrorClass]:
    """Return the kinds of failures of each role, the most frequent first."""
    return [error for role in ROLES for error in _role_errors(role, list(_calls(exchanges, role)), level)]


def _role_errors(
    role: str, calls: list[tuple[LoggedExchange, CallAnswer]], level: float
) -> Iterator[ErrorClass]:
    failed = [(exchange, answer) for exchange, answer in calls if answer.error]
    first = {answer.error: (exchange, answer) for exchange, answer in reversed(failed)}
    for kind, count in Counter(answer.error for _, answer in failed).most_common():
        exchange, answer = first[kind]
        share = estimate_share(count, len(calls), level)
        yield ErrorClass(role, kind, count, share, exchange.query, answer.message)


def failed_alone(exchanges: Sequence[LoggedExchange]) -> dict[str, int]:
    """Return how often the candidate failed where the primary did not, and the reverse."""
    pairs = [tuple(e.answers[role].error for role in (PRIMARY, CANDIDATE)) for e in exchanges]
    called = [(primary, candidate) for primary, candidate in pairs if candidate != NOT_CALLED.error]
    return {
        CANDIDATE: sum(not primary and bool(candidate) for primary, candidate in called),
        PRIMARY: sum(bool(primary) and not candidate for primary, candidate in called),
    }
