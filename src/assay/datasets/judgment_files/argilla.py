"""Records of Argilla as JSON, in the form of `records.to_json` and in that of its first version.

    [{"id": "1", "fields": {…}, "metadata": {"query_id": "q1", "doc_id": "d1"},
      "responses": {"grade": [{"value": 2, "user_id": "…"}]}}]
    [{"external_id": "1", "fields": {…}, "metadata": {…},
      "responses": [{"user_id": "…", "status": "submitted", "values": {"grade": {"value": 2}}}]}]

The query and the document are in the metadata or the fields; without them, the id of the record is the item.
Suggestions are not judgments. A discarded response is "could not rate"; a draft is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.columns import match_columns
from assay.core.errors import FormatError, TableError
from assay.core.judgments import ALIASES, Judgments
from assay.datasets.judgment_files.cells import Cells
from assay.datasets.judgment_files.json_records import JsonContent
from assay.datasets.judgment_files.plain_rows import plain_grade

GRADE, NOTE = "grade", "note"
Response = tuple[str, str, Any]  # user, question and value


def is_argilla(content: JsonContent) -> bool:
    """Return whether a file has records of Argilla."""
    return content.first_with("responses") and content.first_with("fields")


def read_argilla(content: JsonContent, columns: Mapping[str, str]) -> Cells:
    """Return the responses of records, one row for each user and record."""
    records = [(place, record, _responses(content, place, record)) for place, record in content.objects()]
    questions = {name for _, _, responses in records for _, name, _ in responses}
    question = choose_control(questions, columns, content.label, "questions")
    rows = []
    for place, record, responses in records:
        pair = find_pair(record, (record.get("metadata"), record.get("fields")), columns)
        notes = {user: value for user, name, value in responses if name == NOTE}
        rows += [
            (place, {**pair, "judge": user, "grade": value, "note": notes.get(user) or ""})
            for user, name, value in responses
            if name == question
        ]
    return content.cells(rows)


def _responses(content: JsonContent, place: int, record: Mapping[str, Any]) -> list[Response]:
    """Return the responses of a record in either form."""
    responses = record.get("responses") or {}
    try:
        if isinstance(responses, dict):
            return [
                (str(answer["user_id"]), name, answer.get("value"))
                for name, answers in responses.items()
                for answer in answers or ()
                if answer.get("status") != "draft"
            ]
        return [part for answer in responses for part in _first_version(answer)]
    except (AttributeError, KeyError, TypeError):
        shape = '{"QUESTION": [{"value": 2, "user_id": "…"}]}'
        raise content.error(place, f"expected responses as in {shape}, found {responses!r:.60}") from None


def _first_version(answer: Mapping[str, Any]) -> Iterator[Response]:
    if answer.get("status") == "draft":
        return
    for name, value in (answer.get("values") or {}).items():
        is_rated = answer.get("status") != "discarded"
        yield str(answer["user_id"]), name, value["value"] if is_rated else None


def choose_control(names: set[str], columns: Mapping[str, str], label: str, noun: str) -> str:
    """Return which of the questions of an export holds the grade."""
    wanted = columns.get("grade")
    rated = sorted(names - {NOTE})
    if wanted in names:
        return str(wanted)
    known = [name for name in rated if name.lower() in ("grade", *ALIASES["grade"])]
    if wanted is None and (len(known) == 1 or len(rated) == 1):
        return (known or rated)[0]
    raise FormatError(
        f"expected one of the {noun} to hold the grade, found {', '.join(rated) or 'none'}: "
        "name it with --columns grade=NAME (columns= in Python)",
        label,
    )


def find_pair(
    record: Mapping[str, Any], parts: tuple[Any, ...], columns: Mapping[str, str]
) -> dict[str, Any]:
    """Return the query and the document of a record; without both, its item is both."""
    data = {name: value for part in reversed(parts) if isinstance(part, dict) for name, value in part.items()}
    aliases = {name: ALIASES[name] for name in ("query_id", "doc_id")}
    wanted = {name: columns[name] for name in aliases if name in columns}
    try:
        found = {target: data[name] for name, target in match_columns(list(data), aliases, wanted).items()}
    except TableError:
        found = {}
    if len(found) == 2:
        return found
    item = next(iter(found.values()), record.get("id") or record.get("external_id"))
    return {"query_id": item, "doc_id": item}


def records_of(judgments: Judgments) -> list[dict[str, Any]]:
    """Return judgments as records with the questions `grade` and `note`; times and sources are left out."""
    records = dict[tuple[str, str], dict[str, Any]]()
    for query, doc, judge, grade, _, _, note in judgments.frame.rows():
        pair = {"query_id": query, "doc_id": doc}
        record = records.setdefault(
            (query, doc),
            {
                "id": str(len(records) + 1),
                "fields": dict(pair),
                "metadata": dict(pair),
                "suggestions": {},
                "responses": {GRADE: []},
                "vectors": {},
            },
        )
        value = None if grade is None else plain_grade(grade)
        record["responses"][GRADE].append({"value": value, "user_id": judge})
        if note:
            record["responses"].setdefault(NOTE, []).append({"value": note, "user_id": judge})
    return list(records.values())
