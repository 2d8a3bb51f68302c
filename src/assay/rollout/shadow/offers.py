"""Which requests of a service its candidate receives, too: shared by the sync and the async wrapper."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from assay.rollout.shadow.answers import ReadHits, failed_answer, read_answer
from assay.rollout.shadow.counts import NOT_IDEMPOTENT, NOT_SAMPLED
from assay.rollout.shadow.limits import ShadowLimits
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.records import CallAnswer, Exchange

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
ReadQuery = Callable[..., str | None]


def first_text(*args: Any, **kwargs: Any) -> str | None:
    """Return the first argument that is a text.

    >>> first_text(10, "vpn", k=3)
    'vpn'
    """
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, str)), None)


@dataclass(frozen=True)
class Offer:
    """A call of the primary that ended, for the candidate to answer, too."""

    arguments: Arguments
    result: Any
    error: BaseException | None
    latency_ms: float
    is_repeated: bool
    exchange: Exchange = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ShadowOptions:
    """What a wrapper samples, and how it reads arguments and results."""

    name: str
    idempotent: bool | Callable[..., bool]
    hits: ReadHits
    query: ReadQuery
    client_id: ReadQuery
    limits: ShadowLimits


class Offers:
    """Chooses the requests that are mirrored, and logs what came of them."""

    def __init__(self, options: ShadowOptions, log: ShadowLog) -> None:
        self.options, self.log, self.counts = options, log, log.counts
        self._random = random.Random(options.limits.seed)

    def choose(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Return whether a request is mirrored; one that is not is counted."""
        self.counts.add_request()
        idempotent = self.options.idempotent
        if not (idempotent(*args, **kwargs) if callable(idempotent) else idempotent):
            self.counts.leave_out(NOT_IDEMPOTENT)
            return False
        if self._random.random() >= self.options.limits.sample:
            self.counts.leave_out(NOT_SAMPLED)
            return False
        return True

    def offer(
        self, arguments: Arguments, result: Any, error: BaseException | None, latency_ms: float
    ) -> Offer:
        """Return a request with what is logged of it."""
        args, kwargs = arguments
        options = self.options
        query = client = None
        with suppress(Exception):  # a fault of these functions must not reach the caller
            query = options.query(*args, **kwargs)
            client = options.client_id(*args, **kwargs)
        waiting = CallAnswer(0.0)
        exchange = Exchange(query, waiting, waiting, name=options.name, client_id=client)
        repeated = self._random.random() < options.limits.repeat
        return Offer(arguments, result, error, latency_ms, repeated, exchange)

    def record(self, offer: Offer, candidate: CallAnswer, repeat: CallAnswer | None) -> None:
        """Log the answers to a request."""
        if offer.error is not None:
            primary = failed_answer(offer.error, offer.latency_ms)
        else:
            primary = read_answer(self.options.hits, offer.result, offer.latency_ms)
        self.log.put(replace(offer.exchange, primary=primary, candidate=candidate, repeat=repeat))


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since a moment of time.perf_counter()."""
    return 1000 * (time.perf_counter() - start)


def no_client(*args: Any, **kwargs: Any) -> None:
    """Return no client: the log does not say who asked."""


def open_log(log: ShadowLog | str) -> ShadowLog:
    """Return the log of a path, or the log itself."""
    return log if isinstance(log, ShadowLog) else ShadowLog(log)
