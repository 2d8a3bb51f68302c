"""How often somebody may ask, and try to log in; each server counts for itself."""

from __future__ import annotations

import time
from collections.abc import Sequence

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

LOGINS_OF_ACCOUNT = ("5/minute", "30/hour")
LOGINS_OF_ADDRESS = ("30/minute", "300/hour")


class RequestLimits:
    """Counts requests of people and addresses, and logins of accounts and addresses."""

    def __init__(self, requests_per_minute: int) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._requests = (parse(f"{requests_per_minute}/minute"),)
        self._logins = {
            "account": tuple(map(parse, LOGINS_OF_ACCOUNT)),
            "address": tuple(map(parse, LOGINS_OF_ADDRESS)),
        }

    def seconds_until_request(self, who: str) -> int:
        """Count a request; return 0, or how many seconds to wait if there were too many."""
        return self._count(self._requests, "request", who)

    def seconds_until_login(self, account: str, address: str) -> int:
        """Count an attempt to log in; return 0, or how many seconds to wait if there were too many."""
        return max(
            self._count(self._logins["account"], "account", account.strip().lower()[:64]),
            self._count(self._logins["address"], "address", address),
        )

    def _count(self, items: Sequence[RateLimitItem], *key: str) -> int:
        waits = [0]
        for item in items:
            if not self._limiter.hit(item, *key):
                reset = self._limiter.get_window_stats(item, *key).reset_time
                waits.append(max(1, round(reset - time.time())))
        return max(waits)
