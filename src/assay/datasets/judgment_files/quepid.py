"""Books of Quepid as JSON: pairs of a query and a document, each with its judgements.

    {"name": "book", "query_doc_pairs": [{"query_text": "vpn", "doc_id": "d1", "judgements": [
        {"rating": 2.0, "unrateable": false, "judge_later": false, "user_email": "…", "explanation": ""}]}]}

The id of a query is computed from its text, as for the judgment lists of Quepid; a text that is such an id
is kept. A judgement to be made later is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.judgments import Judgments
from assay.datasets.judgment_files.cells import Cells
from assay.datasets.judgment_files.json_records import JsonContent
from assay.datasets.judgment_files.plain_rows import plain_grade
from assay.datasets.query_list import query_id

UNKNOWN = "Unknown"  # the name that Quepid gives to a judge without a user
_DERIVED_ID = re.compile(r"q[0-9a-f]{16}")


def is_quepid(content: JsonContent) -> bool:
    """Return whether a file is a book of Quepid."""
    return isinstance(content.whole, dict) and isinstance(content.whole.get("query_doc_pairs"), list)


def read_quepid(content: JsonContent) -> Cells:
    """Return the judgments of a book, one row each."""
    content.unit = "pair"
    content.records = list(enumerate(content.whole["query_doc_pairs"], 1))
    return content.cells(
        [row for place, pair in content.objects() for row in _pair_rows(content, place, pair)]
    )


def _pair_rows(
    content: JsonContent, place: int, pair: Mapping[str, Any]
) -> Iterator[tuple[int, dict[str, Any]]]:
    text, judgements = pair.get("query_text"), pair.get("judgements") or []
    if not isinstance(text, str) or not text.strip():
        raise content.error(place, f"expected the text of a query as query_text, found {text!r:.60}")
    if not isinstance(judgements, list) or not all(isinstance(one, dict) for one in judgements):
        raise content.error(place, f"expected a list of objects as judgements, found {judgements!r:.60}")
    for judgement in judgements:
        if judgement.get("judge_later"):
            continue
        is_rated = not judgement.get("unrateable")
        yield (
            place,
            {
                "query_id": text if _DERIVED_ID.fullmatch(text) else query_id(text),
                "doc_id": pair.get("doc_id"),
                "judge": judgement.get("user_email") or UNKNOWN,
                "grade": judgement.get("rating") if is_rated else None,
                "note": judgement.get("explanation") or "",
            },
        )


def book_of(judgments: Judgments, name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return judgments as a book; it holds no times and no sources. A query without a text keeps its id."""
    pairs = dict[tuple[str, str], dict[str, Any]]()
    for query, doc, judge, grade, _, _, note in judgments.frame.rows():
        pair = pairs.setdefault(
            (query, doc),
            {"query_text": texts.get(query) or query, "doc_id": doc, "position": None, "judgements": []},
        )
        pair["judgements"].append(
            {
                "rating": None if grade is None else plain_grade(grade),
                "unrateable": grade is None,
                "judge_later": False,
                "user_email": judge,
                "explanation": note,
            }
        )
    return {"name": name, "show_rank": False, "query_doc_pairs": list(pairs.values())}
