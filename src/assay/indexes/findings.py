"""What an audit says of a truth file."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that was found: how often, where for example, and what it does to a recall."""

    name: str
    wrong: bool  # or only worth knowing
    cases: int
    out_of: int
    example: str
    effect: str
    of: str = "queries"

    @property
    def share(self) -> float | None:
        """The share of the queries (or rows) it was found in."""
        return self.cases / self.out_of if self.out_of else None


def wrong(name: str, cases: int, out_of: int, example: str, effect: str) -> Finding:
    """Something that must not be.

    >>> wrong("padding", 1, 4, "query 0", "cannot be hit").share
    0.25
    """
    return Finding(name, True, cases, out_of, example, effect)


def worth_knowing(name: str, cases: int, out_of: int, example: str, effect: str) -> Finding:
    """Something that may be, and matters when a recall is read."""
    return Finding(name, False, cases, out_of, example, effect)
