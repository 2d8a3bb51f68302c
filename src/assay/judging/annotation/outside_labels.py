"""Labels that were made outside of a project, and what becomes of them when they are imported."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple


class OutsideLabel(NamedTuple):
    """A label that was made elsewhere."""

    query_id: str
    doc_id: str
    rater: str
    grade: float | None
    at: datetime | None
    note: str
    source: str  # where it is from


@dataclass(frozen=True)
class LabelImport:
    """What became of labels made elsewhere; `examples` has a pair of each kind that was left out."""

    added: int = 0
    changed: int = 0  # the rater had given another grade before
    unchanged: int = 0  # the rater had given this grade before
    over_quota: int = 0  # left out: the pair had all its judgments
    unknown_pairs: int = 0  # left out: the pair is not in the project
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {**vars(self), "examples": {kind: list(pair) for kind, pair in self.examples.items()}}
