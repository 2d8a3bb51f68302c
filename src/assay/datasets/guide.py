"""The guide's JSON: a list of queries, each with the documents that answer it.

    [{"query": "reset password", "relevant_doc_ids": ["d1", "d7"], "category": "account"}]

Graded: `"relevant": {"d1": 2}` or `"relevant_docs": [{"doc_id": "d1", "grade": 2}]`.
A query without `query_id` or `id` gets one made of its text, the same wherever the text is the same.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any
from unicodedata import normalize

from assay.core.errors import FormatError, TableError
from assay.core.tables import Qrels, Queries
from assay.datasets.formats import Collection, Format, Kind, Table
from assay.datasets.jsonl import decoded
from assay.datasets.rows import identity, number
from assay.datasets.sinks import writing
from assay.datasets.sources import Source

LARGEST = 128 << 20
_IDS = ("query_id", "id")
_ANSWERS = ("relevant_doc_ids", "relevant", "relevant_docs")
_SHAPE = '[{"query": "…", "relevant_doc_ids": ["…"]}, …]'


def query_id(text: str) -> str:
    """An id made of a query's text; blanks at the ends and their number do not matter.

    >>> query_id("reset  password ") == query_id("reset password")
    True
    """
    plain = " ".join(normalize("NFC", text).split())
    return "q" + blake2b(plain.encode(), digest_size=8).hexdigest()


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Collection | Table:
    """The queries and the judgments of a guide."""
    entries = _entries(source)
    queries: list[dict[str, Any]] = []
    qrels: dict[str, dict[str, float]] = {}
    seen: dict[str, int] = {}
    for place, entry in enumerate(entries, 1):
        try:
            row, answers = _entry(entry, columns)
            first = seen.setdefault(row["query_id"], place)
            if first != place:
                raise TableError(_twice(queries[first - 1], row, first))
        except TableError as error:
            raise FormatError(f"entry {place}: {error}", source.label) from None
        queries.append(row)
        if answers:
            qrels[row["query_id"]] = answers
    found = Collection(Queries(_columns(queries)), Qrels(qrels) if qrels else None)
    return found.only(kind, source.label)


def _twice(first: dict[str, Any], second: dict[str, Any], place: int) -> str:
    """What to say of two entries with one id."""
    if first["text"] == second["text"]:
        return f"the query {second['text']!r} is also entry {place}; join the two, or give each a query_id"
    return f"the query_id {second['query_id']!r} is also that of entry {place}; give each its own query_id"


def _entries(source: Source) -> list[Any]:
    found = decoded(source.read(LARGEST), source.label)
    if not isinstance(found, list):
        raise FormatError(f"expected a JSON list {_SHAPE}, found one {type(found).__name__}", source.label)
    if not found:
        raise FormatError(f"expected {_SHAPE}, found an empty list", source.label)
    return found


def _entry(entry: Any, columns: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, float]]:
    """The query of an entry and its judged documents."""
    if not isinstance(entry, dict):
        raise TableError(f"expected an object as in {_SHAPE}, found {entry!r:.60}")
    swapped = {source: target for target, source in columns.items()}
    entry = {swapped.get(name, name): value for name, value in entry.items()}
    text = entry.pop("query", None)
    if not isinstance(text, str) or not text.strip():
        keys = ", ".join(map(str, entry)) or "none"
        raise TableError(f'expected "query" with the text of a query, found {text!r} (other keys: {keys})')
    if "text" in entry:
        raise TableError('has both "query" and "text"; rename "text"')
    given = next((entry.pop(name) for name in _IDS if entry.get(name) is not None), None)
    key = query_id(text) if given is None else identity(given, "query_id")
    entry.pop("query_id", None)
    answers = _answers({name: entry.pop(name) for name in _ANSWERS if name in entry})
    return {"query_id": key, "text": text} | entry, answers


def _answers(given: dict[str, Any]) -> dict[str, float]:
    if len(given) > 1:
        raise TableError(f"says twice what is relevant ({', '.join(given)}); keep one")
    for name, value in given.items():
        if name == "relevant" and isinstance(value, dict):
            return {identity(doc, "doc_id"): number(grade, "grade") for doc, grade in value.items()}
        if isinstance(value, list):
            return _listed(name, value)
        raise TableError(f"expected a list of documents as {name}, found {value!r:.60}")
    return {}


def _listed(name: str, docs: list[Any]) -> dict[str, float]:
    """A list of documents or of {"doc_id", "grade"}."""
    made: dict[str, float] = {}
    for doc in docs:
        graded = isinstance(doc, dict)
        key = identity(doc.get("doc_id") if graded else doc, f'doc_id in "{name}"')
        if key in made:
            raise TableError(f"document {key!r} stands twice; keep one of the two")
        made[key] = number(doc.get("grade", 1), "grade") if graded else 1.0
    return made


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write(found: Collection | Table, path: str, made: Format) -> None:
    """Queries and their judgments as a guide."""
    queries, qrels = (found.queries, found.qrels) if isinstance(found, Collection) else (found, None)
    if not isinstance(queries, Queries) or "text" not in queries.columns:
        raise FormatError("a guide holds the text of queries, and there is none", path)
    if isinstance(found, Collection) and found.documents is not None:
        raise FormatError("a guide holds no documents: write a beir folder, or leave them out", path)
    judged = qrels.to_dict() if qrels else {}
    _check(queries, judged, path)
    alone = {name: all(v is None for v in values) for name, values in queries.columns.items()}
    entries = [_written(queries, row, judged.get(key), alone) for row, key in enumerate(queries.ids)]
    _save(entries, path)


def _check(queries: Queries, judged: Mapping[str, Any], path: str) -> None:
    """Refuse what would not be read back."""
    clash = {"query", "id", *_ANSWERS} & set(queries.columns)
    if clash:
        raise FormatError(
            f"a guide has its own meaning for {', '.join(sorted(clash))}; rename the column", path
        )
    strange = next((key for key in judged if key not in queries.row), None)
    if strange is not None:
        raise FormatError(f"query {strange!r} is judged but has no text in the queries", path)
    for key, text in zip(queries.ids, queries.columns["text"], strict=True):
        if not isinstance(text, str) or not text.strip():
            raise FormatError(f"query {key!r} has no text", path)


def _written(
    queries: Queries, row: int, judged: dict[str, float] | None, alone: Mapping[str, bool]
) -> dict[str, Any]:
    """One entry; a missing value is left out where another entry shows that its column exists."""
    key, text = queries.ids[row], queries.columns["text"][row]
    entry = {"query": text} if key == query_id(text) else {"query_id": key, "query": text}
    if judged is not None:
        graded = any(grade != 1 for grade in judged.values())
        grades = {doc: int(grade) for doc, grade in judged.items()}
        entry |= {"relevant": grades} if graded else {"relevant_doc_ids": list(judged)}
    others = {
        name: values[row] for name, values in queries.columns.items() if name not in ("query_id", "text")
    }
    return entry | {name: value for name, value in others.items() if value is not None or alone[name]}


def _save(entries: list[dict[str, Any]], path: str) -> None:
    try:
        texts = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries]
        same = all(json.loads(text) == entry for text, entry in zip(texts, entries, strict=True))
    except (TypeError, ValueError) as error:
        raise FormatError(f"JSON cannot hold this: {error}; write parquet, or make it text", path) from None
    if not same:
        raise FormatError("JSON would not give back the same values; write parquet, or make them text", path)
    with writing(path) as file:
        file.write(("[\n" + ",\n".join(texts) + "\n]\n").encode())
