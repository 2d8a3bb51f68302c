"""Tasks of Label Studio as JSON: each has data and annotations, and an annotation has results.

    [{"id": 1, "data": {"query_id": "q1", "doc_id": "d1"}, "annotations": [{"completed_by": 3,
      "was_cancelled": false, "created_at": "…", "result": [{"from_name": "grade", "to_name": "text",
        "type": "choices", "value": {"choices": ["2"]}}]}]}]

The query and the document are in the data; without them, the id of the task is the item. Predictions are not
judgments. A skipped task is "could not rate". The export JSON-MIN is a table and is read as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.judgments import Judgments
from assay.datasets.judgment_files.argilla import GRADE, NOTE, choose_control, find_pair
from assay.datasets.judgment_files.cells import Cells
from assay.datasets.judgment_files.json_records import JsonContent
from assay.datasets.judgment_files.plain_rows import plain_grade

_VALUES = ("choices", "rating", "number")  # the types of results that can hold a grade
_Control = tuple[str, str, Any]  # name, type and value


def is_label_studio(content: JsonContent) -> bool:
    """Return whether a file has tasks of Label Studio."""
    return content.first_with("annotations") and content.first_with("data")


def read_label_studio(content: JsonContent, columns: Mapping[str, str]) -> Cells:
    """Return the annotations of tasks, one row each."""
    annotations = [
        (place, task, one, _controls(content, place, one))
        for place, task in content.objects()
        for one in _annotations(content, place, task)
    ]
    names = {name for *_, controls in annotations for name, kind, _ in controls if kind in _VALUES}
    grade = choose_control(names, columns, content.label, "controls") if names else ""
    rows = []
    for place, task, one, controls in annotations:
        row = find_pair(task, (task.get("data"),), columns)
        values = {name: value for name, _, value in controls}
        rows.append(
            (
                place,
                {
                    **row,
                    "judge": _judge(one.get("completed_by")),
                    "grade": None if one.get("was_cancelled") else values.get(grade),
                    "at": one.get("created_at"),
                    "note": values.get(NOTE) or "",
                },
            )
        )
    return content.cells(rows)


def _annotations(content: JsonContent, place: int, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    annotations = task.get("annotations") or []
    if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
        raise content.error(place, f"expected a list of objects as annotations, found {annotations!r:.60}")
    return annotations


def _controls(content: JsonContent, place: int, annotation: Mapping[str, Any]) -> list[_Control]:
    try:
        return [control for result in annotation.get("result") or () for control in _read_result(result)]
    except (AttributeError, TypeError):
        shape = '{"from_name": "grade", "type": "choices", "value": {"choices": ["2"]}}'
        found = annotation.get("result")
        raise content.error(place, f"expected results as in {shape}, found {found!r:.80}") from None


def _read_result(result: Mapping[str, Any]) -> Iterator[_Control]:
    kind, value = result.get("type"), result.get("value") or {}
    if kind == "textarea":
        texts = value.get("text") or []
        yield str(result.get("from_name")), kind, texts if isinstance(texts, str) else "\n".join(texts)
    elif kind in _VALUES:
        content = value.get(kind)
        yield str(result.get("from_name")), kind, content[0] if isinstance(content, list) else content


def _judge(user: Any) -> str:
    """Return the name of who completed an annotation: an address if the export has one, else the number."""
    if isinstance(user, dict):
        user = user.get("email") or user.get("id")
    return "Unknown" if user is None else str(user)


def tasks_of(judgments: Judgments) -> list[dict[str, Any]]:
    """Return judgments as tasks with the controls `grade` and `note`; sources are left out."""
    tasks = dict[tuple[str, str], dict[str, Any]]()
    for query, doc, judge, grade, at, _, note in judgments.frame.rows():
        task = tasks.setdefault(
            (query, doc),
            {"id": len(tasks) + 1, "data": {"query_id": query, "doc_id": doc}, "annotations": []},
        )
        result = [] if grade is None else [_result(GRADE, "choices", "choices", str(plain_grade(grade)))]
        result += [_result(NOTE, "textarea", "text", note)] * bool(note)
        times = {} if at is None else {"created_at": at.isoformat()}
        task["annotations"].append(
            {"completed_by": {"email": judge}, "was_cancelled": grade is None, **times, "result": result}
        )
    return list(tasks.values())


def _result(name: str, kind: str, key: str, value: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "type": kind, "value": {key: [value]}}
