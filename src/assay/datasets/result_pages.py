"""Result pages from files: JSON lines, a JSON list, or tab-separated pages of click-log collections."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike
from os.path import isdir
from typing import Any

from assay.core.errors import FormatError
from assay.core.result_pages import Pages, ResultPage
from assay.datasets.input_files import LONGEST_TEXT, InputFile
from assay.datasets.ubi_log.records import as_input_file

_NAMES = {
    "query": ("query_id", "query_key", "query", "user_query"),
    "documents": ("documents", "docs", "doc_ids"),
    "clicks": ("clicks",),
    "dwell": ("dwell", "dwell_seconds"),
}
_EXPECTED = 'expected a page such as {"query_id": "q1", "documents": ["a", "b"], "clicks": [0, 1]}'


def is_result_page(record: object) -> bool:
    """Return whether a JSON value is a result page, and not an event.

    >>> is_result_page({"query_id": "q", "documents": ["a"], "clicks": [1]})
    True
    """
    return isinstance(record, Mapping) and all(
        _value(record, name) is not None for name in ("documents", "clicks")
    )


def is_page_file(source: InputFile) -> bool:
    """Return whether a file begins as result pages do, and not as a log of events."""
    if isdir(source.path):
        return False
    head = source.head(1 << 16).lstrip()
    if head.startswith(b"["):
        return b'"clicks"' in head and b'"action_name"' not in head
    first = head.split(b"\n", 1)[0]
    if not first.startswith(b"{"):
        return first.count(b"\t") in (4, 5) and b"[" in first
    try:
        record = json.loads(first)
    except ValueError:
        return b'"documents"' in first and b'"clicks"' in first
    is_event = isinstance(record, Mapping) and "action_name" in record
    return not is_event and isinstance(record, Mapping) and _value(record, "documents") is not None


def read_pages(*sources: str | PathLike[str] | InputFile) -> Pages:
    """Return the result pages of files."""
    return Pages.from_rows(page for source in sources for page in _rows(as_input_file(source)))


def _rows(source: InputFile) -> Iterator[ResultPage]:
    head = source.head(1 << 12).lstrip()
    if head.startswith(b"["):
        for number, record in enumerate(_list_of(source), 1):
            yield _page(record, source.label, None, f"page {number}: ")
        return
    read = _json_line if head.startswith(b"{") else _tabbed_line
    for number, line in source.text_lines(longest=LONGEST_TEXT):
        if line.strip():
            yield _page(read(line, source.label, number), source.label, number)


def _list_of(source: InputFile) -> list[Any]:
    try:
        records = json.loads(source.read())
    except ValueError as error:
        raise FormatError(f"expected a JSON list of pages, found {error}", source.label) from None
    return list(records)


def _json_line(line: str, label: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise FormatError(f"{_EXPECTED}, found a line that is not JSON ({error})", label, number) from None


def _tabbed_line(line: str, label: str, number: int) -> dict[str, Any]:
    """Return a line of session, query, documents, kinds of documents, clicks (and grades), tab-separated."""
    fields = line.rstrip("\r\n").split("\t")
    if len(fields) not in (5, 6):
        raise FormatError(
            f"{_EXPECTED}, or 5 or 6 tab-separated fields (session, query, documents, kinds, clicks, "
            f"grades), found {len(fields)}",
            label,
            number,
        )
    lists = [_json_line(field, label, number) for field in (fields[2], fields[4])]
    return {"query_id": fields[1], "documents": lists[0], "clicks": lists[1]}


def _value(record: Mapping[str, Any], name: str) -> Any:
    return next((record[key] for key in _NAMES[name] if record.get(key) is not None), None)


def _page(record: object, label: str, line: int | None, place: str = "") -> ResultPage:
    """Return a record as a page; raise FormatError if it is not one."""

    def refuse(problem: str) -> FormatError:
        return FormatError(f"{place}{_EXPECTED}, found {problem}", label, line)

    if not isinstance(record, Mapping):
        raise refuse(type(record).__name__)
    query, documents, clicks, dwell = (_value(record, name) for name in _NAMES)
    if query is None or documents is None or clicks is None:
        raise refuse(f"the keys {', '.join(map(str, record)) or 'none'}")
    for name, values in (("documents", documents), ("clicks", clicks), ("dwell", dwell or documents)):
        if not isinstance(values, list):
            raise refuse(f"{name} that are not a list")
        if len(values) != len(documents):
            raise refuse(f"{len(documents)} documents and {len(values)} {name}")
    if not all(isinstance(click, int | float) for click in clicks):
        raise refuse("clicks that are not numbers")
    return ResultPage(
        str(query), [str(doc) for doc in documents], [int(click > 0) for click in clicks], dwell
    )
