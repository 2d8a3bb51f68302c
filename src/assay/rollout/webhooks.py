"""Webhooks of rollouts: how a message is signed, and how a receiver refuses forged and replayed ones.

The headers and the signature are those of the Standard Webhooks specification 1.0: HMAC-SHA256 of the id, the
time and the body, joined by dots. The module needs nothing but the standard library, so that a receiver can
copy it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
TOLERANCE_SECONDS = 300.0
_SHORTEST_SECRET = 16
_MAX_IDS = 100_000


class RefusedWebhookError(ValueError):
    """A message that is not signed with the secret, is too old, or was received before."""


def sign_webhook(message_id: str, body: bytes, secret: str, at: float | None = None) -> dict[str, str]:
    """Return the headers of a message.

    >>> sorted(sign_webhook("a", b"{}", "a secret of 16 letters", 0.0))
    ['webhook-id', 'webhook-signature', 'webhook-timestamp']
    """
    timestamp = str(int(time.time() if at is None else at))
    signature = _signature(message_id, timestamp, body, secret)
    return {ID: message_id, TIMESTAMP: timestamp, SIGNATURE: f"v1,{signature}"}


def message_id(rollout: str, number: int) -> str:
    """Return the id of the message about a move: the same at every attempt.

    >>> message_id("new-ranker", 2)
    'msg_942a0f41c34122d5'
    """
    return f"msg_{hashlib.blake2b(f'{rollout}/{number}'.encode(), digest_size=8).hexdigest()}"


class WebhookReceiver:
    """Checks messages: the signature, the time, and that each id is accepted once; safe in one thread.

    A sender repeats a message until it is answered, with the same id: answer a repeated one with success and
    do nothing. Ids are remembered as long as their time is accepted.
    """

    def __init__(self, secret: str, tolerance_seconds: float = TOLERANCE_SECONDS) -> None:
        _check_secret(secret)
        self._secret, self._tolerance = secret, tolerance_seconds
        self._seen: OrderedDict[str, float] = OrderedDict()

    def receive(self, headers: Mapping[str, str], body: bytes, now: float | None = None) -> dict[str, Any]:
        """Return the message, or raise RefusedWebhookError."""
        now = time.time() if now is None else now
        lowered = {name.lower(): value for name, value in headers.items()}
        try:
            message, timestamp, signatures = lowered[ID], lowered[TIMESTAMP], lowered[SIGNATURE]
            sent_at = float(int(timestamp))
        except (KeyError, ValueError):
            raise RefusedWebhookError(f"expected the headers {ID}, {TIMESTAMP} and {SIGNATURE}") from None
        expected = _signature(message, timestamp, body, self._secret)
        given = [part.partition(",")[2] for part in signatures.split() if part.startswith("v1,")]
        if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in given):
            raise RefusedWebhookError("the message is not signed with this secret")
        if abs(now - sent_at) > self._tolerance:
            raise RefusedWebhookError(f"the message was sent {abs(now - sent_at):.0f} s from now")
        self._remember(message, now)
        value = json.loads(body)
        assert isinstance(value, dict)
        return value

    def _remember(self, message: str, now: float) -> None:
        while self._seen and next(iter(self._seen.values())) < now - 2 * self._tolerance:
            self._seen.popitem(last=False)
        if message in self._seen:
            raise RefusedWebhookError("the message was received before")
        if len(self._seen) >= _MAX_IDS:
            raise RefusedWebhookError("too many messages at once")
        self._seen[message] = now


def _signature(message: str, timestamp: str, body: bytes, secret: str) -> str:
    _check_secret(secret)
    content = b".".join((message.encode(), timestamp.encode(), body))
    return base64.b64encode(hmac.new(secret.encode(), content, hashlib.sha256).digest()).decode()


def _check_secret(secret: str) -> None:
    if len(secret) < _SHORTEST_SECRET:
        raise ValueError(
            f"the secret of webhooks: expected at least {_SHORTEST_SECRET} characters, found {len(secret)}"
        )
