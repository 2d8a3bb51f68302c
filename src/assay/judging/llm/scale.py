"""The grades that a judge may give, each with its meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from assay.core.errors import InputError

_OTHER, _TOPIC = "the document is about something else", "same topic, but the query is not answered"
_PART, _FULL = "the query is answered in part", "the document is exactly about the query and answers it fully"
_MEANINGS = {
    1: ("the document does not answer the query", "the document answers the query"),
    2: ("the document does not answer the query", _PART, _FULL),
    3: (_OTHER, _TOPIC, _PART, _FULL),
    4: (_OTHER, _TOPIC, "a small part of the query is answered", "most of the query is answered", _FULL),
}


class Scale(NamedTuple):
    """Whole grades from 0 upwards with their meanings; 0 is not relevant."""

    meanings: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the scale of a text such as 0-3.

        >>> Scale.parse("0-1").grades
        (0, 1)
        """
        match = re.fullmatch(r"0\s*[-–]\s*(\d)", text.strip())
        if not match or int(match[1]) not in _MEANINGS:
            scales = ", ".join(f"0-{top}" for top in _MEANINGS)
            raise InputError(f"grades: expected one of {scales}, found {text!r}")
        return cls(_MEANINGS[int(match[1])])

    @property
    def grades(self) -> tuple[int, ...]:
        """All grades."""
        return tuple(range(len(self.meanings)))

    def schema(self) -> Mapping[str, Any]:
        """Return the JSON schema of a reply."""
        return {
            "type": "object",
            "properties": {"grade": {"type": "integer", "enum": list(self.grades)}},
            "required": ["grade"],
            "additionalProperties": False,
        }
