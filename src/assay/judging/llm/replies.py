"""Read the grade in a reply. A reply that does not say exactly one grade of the scale is no label."""

from __future__ import annotations

import json
import re
from typing import Any

from assay.judging.judge import Rating
from assay.models.language_model import Reply

THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
FENCE = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)
_PLAIN = re.compile(r"(?:the\s+)?(?:final\s+)?(?:grade|score|o)?\s*(?:is|:|=)?\s*(\d+)\s*\.?", re.IGNORECASE)
_REFUSALS = re.compile(
    r"\A\W*(?:i['’]?m sorry|i am sorry|sorry\b|i can(?:no|['’])t|i can not|i am unable|i['’]m unable"
    r"|as an ai\b|i won['’]t|unfortunately,? i)",
    re.IGNORECASE,
)
_REFUSING_REASONS = ("content_filter", "refusal")


def read_rating(reply: Reply, grades: tuple[int, ...]) -> Rating:
    """Return the grade of a reply, or why there is none.

    >>> read_rating(Reply('{"grade": 2}', "stop"), (0, 1, 2, 3))
    Rating(grade=2, problem='', reason='')
    >>> read_rating(Reply("2 or 3", "stop"), (0, 1, 2, 3)).problem
    'unreadable'
    """
    if reply.problem:
        return Rating(None, "unreadable", reply.problem)
    if reply.refusal or reply.finish_reason in _REFUSING_REASONS:
        return Rating(None, "refused", reply.refusal or f"the server ended the reply: {reply.finish_reason}")
    text = THINKING.sub("", reply.text).strip()
    grade = _grade_in(text)
    if grade is None and _REFUSALS.match(text):
        return Rating(None, "refused", text[:200])
    if grade is None:
        cut = " (cut at max_tokens)" if reply.finish_reason == "length" else ""
        return Rating(None, "unreadable", f"expected one grade, found {text[:200]!r}{cut}")
    if grade not in grades:
        return Rating(None, "unreadable", f"expected a grade from 0 to {grades[-1]}, found {grade}")
    return Rating(grade)


def _grade_in(text: str) -> int | None:
    """Return the one whole number that a text gives as the grade."""
    fenced = FENCE.match(text)
    text = fenced[1] if fenced else text
    if plain := _PLAIN.fullmatch(text):
        return int(plain[1])
    try:
        value = json.loads(text, object_pairs_hook=_unique_fields)
    except ValueError:
        return None
    grade = value.get("grade") if isinstance(value, dict) else value
    if isinstance(grade, str) and grade.strip().isdecimal():
        return int(grade)
    return grade if isinstance(grade, int) and not isinstance(grade, bool) else None


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field appears twice")
    return dict(pairs)
