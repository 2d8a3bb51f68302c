"""JSON of nested dictionaries, as pytrec_eval, BEIR and ranx hold qrels and runs.

    {"q1": {"d1": 2, "d2": 0}, "q2": {"d7": 1}}

Lists are short for it: `{"q1": ["d1", "d2"]}` names the relevant documents, or ranks them, best first.
A run's numbers are written with a point, so that a file of whole numbers is qrels.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from assay.core.errors import FormatError, TableError
from assay.core.tables import TOO_HIGH, Qrels, Run
from assay.datasets.formats import Format, Kind
from assay.datasets.jsonl import decoded
from assay.datasets.rows import identity, number
from assay.datasets.sources import Source

LARGEST = 1 << 30
_SHAPE = '{"query": {"document": number, …}, …} or {"query": ["document", …], …}'
_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[][{}]')
_NOUNS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Qrels | Run:
    """The judgments or the run of a JSON object; where nothing tells which, whole numbers are judgments."""
    data = source.read(LARGEST)
    found = _object(data, source.label)
    column = "score" if (kind or _kind(found, source.label)) == "run" else "grade"
    rows = {query: _docs(query, docs, column, data, source.label) for query, docs in found.items()}
    return Run(rows, name=source.name) if column == "score" else Qrels(rows)


def _object(data: bytes, label: str) -> dict[str, Any]:
    """The object that the file holds, none of whose keys stands twice."""
    twice = False

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        made = dict(pairs)
        twice = twice or len(made) < len(pairs)
        return made

    found = decoded(data, label, pairs=once)
    if not isinstance(found, dict):
        raise FormatError(f"expected {_SHAPE}, found {_shown(found)}", label)
    if twice:
        _refuse_twice(data, label)
    if all(value in ({}, []) for value in found.values()):
        raise FormatError(f"expected {_SHAPE}, found {'no documents' if found else 'an empty object'}", label)
    return found


def _shown(value: Any) -> str:
    noun = _NOUNS.get(type(value), "a number")
    return noun if value is None else f"{noun}: {value!r:.60}"


def _kind(found: Mapping[str, Any], label: str) -> Kind:
    """Whether these are judgments or a run."""
    types = {type(value) for docs in found.values() if isinstance(docs, dict) for value in docs.values()}
    if types - {int}:
        return "run"
    if not any(isinstance(docs, list) for docs in found.values()):
        return "qrels"
    name = os.path.basename(label).lower()
    if ("qrel" in name) == ("run" in name):
        raise FormatError(
            "cannot tell relevant documents (qrels) and documents with the best first (run) apart in lists: "
            "say which it is with kind= (--from qrels=json) or in the file's name",
            label,
        )
    return "qrels" if "qrel" in name else "run"


def _docs(query: str, docs: Any, column: str, data: bytes, label: str) -> dict[str, float] | list[str]:
    """The documents of a query with their values, or in a list."""
    doc = None
    try:
        identity(query, "query_id")
        if isinstance(docs, list):
            return _listed(docs)
        if not isinstance(docs, dict):
            raise TableError(f'expected {{"document": number, …}} or ["document", …], found {_shown(docs)}')
        if _is_sound(docs, column):
            return docs
        made = dict[str, float]()
        for doc, value in docs.items():
            made[identity(doc, "doc_id")] = _value(value, column)
    except TableError as error:
        where = f"query {query!r}" if doc is None else f"document {doc!r} of query {query!r}"
        line = next((line for line, *key in _keys(data) if key == [query, doc]), None)
        raise FormatError(f"{where}: {error}", label, line) from None
    return made


def _is_sound(docs: dict[str, Any], column: str) -> bool:
    """Whether all is seen to be right without going through it piece by piece."""
    types, values = set(map(type, docs.values())), docs.values()
    if "" in docs or "\0" in "".join(docs):
        return False
    if column == "grade":
        return types == {int} and max(map(abs, values)) < TOO_HIGH
    return types == {float} and not any(map(math.isnan, values))


def _value(value: Any, column: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value, column)
    raise TableError(f"expected a number as the {column}, found {_shown(value)}")


def _listed(docs: list[Any]) -> list[str]:
    made: dict[str, int] = {}
    for place, doc in enumerate(docs, 1):
        first = made.setdefault(identity(doc, "doc_id"), place)
        if first != place:
            raise TableError(f"document {doc!r} stands twice, at {first} and {place}; keep one of the two")
    return list(made)


def _keys(data: bytes) -> Iterator[tuple[int, str, str | None]]:
    """The line of each query (with None) and of each document of it, in JSON that is known to be sound."""
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


def _refuse_twice(data: bytes, label: str) -> None:
    """Say which query, or which document of a query, stands twice."""
    seen: dict[tuple[str, str | None], int] = {}
    for line, query, doc in _keys(data):
        if (query, doc) in seen:
            pair = f"document {doc!r} stands twice in query {query!r}"
            what = pair if doc is not None else f"query {query!r} stands twice"
            first = seen[query, doc]
            raise FormatError(f"{what} (first on line {first}); keep one of the two", label, line)
        seen[query, doc] = line


def write(found: Qrels | Run, file: BinaryIO, label: str, made: Format) -> None:
    """A table as one JSON object, one query a line; an infinite score is Infinity, as Python has it."""
    lead = b"{\n"
    for query, docs in found.to_dict().items():
        values = docs if isinstance(found, Run) else {doc: int(grade) for doc, grade in docs.items()}
        try:
            identity(query, "query_id")
            if "" in docs:
                identity("", "doc_id")
            line = f"{_json(query)}: {_json(values)}".encode()
        except (TableError, UnicodeEncodeError) as error:
            raise FormatError(f"query {query!r} cannot be written as JSON: {error}", label) from None
        file.write(lead + line)
        lead = b",\n"
    file.write(b"\n}\n")


_json = json.JSONEncoder(ensure_ascii=False).encode
