"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, choices: Iterable[str], closeness: float = 0.6) -> str:
    """Return the question whether the closest choice was meant, empty if none is close (0 to 1).

    >>> did_you_mean("sede", ["lists", "seed"]), did_you_mean("x", ["lists"])
    ('did you mean seed?', '')
    """
    matches = get_close_matches(name, list(choices), n=1, cutoff=closeness)
    return f"did you mean {matches[0]}?" if matches else ""
