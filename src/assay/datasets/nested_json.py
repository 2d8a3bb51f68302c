"""JSON files of nested dictionaries, the form of qrels and runs in pytrec_eval, BEIR and ranx.

    {"q1": {"d1": 2, "d2": 0}, "q2": {"d7": 1}}

Lists are a short form: `{"q1": ["d1", "d2"]}` lists the relevant documents, or a ranking, best first.
The numbers of a run are written with a decimal point, so that a file of whole numbers is qrels.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from assay.core.errors import FormatError, TableError
from assay.core.tables import GRADE_LIMIT, Qrels, Run
from assay.datasets.formats import Format, Kind
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import decode_json
from assay.datasets.rows import parse_id, parse_number

LARGEST_FILE = 1 << 30
_SHAPE = '{"query": {"document": number, …}, …} or {"query": ["document", …], …}'
_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[][{}]')
_NOUNS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Qrels | Run:
    """Return the qrels or the run of a JSON object; if the kind is not given, whole numbers are grades."""
    data = source.read(LARGEST_FILE)
    value = _parse_object(data, source.label)
    column = "score" if (kind or _infer_kind(value, source.label)) == "run" else "grade"
    rows = {query: _parse_docs(query, docs, column, data, source.label) for query, docs in value.items()}
    return Run(rows, name=source.name) if column == "score" else Qrels(rows)


def _parse_object(data: bytes, label: str) -> dict[str, Any]:
    """Return the object of the file; raise FormatError if a key appears twice."""
    has_duplicate = False

    def collect_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_duplicate
        items = dict(pairs)
        has_duplicate = has_duplicate or len(items) < len(pairs)
        return items

    content = decode_json(data, label, pairs=collect_pairs)
    if not isinstance(content, dict):
        raise FormatError(f"expected {_SHAPE}, found {_describe_value(content)}", label)
    if has_duplicate:
        _refuse_duplicate(data, label)
    if all(value in ({}, []) for value in content.values()):
        raise FormatError(
            f"expected {_SHAPE}, found {'no documents' if content else 'an empty object'}", label
        )
    return content


def _describe_value(value: Any) -> str:
    noun = _NOUNS.get(type(value), "a number")
    return noun if value is None else f"{noun}: {value!r:.60}"


def _infer_kind(rankings: Mapping[str, Any], label: str) -> Kind:
    """Return whether these are qrels or a run."""
    types = {type(value) for docs in rankings.values() if isinstance(docs, dict) for value in docs.values()}
    if types - {int}:
        return "run"
    if not any(isinstance(docs, list) for docs in rankings.values()):
        return "qrels"
    name = os.path.basename(label).lower()
    if ("qrel" in name) == ("run" in name):
        raise FormatError(
            "lists may be relevant documents (qrels) or rankings (run): "
            "give the kind with kind= (--from qrels=json) or in the name of the file",
            label,
        )
    return "qrels" if "qrel" in name else "run"


def _parse_docs(query: str, docs: Any, column: str, data: bytes, label: str) -> dict[str, float] | list[str]:
    """Return the documents of a query with their values, or as a list."""
    doc = None
    try:
        parse_id(query, "query_id")
        if isinstance(docs, list):
            return _parse_list(docs)
        if not isinstance(docs, dict):
            raise TableError(
                f'expected {{"document": number, …}} or ["document", …], found {_describe_value(docs)}'
            )
        if _is_valid(docs, column):
            return docs
        values = dict[str, float]()
        for doc, value in docs.items():
            values[parse_id(doc, "doc_id")] = _parse_value(value, column)
    except TableError as error:
        location = f"query {query!r}" if doc is None else f"document {doc!r} of query {query!r}"
        line = next((line for line, *key in _key_lines(data) if key == [query, doc]), None)
        raise FormatError(f"{location}: {error}", label, line) from None
    return values


def _is_valid(docs: dict[str, Any], column: str) -> bool:
    """Return whether the documents are valid, by checks that need no loop over them."""
    types, values = set(map(type, docs.values())), docs.values()
    if "" in docs or "\0" in "".join(docs):
        return False
    if column == "grade":
        return types == {int} and max(map(abs, values)) < GRADE_LIMIT
    return types == {float} and not any(map(math.isnan, values))


def _parse_value(value: Any, column: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return parse_number(value, column)
    raise TableError(f"expected a number as the {column}, found {_describe_value(value)}")


def _parse_list(docs: list[Any]) -> list[str]:
    positions: dict[str, int] = {}
    for position, doc in enumerate(docs, 1):
        first = positions.setdefault(parse_id(doc, "doc_id"), position)
        if first != position:
            raise TableError(
                f"document {doc!r} appears twice, at {first} and {position}; keep one of the two"
            )
    return list(positions)


def _key_lines(data: bytes) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line of each query (with None) and of each of its documents, in valid JSON."""
    text = data.decode()
    depth, line, last, query = 0, 1, 0, ""
    for token in _TOKEN.finditer(text):
        line, last = line + text.count("\n", last, token.start()), token.start()
        if token[1] is None:
            depth += 1 if token[0] in "[{" else -1
        elif token[2] and depth == 1:
            query = json.loads(token[1])
            yield line, query, None
        elif token[2] and depth == 2:
            yield line, query, json.loads(token[1])


def _refuse_duplicate(data: bytes, label: str) -> None:
    """Raise FormatError with the query, or the document of a query, that appears twice."""
    lines: dict[tuple[str, str | None], int] = {}
    for line, query, doc in _key_lines(data):
        if (query, doc) in lines:
            pair = f"document {doc!r} appears twice in query {query!r}"
            what = pair if doc is not None else f"query {query!r} appears twice"
            first = lines[query, doc]
            raise FormatError(f"{what} (first on line {first}); keep one of the two", label, line)
        lines[query, doc] = line


def write(table: Qrels | Run, file: BinaryIO, label: str, file_format: Format) -> None:
    """Write a table as one JSON object, one query on each line; Python reads Infinity as a number."""
    separator = b"{\n"
    for query, docs in table.to_dict().items():
        values = docs if isinstance(table, Run) else {doc: int(grade) for doc, grade in docs.items()}
        try:
            parse_id(query, "query_id")
            if "" in docs:
                parse_id("", "doc_id")
            line = f"{_json(query)}: {_json(values)}".encode()
        except (TableError, UnicodeEncodeError) as error:
            raise FormatError(f"query {query!r} cannot be written as JSON: {error}", label) from None
        file.write(separator + line)
        separator = b",\n"
    file.write(b"\n}\n")


_json = json.JSONEncoder(ensure_ascii=False).encode
