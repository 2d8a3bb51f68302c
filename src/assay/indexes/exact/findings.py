"""The findings of an audit of a truth file."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One finding: how often it occurs, an example, and its effect on recall."""

    name: str
    wrong: bool  # False: worth knowing, but not an error
    cases: int
    out_of: int
    example: str
    effect: str
    of: str = "queries"

    @property
    def share(self) -> float | None:
        """The share of the queries (or rows) that it occurs in."""
        return self.cases / self.out_of if self.out_of else None


def error_finding(name: str, cases: int, out_of: int, example: str, effect: str) -> Finding:
    """Return a finding that is an error.

    >>> error_finding("padding", 1, 4, "query 0", "cannot be hit").share
    0.25
    """
    return Finding(name, True, cases, out_of, example, effect)


def note_finding(name: str, cases: int, out_of: int, example: str, effect: str) -> Finding:
    """Return a finding that is not an error but matters for the interpretation of recall."""
    return Finding(name, False, cases, out_of, example, effect)
