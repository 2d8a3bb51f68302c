"""Which requests of a service its candidate receives, too: shared by the sync and the async wrapper."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, ParamSpec, TypeVar

from assay.rollout.shadow.answers import ReadHits, failed_answer, read_answer, read_document_ids, snapshot
from assay.rollout.shadow.counts import (
    CLOSING,
    FAULT,
    NOT_IDEMPOTENT,
    NOT_SAMPLED,
    QUEUE_FULL,
    ShadowCounts,
)
from assay.rollout.shadow.limits import DEFAULT_LIMITS, ShadowLimits
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.records import CallAnswer, Exchange

P = ParamSpec("P")
R = TypeVar("R")
Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
ReadQuery = Callable[..., str | None]


def first_text(*args: Any, **kwargs: Any) -> str | None:
    """Return the first argument that is a text.

    >>> first_text(10, "vpn", k=3)
    'vpn'
    """
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, str)), None)


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since a moment of time.perf_counter()."""
    return 1000 * (time.perf_counter() - start)


def no_client(*args: Any, **kwargs: Any) -> None:
    """Return no client: the log does not say who asked."""


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


class ShadowedFunction(Generic[P, R]):
    """What the sync and the async wrapper share: both functions, the log and the choice of requests."""

    def __init__(
        self,
        primary: Callable[P, R],
        candidate: Callable[P, Any],
        log: ShadowLog | str,
        *,
        idempotent: bool | Callable[P, bool],
        name: str = "",
        hits: ReadHits = read_document_ids,
        query: ReadQuery = first_text,
        client_id: ReadQuery = no_client,
        limits: ShadowLimits = DEFAULT_LIMITS,
    ) -> None:
        self.primary, self.candidate, self.limits = primary, candidate, limits
        options = ShadowOptions(
            name=name, idempotent=idempotent, hits=hits, query=query, client_id=client_id, limits=limits
        )
        self._offers = Offers(options, log if isinstance(log, ShadowLog) else ShadowLog(log))
        self._is_closed = False
        self._prepare()

    def _prepare(self) -> None:
        """Set up what calls the candidate."""
        raise NotImplementedError

    @property
    def counts(self) -> ShadowCounts:
        """What became of the requests."""
        return self._offers.counts

    def _offer(
        self, arguments: Arguments, result: Any, error: BaseException | None, latency_ms: float
    ) -> None:
        """Have the candidate answer a request, too; nothing that goes wrong here reaches the caller."""
        try:
            if not self._offers.choose(*arguments):
                return
            reason = self._obstacle()
            if not reason:
                reason = self._begin(self._offers.offer(arguments, snapshot(result), error, latency_ms))
        except Exception:
            reason = FAULT
        if reason:
            self.counts.leave_out(reason)
        else:
            self.counts.add_mirrored()

    def _obstacle(self) -> str:
        """Return why the candidate cannot receive a request now; empty if it can."""
        if self._is_closed:
            return CLOSING
        return "" if self._has_room() else QUEUE_FULL

    def _has_room(self) -> bool:
        """Return whether another request may wait for the candidate."""
        raise NotImplementedError

    def _begin(self, offer: Offer) -> str:
        """Have a request wait for the candidate; return why it cannot, or nothing."""
        raise NotImplementedError
