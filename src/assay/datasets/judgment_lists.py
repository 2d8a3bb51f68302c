"""The format `judgments`: judgment lists of OpenSearch Search Relevance and of Quepid, as JSON and CSV.

    {"judgmentRatings": [{"query": "reset", "ratings": [{"docId": "d1", "rating": 3}]}]}    OpenSearch
    {"queries": [{"query": "reset", "ratings": {"d1": 3}}]}                                 Quepid
    query,docid,rating                                                                      both

Queries are named by their texts, so their ids are computed from the texts, as in the format `guide`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.core.errors import FormatError, TableError
from assay.core.tables import Qrels, Queries, duplicate_problem
from assay.datasets.delimited import DelimitedRows
from assay.datasets.formats import Collection, Format, Kind, Table
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import decode_json
from assay.datasets.query_list import query_id
from assay.datasets.rows import parse_id, parse_number

LARGEST_FILE = 1 << 30
_SHAPE = '{"judgmentRatings": [{"query": "…", "ratings": [{"docId": "…", "rating": 1}]}]}'
_DOC_KEYS = ("docId", "doc_id", "docid")
Rating = tuple[str, str, Any, Any]  # where it is, the text of the query, the document and the grade


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Collection | Table:
    """Return the queries and the judgments of a judgment list."""
    is_json = source.head().lstrip()[:1] == b"{"
    ratings = _json_ratings(source) if is_json else _csv_ratings(source, columns)
    return _collect(ratings, source.label).select(kind, source.label)


def _collect(ratings: Iterable[Rating], label: str) -> Collection:
    """Return the tables of ratings; a query without ratings has no document and no grade."""
    texts, qrels = dict[str, str](), dict[str, dict[str, float]]()
    for location, text, doc, grade in ratings:
        key = query_id(text)
        texts.setdefault(key, text)
        grades = qrels.setdefault(key, {})
        if doc in (None, "") and grade in (None, ""):
            continue
        try:
            doc_id = parse_id(doc, "docid")
            if doc_id in grades:
                raise TableError(duplicate_problem(text, doc_id))
            grades[doc_id] = parse_number(grade, "grade")
        except TableError as error:
            raise FormatError(f"{location}: {error}", label) from None
    if not any(qrels.values()):
        raise FormatError(f"expected ratings as in {_SHAPE}, found none", label)
    queries = Queries({"query_id": list(texts), "text": list(texts.values())})
    queries.has_derived_ids = True
    return Collection(queries, Qrels(qrels))


def _csv_ratings(source: InputFile, columns: Mapping[str, str]) -> Iterator[Rating]:
    for line, row in DelimitedRows(source, "csv", columns):
        text, doc, grade = row.values()
        yield f"line {line}", _check_text(text, f"line {line}", source.label), doc, grade


def _json_ratings(source: InputFile) -> Iterator[Rating]:
    entries = _find_entries(decode_json(source.read(LARGEST_FILE), source.label))
    if not entries:
        raise FormatError(f"expected {_SHAPE}, found no queries", source.label)
    for number, entry in enumerate(entries, 1):
        location = f"query {number}"
        if not isinstance(entry, dict):
            raise FormatError(
                f"{location}: expected an object as in {_SHAPE}, found {entry!r:.60}", source.label
            )
        text = _check_text(entry.get("query"), location, source.label)
        yield location, text, None, None
        for doc, grade in _entry_ratings(entry.get("ratings"), location, source.label):
            yield f"{location} {text!r}", text, doc, grade


def _find_entries(content: Any) -> list[Any]:
    """Return the queries of a judgment list, or of all judgment lists of a response of OpenSearch."""
    if not isinstance(content, dict):
        return []
    hits = content.get("hits")
    if isinstance(hits, dict):
        sources = (hit.get("_source") for hit in hits.get("hits", ()) if isinstance(hit, dict))
        return [entry for source in sources for entry in _find_entries(source)]
    entries = content.get("judgmentRatings", content.get("queries"))
    return entries if isinstance(entries, list) else []


def _entry_ratings(ratings: Any, location: str, label: str) -> Iterator[tuple[Any, Any]]:
    if isinstance(ratings, dict):
        yield from ratings.items()
        return
    if not isinstance(ratings, list) or not all(isinstance(rating, dict) for rating in ratings):
        raise FormatError(f"{location}: expected ratings as in {_SHAPE}, found {ratings!r:.60}", label)
    for rating in ratings:
        yield next((rating[key] for key in _DOC_KEYS if key in rating), None), rating.get("rating")


def _check_text(text: Any, location: str, label: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise FormatError(f"{location}: expected the text of a query, found {text!r}", label)
    return text.strip()
