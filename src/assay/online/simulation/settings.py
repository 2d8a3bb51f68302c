"""What simulated traffic is like: how many users, what they see, and how they behave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from assay.core.errors import InputError
from assay.online.interleaving import METHODS

INTERLEAVED = "interleaved"  # the arm whose users see interleaved lists
CLICK_MODELS = ("position", "cascade")


@dataclass(frozen=True, kw_only=True)
class TrafficSettings:
    """The size of the traffic, the arms of the experiment, and the behaviour of users.

    In the click model `position`, each document is examined by its rank alone; in `cascade`, users go down
    the list and stop when a click satisfies them.
    """

    users: int = 5_000
    days: int = 14
    start: datetime = datetime(2026, 1, 5, tzinfo=UTC)
    seed: int = 0
    depth: int = 10  # documents of a page
    arms: Mapping[str, float] = field(default_factory=dict)  # shares; empty: equal shares of the rankers
    method: str = "team-draft"  # of the arm `interleaved`
    experiment_id: str = "rankers"
    application: str = "helpcentre"
    click_model: str = "position"
    attraction: Sequence[float] = (0.03, 0.12, 0.35, 0.7)  # chance of a click on an examined grade 0, 1, …
    sessions_per_user: float = 1.8  # the mean; a few users have many
    latency_ms: Mapping[str, float] = field(default_factory=dict)  # the median of each arm
    cost: Mapping[str, float] = field(default_factory=dict)  # of a request of each arm
    bots: int = 0  # clients that ask without a pause and click on everything
    dirt: float = 0.0  # the share of the lines of a written log that are broken

    def __post_init__(self) -> None:
        if self.users < 1 or self.days < 1 or self.depth < 1:
            raise InputError(
                "expected 1 or more users, days and documents of a page, "
                f"found {self.users}, {self.days} and {self.depth}"
            )
        if self.click_model not in CLICK_MODELS:
            raise InputError(
                f"expected a click model of {', '.join(CLICK_MODELS)}, found {self.click_model!r}"
            )
        if self.method not in METHODS:
            raise InputError(f"expected a method of {', '.join(METHODS)}, found {self.method!r}")
        if not 0 <= self.dirt < 1 or self.bots < 0:
            raise InputError(
                f"expected dirt from 0 to 1 and 0 or more bots, found {self.dirt} and {self.bots}"
            )

    def shares(self, rankers: Sequence[str]) -> dict[str, float]:
        """Return the share of each arm, with a sum of 1."""
        arms = dict(self.arms) or dict.fromkeys(rankers, 1.0)
        unknown = [arm for arm in arms if arm not in (*rankers, INTERLEAVED)]
        if unknown or sum(arms.values()) <= 0 or min(arms.values()) < 0:
            names = ", ".join((*rankers, INTERLEAVED))
            raise InputError(f"expected shares of {names}, of 0 or more, found {arms}")
        return {arm: share / sum(arms.values()) for arm, share in arms.items()}
