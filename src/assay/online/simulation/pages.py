"""The pages that simulated users saw, and where they clicked."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.arrays import Floats
from assay.online.simulation.lists import ShownLists
from assay.online.simulation.users import Flags, Ints


class Turn(NamedTuple):
    """One page in each of some sessions."""

    session: Ints
    user: Ints
    query: Ints
    is_reworded: Flags
    shown: Ints  # the number of the list
    at: Floats
    latency: Floats
    clicks: Flags
    click_at: Floats


class Pages(NamedTuple):
    """All pages, in order of time."""

    turn: Turn
    arms: list[str]  # of the users
    lists: ShownLists
