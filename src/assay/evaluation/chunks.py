"""Which documents are chunks of one parent: by a column, or by the form of their ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from assay.core.tables import Documents

PARENT_COLUMNS = ("parent", "parent_id", "parent_doc_id", "document_id", "source_id")
MAX_PARENT_SHARE = 0.5  # a parent of a larger share of the documents is ignored
MAX_NUMBERED_SHARE = 0.05  # the same, if its chunks are only numbered
_MARKED_ID = re.compile(
    r"(.+?)(?:#|::|[-_.:/](?:chunk|part|passage|para|page|section|sec|seg|p)[-_.:]?(?=\d+$)).+"
)
_NUMBERED_ID = re.compile(r"(.+[-_.:/])(\d+)")


def find_parents(documents: Documents) -> dict[str, str]:
    """The parent of each document that is a chunk."""
    column = next((name for name in PARENT_COLUMNS if name in documents.columns), None)
    if column is None:
        return parents_from_ids(documents.ids)
    pairs = zip(documents.ids, documents.columns[column], strict=True)
    return _drop_single_chunks(
        {doc: str(parent) for doc, parent in pairs if parent is not None}, len(documents)
    )


def parents_from_ids(ids: Collection[str]) -> dict[str, str]:
    """The parents of documents whose ids look like chunks and not just like numbered documents.

    A mark such as # or chunk is accepted. A bare number is accepted if the numbers of a parent count
    up from 0 or 1 without a gap, and few of the documents share it: d-001, d-002 … are documents.

    >>> parents_from_ids(["guide#1", "guide#2", "faq", "plans"])
    {'guide#1': 'guide', 'guide#2': 'guide'}
    >>> parents_from_ids([f"d-{i:03}" for i in range(1, 100)])
    {}
    """
    marked_parents = {doc: match[1] for doc in ids if (match := _MARKED_ID.fullmatch(doc))}
    number_matches = {
        doc: match for doc in ids if doc not in marked_parents and (match := _NUMBERED_ID.fullmatch(doc))
    }
    numbers: dict[str, list[int]] = {}
    for match in number_matches.values():
        numbers.setdefault(match[1], []).append(int(match[2]))
    chunked_parents = {
        p for p, n in numbers.items() if len(n) <= MAX_NUMBERED_SHARE * len(ids) and _is_gapless(n)
    }
    numbered_parents = {
        doc: match[1][:-1] for doc, match in number_matches.items() if match[1] in chunked_parents
    }
    return _drop_single_chunks(marked_parents | numbered_parents, len(ids))


def _is_gapless(numbers: Sequence[int]) -> bool:
    """Whether numbers count up from 0 or 1 without a gap."""
    return min(numbers) in (0, 1) and len(set(numbers)) == max(numbers) - min(numbers) + 1


def _drop_single_chunks(parent: Mapping[str, str], documents: int) -> dict[str, str]:
    """The chunks whose parent has several, but not too many of the documents."""
    chunk_counts: dict[str, int] = {}
    for name in parent.values():
        chunk_counts[name] = chunk_counts.get(name, 0) + 1
    return {
        doc: name for doc, name in parent.items() if 2 <= chunk_counts[name] <= MAX_PARENT_SHARE * documents
    }
