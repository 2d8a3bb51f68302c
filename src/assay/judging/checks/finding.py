"""What a check of an evaluation set found, and how much it matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

INFO, WARNING, ERROR = "info", "warning", "error"
SEVERITIES = (ERROR, WARNING, INFO)  # the most severe first
EXAMPLES = 5  # how many examples of a finding are kept

Example = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """A fault or a fact of an evaluation set: how often it occurs, examples, and how to repair it.

    error: scores from this set are wrong until it is repaired. warning: scores can mislead. info: a fact
    that a reader of the scores should know.
    """

    kind: str
    severity: str
    count: int
    message: str
    fix: str
    examples: Sequence[Example] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the finding."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "count": self.count,
            "message": self.message,
            "examples": [dict(example) for example in self.examples],
            "fix": self.fix,
        }


def examples_of(rows: pl.DataFrame, limit: int = EXAMPLES) -> list[dict[str, Any]]:
    """Return the first rows of a frame as examples."""
    return rows.head(limit).to_dicts()


def agree(number: int, singular: str, plural: str) -> str:
    """Return the form of a verb that agrees with a number.

    >>> agree(1, "is", "are"), agree(2, "is", "are")
    ('is', 'are')
    """
    return singular if number == 1 else plural


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> count_of(1, "query", "queries"), count_of(1200, "document")
    ('1 query', '1,200 documents')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
