"""TREC SGML: documents as `<DOC>` and topics as `<top>`, one after another in a file.

    <DOC> <DOCNO> FT911-1 </DOCNO> <HEADLINE> … </HEADLINE> <TEXT> … </TEXT> </DOC>
    <top> <num> Number: 301 <title> … <desc> Description: … <narr> Narrative: … </top>

The title of a topic is the text of the query; its description and narrative are columns.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from assay.core.errors import FormatError
from assay.datasets.formats import Format, Kind, Table
from assay.datasets.input_files import NOT_UTF8, InputFile
from assay.datasets.rows import build_table

LARGEST_FILE = 1 << 30
START = re.compile(r"\s*<(doc|top)>", re.I)
_RECORD = re.compile(r"<(doc|top)>(.*?)(</\1>|(?=<\1>)|\Z)", re.I | re.S)
_ELEMENT = re.compile(r"<(\w+)[^>]*>(.*?)</\1\s*>", re.S)
_TAG = re.compile(r"</?\w[^>]*>")
_TOPIC_FIELD = re.compile(r"<(num|title|desc|narr)>(.*?)(?=<\w+>|\Z)", re.I | re.S)
_LABEL = re.compile(r"\s*(number|topic|description|narrative)\s*:", re.I)
_TOPIC_COLUMNS = {"num": "query_id", "title": "text", "desc": "description", "narr": "narrative"}
_TITLE_TAGS = ("TITLE", "HEADLINE", "HEAD", "TTL", "HL")
_TEXT_TAGS = ("TEXT", "BODY", "LEADPARA", "LP")
_ID_TAGS = ("DOCNO", "DOCID")


def read(source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format) -> Table:
    """Return the documents or the queries of a file."""
    try:
        text = source.read(LARGEST_FILE).decode()
    except UnicodeDecodeError:
        raise FormatError(NOT_UTF8, source.label) from None
    start = START.match(text)
    content: Kind = "queries" if start and start[1].lower() == "top" else "documents"
    if start is None or kind not in (None, content):
        problem = f"found {content}" if start else f"found {text[:60]!r}"
        raise FormatError(f"expected {kind or 'documents or queries'} as TREC SGML, {problem}", source.label)
    parse = _parse_topic if content == "queries" else _parse_document
    rows = ((line, parse(body, source.label, line)) for line, body in _records(text, source.label))
    table: Table = build_table(rows, content, {}, source.label, source.name)
    return table


def _records(text: str, label: str) -> Iterator[tuple[int, str]]:
    """Yield the content of each record with the line on which it begins."""
    line, last = 1, 0
    for record in _RECORD.finditer(text):
        line, last = line + text.count("\n", last, record.start()), record.start()
        if not record[3]:
            raise FormatError(f"<{record[1]}> is not closed: expected </{record[1]}> after it", label, line)
        yield line, record[2]


def _parse_document(body: str, label: str, line: int) -> dict[str, Any]:
    """Return the id, the title and the text of a document."""
    elements: dict[str, list[str]] = {}
    for tag, content in _ELEMENT.findall(body):
        elements.setdefault(tag.upper(), []).append(_clean(content))
    doc_id = next((elements[tag][0] for tag in _ID_TAGS if tag in elements), "")
    if not doc_id:
        raise FormatError("expected <DOCNO> with the id of the document, found none", label, line)
    title = next((elements[tag][0] for tag in _TITLE_TAGS if tag in elements), None)
    parts = [part for tag in _TEXT_TAGS for part in elements.get(tag, ())]
    known = (*_ID_TAGS, *_TITLE_TAGS)
    if not parts:  # a document without <TEXT>: everything but its id and its title
        parts = [_clean(_ELEMENT.sub(lambda m: "" if m[1].upper() in known else m[0], body))]
    return {"doc_id": doc_id, "title": title, "text": "\n".join(filter(None, parts))}


def _parse_topic(body: str, label: str, line: int) -> dict[str, Any]:
    """Return the number, the title, the description and the narrative of a topic."""
    fields = {
        _TOPIC_COLUMNS[tag.lower()]: _clean(_LABEL.sub("", content, count=1))
        for tag, content in _TOPIC_FIELD.findall(body)
    }
    if not fields.get("query_id"):
        raise FormatError("expected <num> with the number of the topic, found none", label, line)
    return fields


def _clean(content: str) -> str:
    """Return a text without tags, entities and line breaks inside paragraphs."""
    return " ".join(unescape(_TAG.sub(" ", content)).split())
