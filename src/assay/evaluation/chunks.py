"""Which documents are chunks of one parent: told by a column, or by the form of their ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from assay.core.tables import Documents

COLUMNS = ("parent", "parent_id", "parent_doc_id", "document_id", "source_id")
MOST = 0.5  # a parent of more of the documents than this says nothing
MOST_PLAIN = 0.05  # and of more than this, when its chunks are just numbered
_MARKED = re.compile(
    r"(.+?)(?:#|::|[-_.:/](?:chunk|part|passage|para|page|section|sec|seg|p)[-_.:]?(?=\d+$)).+"
)
_PLAIN = re.compile(r"(.+[-_.:/])(\d+)")


def parents(documents: Documents) -> dict[str, str]:
    """The parent of each document that is a chunk."""
    column = next((name for name in COLUMNS if name in documents.columns), None)
    if column is None:
        return by_form(documents.ids)
    known = zip(documents.ids, documents.columns[column], strict=True)
    return _with_siblings({doc: str(parent) for doc, parent in known if parent is not None}, len(documents))


def by_form(ids: Collection[str]) -> dict[str, str]:
    """The parents that ids tell, where they are chunks and not just numbered documents.

    A mark such as # or chunk is believed. A bare number is, where the numbers of a parent go up from
    0 or 1 without a gap, and few of the documents share it: d-001, d-002 … are documents.

    >>> by_form(["guide#1", "guide#2", "faq", "plans"])
    {'guide#1': 'guide', 'guide#2': 'guide'}
    >>> by_form([f"d-{i:03}" for i in range(1, 100)])
    {}
    """
    marked = {doc: found[1] for doc in ids if (found := _MARKED.fullmatch(doc))}
    numbered = {doc: found for doc in ids if doc not in marked and (found := _PLAIN.fullmatch(doc))}
    numbers: dict[str, list[int]] = {}
    for found in numbered.values():
        numbers.setdefault(found[1], []).append(int(found[2]))
    chunked = {p for p, n in numbers.items() if len(n) <= MOST_PLAIN * len(ids) and _counted(n)}
    plain = {doc: found[1][:-1] for doc, found in numbered.items() if found[1] in chunked}
    return _with_siblings(marked | plain, len(ids))


def _counted(numbers: Sequence[int]) -> bool:
    """Whether numbers go up from 0 or 1 without a gap."""
    return min(numbers) in (0, 1) and len(set(numbers)) == max(numbers) - min(numbers) + 1


def _with_siblings(parent: Mapping[str, str], documents: int) -> dict[str, str]:
    """Those of the chunks whose parent has several, but not too many of the documents."""
    children: dict[str, int] = {}
    for name in parent.values():
        children[name] = children.get(name, 0) + 1
    return {doc: name for doc, name in parent.items() if 2 <= children[name] <= MOST * documents}
