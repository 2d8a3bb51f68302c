"""The format `guide`: a JSON list of queries, each with its relevant documents.

    [{"query": "reset password", "relevant_doc_ids": ["d1", "d7"], "category": "account"}]

Graded: `"relevant": {"d1": 2}` or `"relevant_docs": [{"doc_id": "d1", "grade": 2}]`.
A query without `query_id` or `id` gets an id that is computed from its text.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any
from unicodedata import normalize

from assay.core.errors import FormatError, TableError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Qrels, Queries
from assay.datasets.formats import Collection, Format, Kind, Table
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import decode_json
from assay.datasets.output_files import open_for_writing
from assay.datasets.rows import parse_id, parse_number

LARGEST_FILE = 128 << 20
_ID_KEYS = ("query_id", "id")
_ANSWER_KEYS = ("relevant_doc_ids", "relevant", "relevant_docs")
_SHAPE = '[{"query": "…", "relevant_doc_ids": ["…"]}, …]'


def query_id(text: str) -> str:
    """Return an id computed from the text of a query; it does not depend on the amount of white space.

    >>> query_id("reset  password ") == query_id("reset password")
    True
    """
    normalized = " ".join(normalize("NFC", text).split())
    return "q" + blake2b(normalized.encode(), digest_size=8).hexdigest()


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Collection | Table:
    """Return the queries and the judgments of a list of queries."""
    entries = _read_entries(source)
    queries: list[dict[str, Any]] = []
    qrels: dict[str, dict[str, float]] = {}
    positions: dict[str, int] = {}
    for position, entry in enumerate(entries, 1):
        try:
            row, answers = _parse_entry(entry, columns)
            first = positions.setdefault(row["query_id"], position)
            if first != position:
                raise TableError(_duplicate_problem(queries[first - 1], row, first))
        except TableError as error:
            raise FormatError(f"entry {position}: {error}", source.label) from None
        queries.append(row)
        qrels[row["query_id"]] = answers
    has_answers = any(qrels.values())
    table = Queries(_to_columns(queries))
    table.has_derived_ids = any(row["query_id"] == query_id(row["text"]) for row in queries)
    collection = Collection(table, Qrels(qrels) if has_answers else None)
    return collection.select(kind, source.label)


def _duplicate_problem(first: dict[str, Any], second: dict[str, Any], position: int) -> str:
    """Return the message about two entries with the same id."""
    if first["text"] == second["text"]:
        return (
            f"the query {second['text']!r} is also entry {position}; merge the two, or give each a query_id"
        )
    return f"the query_id {second['query_id']!r} is also that of entry {position}; give each its own query_id"


def _read_entries(source: InputFile) -> list[Any]:
    entries = decode_json(source.read(LARGEST_FILE), source.label)
    if not isinstance(entries, list):
        raise FormatError(f"expected a JSON list {_SHAPE}, found {type(entries).__name__}", source.label)
    if not entries:
        raise FormatError(f"expected {_SHAPE}, found an empty list", source.label)
    return entries


def _parse_entry(entry: Any, columns: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the query of an entry and the grades of its documents."""
    if not isinstance(entry, dict):
        raise TableError(f"expected an object as in {_SHAPE}, found {entry!r:.60}")
    targets = {source: target for target, source in columns.items()}
    entry = {targets.get(name, name): value for name, value in entry.items()}
    text = entry.pop("query", None)
    if not isinstance(text, str) or not text.strip():
        keys = ", ".join(map(str, entry)) or "none"
        hint = _suggest(entry, ("query",))
        problem = f'expected "query" with the text of a query, found {text!r} (other keys: {keys})'
        raise TableError(problem + (f"; {hint}" if hint and text is None else ""))
    if "text" in entry:
        raise TableError('has both "query" and "text"; rename "text"')
    explicit_id = next((entry.pop(name) for name in _ID_KEYS if entry.get(name) is not None), None)
    key = query_id(text) if explicit_id is None else parse_id(explicit_id, "query_id")
    entry.pop("query_id", None)
    answers = {name: entry.pop(name) for name in _ANSWER_KEYS if name in entry}
    if explicit_id is None:
        _refuse_misspelt(entry, ("query_id",), 0.85)  # `query_type` is a column to slice by
    if not answers:
        _refuse_misspelt(entry, _ANSWER_KEYS, 0.6)
    return {"query_id": key, "text": text} | entry, _parse_answers(answers)


def _refuse_misspelt(entry: Mapping[str, Any], names: Sequence[str], closeness: float) -> None:
    """Raise TableError if a key looks like one of these names, which the entry lacks."""
    if hint := _suggest(entry, names, closeness):
        raise TableError(f"has no {' or '.join(names)} (its keys: query, {', '.join(entry)}); {hint}")


def _suggest(entry: Mapping[str, Any], names: Sequence[str], closeness: float = 0.6) -> str:
    """Return the name that a misspelt key stands for as a question, empty if there is none."""
    hints = ((key, did_you_mean(key, names, closeness)) for key in entry)
    return next((f"for {key!r} {hint}" for key, hint in hints if hint), "")


def _parse_answers(answers: dict[str, Any]) -> dict[str, float]:
    if len(answers) > 1:
        raise TableError(f"gives the relevant documents twice ({', '.join(answers)}); keep one")
    for name, value in answers.items():
        if name == "relevant" and isinstance(value, dict):
            return {parse_id(doc, "doc_id"): parse_number(grade, "grade") for doc, grade in value.items()}
        if isinstance(value, list):
            return _parse_answer_list(name, value)
        raise TableError(f"expected a list of documents as {name}, found {value!r:.60}")
    return {}


def _parse_answer_list(name: str, docs: list[Any]) -> dict[str, float]:
    """Return the grades of a list of documents or of {"doc_id", "grade"}."""
    grades: dict[str, float] = {}
    for doc in docs:
        has_grade = isinstance(doc, dict)
        key = parse_id(doc.get("doc_id") if has_grade else doc, f'doc_id in "{name}"')
        if key in grades:
            raise TableError(f"document {key!r} appears twice; keep one of the two")
        grades[key] = parse_number(doc.get("grade", 1), "grade") if has_grade else 1.0
    return grades


def _to_columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write(table: Collection | Table, path: str, file_format: Format) -> None:
    """Write queries and their judgments as a list of queries."""
    queries, qrels = (table.queries, table.qrels) if isinstance(table, Collection) else (table, None)
    if not isinstance(queries, Queries) or "text" not in queries.columns:
        raise FormatError("the format guide needs the text of queries, and there is none", path)
    if isinstance(table, Collection) and table.documents is not None:
        raise FormatError(
            "the format guide cannot hold documents: write a beir folder, or leave them out", path
        )
    judgments = qrels.to_dict() if qrels else {}
    _check_writable(queries, judgments, path)
    is_empty = {name: all(v is None for v in values) for name, values in queries.columns.items()}
    entries = [
        _format_entry(queries, row, judgments.get(key), is_empty) for row, key in enumerate(queries.ids)
    ]
    _write_entries(entries, path)


def _check_writable(queries: Queries, judgments: Mapping[str, Any], path: str) -> None:
    """Raise FormatError for queries or judgments that could not be read again."""
    clash = {"query", "id", *_ANSWER_KEYS} & set(queries.columns)
    if clash:
        raise FormatError(
            f"the format guide reserves the name {', '.join(sorted(clash))}; rename the column", path
        )
    unknown = next((key for key in judgments if key not in queries.row_by_id), None)
    if unknown is not None:
        raise FormatError(f"query {unknown!r} has judgments but no text in the queries", path)
    for key, text in zip(queries.ids, queries.columns["text"], strict=True):
        if not isinstance(text, str) or not text.strip():
            raise FormatError(f"query {key!r} has no text", path)


def _format_entry(
    queries: Queries, row: int, grades_of_query: dict[str, float] | None, is_empty: Mapping[str, bool]
) -> dict[str, Any]:
    """Return one entry; a missing value is omitted if another entry shows that its column exists."""
    key, text = queries.ids[row], queries.columns["text"][row]
    entry = {"query": text} if key == query_id(text) else {"query_id": key, "query": text}
    if grades_of_query is not None:
        has_grades = any(grade != 1 for grade in grades_of_query.values())
        grades = {doc: int(grade) for doc, grade in grades_of_query.items()}
        entry |= {"relevant": grades} if has_grades else {"relevant_doc_ids": list(grades_of_query)}
    others = {
        name: values[row] for name, values in queries.columns.items() if name not in ("query_id", "text")
    }
    return entry | {name: value for name, value in others.items() if value is not None or is_empty[name]}


def _write_entries(entries: list[dict[str, Any]], path: str) -> None:
    try:
        texts = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries]
        is_lossless = all(json.loads(text) == entry for text, entry in zip(texts, entries, strict=True))
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"JSON cannot hold this: {error}; write parquet, or convert it to text", path
        ) from None
    if not is_lossless:
        raise FormatError("the values would change in JSON; write parquet, or convert them to text", path)
    with open_for_writing(path) as file:
        file.write(("[\n" + ",\n".join(texts) + "\n]\n").encode())
