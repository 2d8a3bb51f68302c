"""Interleaved result lists: built while serving, without any library, and credited from logs of clicks."""

from assay.online.interleaving.lists import (
    METHODS,
    InterleavedList,
    balanced,
    interleave,
    probabilistic,
    team_draft,
)

__all__ = ["METHODS", "InterleavedList", "balanced", "interleave", "probabilistic", "team_draft"]
