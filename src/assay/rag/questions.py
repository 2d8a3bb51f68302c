"""Questions with the answers that count as correct."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.errors import InputError
from assay.core.tables import Queries

COLUMNS = ("answers", "answer", "expected_answer")  # the first of these in the table has the answers


@dataclass(frozen=True)
class Question:
    """A question, and every text that counts as its answer."""

    id: str
    text: str
    answers: tuple[str, ...]


def read_questions(queries: Queries, source: str = "the questions") -> list[Question]:
    """Return the questions of a table of queries with a column of answers.

    >>> read_questions(Queries({"query_id": ["q"], "text": ["Which port?"], "answers": [["8080"]]}))
    [Question(id='q', text='Which port?', answers=('8080',))]
    """
    column = next((name for name in COLUMNS if name in queries.columns), None)
    if column is None:
        raise InputError(
            f"{source}: expected a column {' or '.join(COLUMNS)} with the correct answer of each question, "
            f"found {', '.join(queries.columns)}"
        )
    rows = zip(queries.ids, queries.columns["text"], queries.columns[column], strict=True)
    questions = [Question(key, str(text or ""), parse_answers(value)) for key, text, value in rows]
    without = [question.id for question in questions if not question.answers]
    if without:
        shown = ", ".join(without[:5])
        raise InputError(f"{source}: {len(without):,} questions have no correct answer, such as {shown}")
    return questions


def parse_answers(value: Any) -> tuple[str, ...]:
    """Return the answers in a cell: a list, a list in JSON, or one text.

    >>> parse_answers('["Ada", "Ada Lovelace"]'), parse_answers("Ada"), parse_answers(None)
    (('Ada', 'Ada Lovelace'), ('Ada',), ())
    """
    if value is None:
        return ()
    if isinstance(value, str):
        parts = _json_list(value)
        return _texts([value] if parts is None else parts)
    if isinstance(value, Sequence):
        return _texts(value)
    return _texts([value])


def _json_list(text: str) -> Sequence[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    texts = (str(value).strip() for value in values if value is not None)
    return tuple(text for text in texts if text)
