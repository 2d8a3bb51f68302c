"""The simulation: sessions take turns of a query, clicks and what follows, all sessions at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.events import Events
from assay.core.tables import Qrels, Queries
from assay.online.simulation.lists import Needs, RankingsOfQueries, ShownLists
from assay.online.simulation.log import build_events, write_log
from assay.online.simulation.pages import Pages, Turn
from assay.online.simulation.settings import TrafficSettings
from assay.online.simulation.users import (
    DAY,
    Flags,
    Ints,
    Sessions,
    Users,
    click_chances,
    draw_clicks,
    draw_dwell,
    draw_sessions,
    draw_users,
)

_MOST_TURNS = 8
_GOOD_GRADE = 2
_NEW_NEED = (
    0.08,
    0.2,
)  # the chance of another question after a page that did not help, and after one that did
_REFORMULATION = 0.45  # the chance to ask again after a page that did not help
_BOT_PAGES, _BOT_SECONDS = 240, 1.5
_DEFAULT_LATENCY, _DEFAULT_COST = 40.0, 0.0


@dataclass(frozen=True)
class SimulatedTraffic:
    """The pages and clicks of simulated users."""

    settings: TrafficSettings
    pages: Pages

    @property
    def counts(self) -> dict[str, int]:
        """How many users, sessions, queries and clicks there are."""
        turn = self.pages.turn
        return {
            "users": len(np.unique(turn.user)),
            "sessions": len(np.unique(turn.session)),
            "queries": len(turn.user),
            "clicks": int(turn.clicks.sum()),
        }

    def events(self) -> Events:
        """Return the normalised log, without writing it."""
        return build_events(self.pages, self.settings)

    def write(self, path: str | Path) -> Path:
        """Write the log as UBI, one JSON object on a line, and return its path."""
        return write_log(self.events(), Path(path), self.settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return dict(self.counts)


def simulate(
    rankings: Mapping[str, RankingsOfQueries],
    queries: Queries,
    qrels: Qrels,
    settings: TrafficSettings | None = None,
) -> SimulatedTraffic:
    """Simulate users who search with rankers (the documents of each query id), and click by the grades.

    Each user stays in one arm: sees the lists of one ranker, or interleaved ones. The same settings give the
    same traffic.
    """
    settings = settings or TrafficSettings()
    return SimulatedTraffic(settings, _Simulation(rankings, Needs(queries, qrels), settings).pages())


class _Simulation:
    """One run of a simulation."""

    def __init__(
        self, rankings: Mapping[str, RankingsOfQueries], needs: Needs, settings: TrafficSettings
    ) -> None:
        self.settings, self.needs = settings, needs
        self.lists = ShownLists(rankings, needs, settings)
        self.rng = np.random.default_rng(settings.seed)
        shares = settings.shares(self.lists.rankers)
        self.arm_names = list(shares)
        self.users = draw_users(settings, np.array([*shares.values()]), self.rng)
        self.medians = np.array([settings.latency_ms.get(arm, _DEFAULT_LATENCY) for arm in shares])

    def pages(self) -> Pages:
        sessions = draw_sessions(self.settings, self.rng)
        turns = self._turns(sessions)
        if self.settings.bots:
            turns.append(self._bot_turn(len(sessions.user)))
        joined = [np.concatenate(parts) for parts in zip(*turns, strict=True)]
        order = np.argsort(joined[Turn._fields.index("at")], kind="stable")
        arms = [self.arm_names[arm] for arm in self.users.arm.tolist()]
        return Pages(Turn(*(part[order] for part in joined)), arms, self.lists)

    def _turns(self, sessions: Sessions) -> list[Turn]:
        """Return the first pages of all sessions, then the second ones of those that go on, and so on."""
        number, at = np.arange(len(sessions.user)), sessions.begin
        query = self._draw_needs(len(number))
        is_reworded = np.zeros(len(number), dtype=bool)
        turns: list[Turn] = []
        while len(number) and len(turns) < _MOST_TURNS:
            turn, end, is_helped = self._turn(number, sessions.user[number], query, is_reworded, at)
            turns.append(turn)
            chance = self.rng.random(len(number))
            is_new = chance < np.where(is_helped, _NEW_NEED[1], _NEW_NEED[0])
            asks_again = ~is_helped & ~is_new & (chance < _REFORMULATION + _NEW_NEED[0])
            query, is_reworded = self._next_queries(query, is_new)
            goes_on = is_new | asks_again
            number, at = number[goes_on], end[goes_on]
            query, is_reworded = query[goes_on], is_reworded[goes_on]
        return turns

    def _draw_needs(self, n: int) -> Ints:
        return self.rng.choice(len(self.needs.ids), n, p=self.needs.popularity)

    def _next_queries(self, query: Ints, is_new: Flags) -> tuple[Ints, Flags]:
        """Return another need, or the same one in the words of a related query or of its own."""
        related = self.needs.related[query]
        following = np.where(is_new, self._draw_needs(len(query)), related)
        return following, ~is_new & (related == query)

    def _turn(
        self, session: Ints, user: Ints, query: Ints, is_reworded: Flags, at: Floats
    ) -> tuple[Turn, Floats, Flags]:
        """Return the pages of a turn, when it ends, and whether it helped."""
        users = self.users.take(user)
        shown = self.lists.of_pages([self.arm_names[arm] for arm in users.arm.tolist()], user, query)
        grades = self.lists.grades(shown)
        chances = click_chances(grades, users.tendency, np.asarray(self.settings.attraction, float))
        clicks = draw_clicks(grades, chances, self.settings.click_model, self.rng)
        dwell = draw_dwell(grades, clicks, self.rng)
        spent = np.cumsum(dwell + 2.0 * clicks, axis=1)
        latency = self._latency(users)
        click_at = at[:, None] + latency[:, None] / 1_000 + 2.0 + 0.8 * np.arange(grades.shape[1])
        click_at = click_at + spent - dwell
        end: Floats = at + 8.0 + spent[:, -1] + self.rng.gamma(2.0, 6.0, len(at))
        is_helped = np.any(clicks & (grades >= _GOOD_GRADE), axis=1)
        turn = Turn(session, user, query, is_reworded, shown, at, latency, clicks, click_at)
        return turn, end, is_helped

    def _latency(self, users: Users) -> Floats:
        """Return milliseconds: slower for some users, with a few slow requests."""
        n = len(users.arm)
        slow = np.where(self.rng.random(n) < 0.02, 6.0, 1.0)
        latency: Floats = self.medians[users.arm] * users.slowness * slow * np.exp(self.rng.normal(0, 0.3, n))
        return latency

    def _bot_turn(self, first_session: int) -> Turn:
        """Return the pages of bots, which are further users."""
        bots = self.settings.bots
        arms = self.rng.integers(0, len(self.arm_names), bots)
        extra = Users(arms, np.zeros(bots), np.ones(bots))
        self.users = self.users.extend(extra)
        bot = np.repeat(np.arange(bots), _BOT_PAGES)
        begin = self.rng.uniform(0, (self.settings.days - 0.1) * DAY, bots)
        at = begin[bot] + np.tile(np.arange(_BOT_PAGES), bots) * _BOT_SECONDS
        user, query = bot + self.settings.users, self.rng.integers(0, len(self.needs.ids), len(bot))
        is_reworded = np.zeros(len(bot), dtype=bool)
        turn, _, _ = self._turn(first_session + bot, user, query, is_reworded, at)
        clicks = self.lists.grades(turn.shown) >= 0
        return turn._replace(clicks=clicks, click_at=at[:, None] + 0.1 * np.arange(1, clicks.shape[1] + 1))
