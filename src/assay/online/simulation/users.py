"""Simulated users: who they are, when they come, and where they click."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.arrays import Floats
from assay.online.simulation.settings import TrafficSettings

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
DAY = 86_400.0
_WEEKEND = 0.45  # the traffic of Saturday and Sunday, beside that of a working day
_EXAMINATION = 0.8  # the chance to examine rank r is r^-0.8
_CONTINUATION = 0.85  # the chance to go on to the next rank, without a satisfying click
_SPREAD_OF_USERS = 0.5  # of their tendency to click, in log-odds
_SESSION_SHAPE = 0.7  # of the gamma distribution of activity: the smaller, the more unequal


class Users(NamedTuple):
    """The users: the arm, the tendency to click and the speed of the connection of each."""

    arm: Ints
    tendency: Floats  # added to the log-odds of a click
    slowness: Floats  # a factor of the latency

    def take(self, rows: Ints) -> Users:
        """Return the users of these numbers."""
        return Users(self.arm[rows], self.tendency[rows], self.slowness[rows])

    def extend(self, others: Users) -> Users:
        """Return these users and then the others."""
        return Users(
            np.concatenate((self.arm, others.arm)),
            np.concatenate((self.tendency, others.tendency)),
            np.concatenate((self.slowness, others.slowness)),
        )


class Sessions(NamedTuple):
    """The sessions: the user of each, and its begin in seconds."""

    user: Ints
    begin: Floats


def draw_users(settings: TrafficSettings, shares: Floats, rng: np.random.Generator) -> Users:
    """Return users, each in one arm at random."""
    n = settings.users
    arms = rng.choice(len(shares), n, p=shares)
    return Users(arms, rng.normal(0, _SPREAD_OF_USERS, n), np.exp(rng.normal(0, 0.35, n)))


def draw_sessions(settings: TrafficSettings, rng: np.random.Generator) -> Sessions:
    """Return one or more sessions of each user, more on working days and around noon, in order of time."""
    extra = max(settings.sessions_per_user - 1, 0.0)
    activity = rng.gamma(_SESSION_SHAPE, extra / _SESSION_SHAPE, settings.users)
    users = np.repeat(np.arange(settings.users), 1 + rng.poisson(activity))
    weekdays = (settings.start.weekday() + np.arange(settings.days)) % 7
    weights = np.where(weekdays >= 5, _WEEKEND, 1.0)
    days = rng.choice(settings.days, len(users), p=weights / weights.sum())
    hours = np.clip(rng.normal(13.0, 3.5, len(users)), 0.0, 23.0)
    begins = days * DAY + hours * 3_600
    order = np.argsort(begins, kind="stable")
    return Sessions(users[order], begins[order])


def click_chances(grades: Ints, tendency: Floats, attraction: Floats) -> Floats:
    """Return the chance of a click on each examined document (-1: there is none)."""
    base = np.append(attraction, 0.0)[np.clip(grades, -1, len(attraction) - 1)]
    odds = base / (1 - base) * np.exp(tendency)[:, None]
    chances: Floats = odds / (1 + odds)
    return chances


def draw_clicks(grades: Ints, chances: Floats, model: str, rng: np.random.Generator) -> Flags:
    """Return on which documents of each page the user clicks."""
    if model == "position":
        examined = np.arange(1, grades.shape[1] + 1) ** -_EXAMINATION
        return rng.random(grades.shape) < chances * examined
    clicks = np.zeros(grades.shape, dtype=bool)
    is_going_on = np.ones(len(grades), dtype=bool)
    for rank in range(grades.shape[1]):
        clicks[:, rank] = is_going_on & (rng.random(len(grades)) < chances[:, rank])
        is_satisfied = clicks[:, rank] & (rng.random(len(grades)) < grades[:, rank] / 3.5)
        is_going_on &= ~is_satisfied & (rng.random(len(grades)) < _CONTINUATION)
    return clicks


def draw_dwell(grades: Ints, clicks: Flags, rng: np.random.Generator) -> Floats:
    """Return the seconds after each click, longer on better documents, and 0 where there is none."""
    median = 8.0 + 15.0 * np.maximum(grades, 0)
    seconds = np.minimum(median * np.exp(rng.normal(0, 0.6, grades.shape)), 600.0)
    dwell: Floats = np.where(clicks, seconds, 0.0)
    return dwell
