"""The judgments of a table as rows of texts and numbers, as files hold them."""

from __future__ import annotations

from typing import Any

from assay.core.judgments import SCHEMA, Judgments


def plain_rows(judgments: Judgments) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and the rows; a column that is empty everywhere is left out."""
    frame = judgments.frame
    names = [name for name in SCHEMA if name not in ("at", "source", "note") or _has_values(frame, name)]
    columns = [_plain_column(name, frame[name].to_list()) for name in names]
    return names, [list(row) for row in zip(*columns, strict=True)]


def _has_values(frame: Any, name: str) -> bool:
    return any(value not in (None, "") for value in frame[name].to_list())


def _plain_column(name: str, values: list[Any]) -> list[Any]:
    if name == "grade":
        return [None if value is None else plain_grade(value) for value in values]
    return [value.isoformat() if name == "at" and value is not None else value for value in values]


def plain_grade(value: float) -> int | float:
    """Return a grade as a whole number if it is one.

    >>> plain_grade(2.0), plain_grade(0.5)
    (2, 0.5)
    """
    return int(value) if value.is_integer() else value
