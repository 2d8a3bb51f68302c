"""Slices: groups of queries that are evaluated separately."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from assay.core.arrays import Ints
from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Qrels, Queries
from assay.evaluation.vocabulary import STOP_WORDS

HEAD_SHARE, TAIL = 0.05, 0.5
MAX_NUMBER_LABELS = 12  # a column with more different numbers than this is cut into quartiles
NO_LABEL = "(none)"  # of the queries without a value
_WORD = re.compile(r"\w+")
_LENGTHS = ((2, "1-2 words"), (5, "3-5 words"), (9, "6-9 words"))


class Slice(NamedTuple):
    """The queries with one value of a column, by their row among the judged queries."""

    column: str
    value: str
    rows: list[int]

    def restrict_to(self, kept_rows: Ints) -> Slice:
        """The same slice by the rows of its queries among the kept rows; it may be empty."""
        new_places = {row: new for new, row in enumerate(kept_rows.tolist())}
        return self._replace(rows=[new_places[row] for row in self.rows if row in new_places])


def make_slices(
    by: Iterable[str],
    query_ids: Sequence[str],
    queries: Queries | None,
    qrels: Qrels,
    documents: Mapping[str, str] | None,
) -> list[Slice]:
    """The slices of the judged queries by each column, in a fixed order."""
    all_slices = []
    for column in by:
        labels = _labels(column, query_ids, queries, qrels, documents)
        all_slices.extend(_group_labels(column, labels))
    return all_slices


def _labels(
    column: str,
    query_ids: Sequence[str],
    queries: Queries | None,
    qrels: Qrels,
    documents: Mapping[str, str] | None,
) -> list[Any]:
    """The label of each query by one column; None if it has none."""
    table = queries.columns if queries else {}
    if queries and (column in table or (column == "length" and "text" in table)):
        return _table_labels(column, query_ids, queries)
    if column == "intent" and "text" in table and queries and documents is not None:
        return intents(query_ids, queries, qrels, documents)
    raise InputError(_missing_column_message(column, table, documents))


def label_queries(column: str, queries: Queries) -> list[str]:
    """The label of each query of a table by one column, as in its slices.

    >>> label_queries("length", Queries({"query_id": ["a"], "text": ["vpn"]}))
    ['1-2 words']
    """
    if column not in queries.columns and not (column == "length" and "text" in queries.columns):
        raise InputError(_missing_column_message(column, queries.columns, {}))
    labels = _table_labels(column, queries.ids, queries)
    return [NO_LABEL if label is None else str(label) for label in labels]


def _table_labels(column: str, query_ids: Sequence[str], queries: Queries) -> list[Any]:
    """The label of each query by a column of the query table, or by its length."""
    if column not in queries.columns:
        return [length_band(text) for text in queries.column("text", query_ids)]
    values = queries.column(column, query_ids)
    return frequency_bands(values) if column == "frequency" else _bin_values(values)


def _missing_column_message(
    column: str, table: Mapping[str, Any], documents: Mapping[str, str] | None
) -> str:
    if not table:
        options = "--queries (queries= in Python, data.queries in assay.toml)"
        return f"slicing by {column!r} needs a query table: {options}"
    if column == "intent" and documents is None:
        return "slicing by 'intent' needs the documents' text: give it with --documents (documents=)"
    columns = [name for name in table if name not in ("query_id", "text")]
    columns += [name for name in ("length", "intent") if "text" in table]
    hint = did_you_mean(column, columns)
    names = f"it has {', '.join(columns) or 'none'}"
    return f"there is no column {column!r} in the query table; {names}{hint and f'; {hint}'}"


def frequency_bands(frequencies: Sequence[Any]) -> list[str | None]:
    """Head (the top 5 % by frequency), torso, tail (the bottom half); ties fall to the rarer side.

    >>> frequency_bands([900, 40, 8, 3, 1, 1])
    ['head', 'torso', 'torso', 'tail', 'tail', 'tail']
    """
    counts = [_frequency(f) for f in frequencies]
    known_counts = sorted((count for count in counts if count is not None), reverse=True)
    if not known_counts:
        return [None] * len(counts)
    above = known_counts[min(len(known_counts) - 1, math.ceil(HEAD_SHARE * len(known_counts)))]
    below = known_counts[len(known_counts) - math.ceil(TAIL * len(known_counts))]
    return [None if c is None else "tail" if c <= below else "head" if c > above else "torso" for c in counts]


def _frequency(value: Any) -> float | None:
    if value is None or value != value:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"the column frequency must be numbers, found {value!r}") from None


def length_band(text: str | None) -> str | None:
    """A query's length in words, in four bands.

    >>> length_band("reset two factor login")
    '3-5 words'
    """
    if text is None:
        return None
    words = len(str(text).split())
    return next((label for most, label in _LENGTHS if words <= most), "10+ words")


def intents(
    query_ids: Sequence[str], queries: Queries, qrels: Qrels, documents: Mapping[str, str]
) -> list[str | None]:
    """Whether a query can be answered by matching its words or only by meaning.

    `exact`: some relevant document contains every word of the query (except stop words).
    `semantic`: none does. None: no relevant document's text is known, or no word remains.
    """
    groups, grades = qrels.groups, qrels.grades
    place = {query: i for i, query in enumerate(groups.query_ids)}
    texts = queries.column("text", query_ids)
    vocabulary: dict[str, frozenset[str]] = {}
    labels: list[str | None] = []
    for query, text in zip(query_ids, texts, strict=True):
        first, last = (int(groups.offsets[place[query] + end]) for end in (0, 1))
        relevant = [groups.ids[row] for row in range(first, last) if grades[row] >= 1]
        labels.append(_intent(text, [doc for doc in relevant if doc in documents], documents, vocabulary))
    return labels


def _intent(
    text: str | None,
    relevant: list[str],
    documents: Mapping[str, str],
    vocabulary: dict[str, frozenset[str]],
) -> str | None:
    query_words = set(_WORD.findall((text or "").casefold())) - STOP_WORDS
    if not query_words or not relevant:
        return None
    for doc in relevant:
        if doc not in vocabulary:
            vocabulary[doc] = frozenset(_WORD.findall(documents[doc].casefold()))
        if query_words <= vocabulary[doc]:
            return "exact"
    return "semantic"


def _bin_values(values: list[Any]) -> list[Any]:
    """Values as labels; a column of many different numbers is cut into quartiles."""
    values = [None if v != v else v for v in values]
    defined = [v for v in values if v is not None]
    is_numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in defined)
    if not is_numeric or len(set(defined)) <= MAX_NUMBER_LABELS:
        return [v if v is None or isinstance(v, str) else str(v) for v in values]
    ordered = sorted(defined)
    cuts = [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)]
    edges = _format_edges([ordered[0], *cuts, ordered[-1]])
    labels = [f"{low} to {high}" for low, high in pairwise(edges)]
    labels = [f"{label} (below)" for label in labels[:3]] + labels[3:]
    return [None if v is None else labels[sum(v >= cut for cut in cuts)] for v in values]


def _format_edges(numbers: list[float]) -> list[str]:
    """Numbers with as few digits as distinguish them, at least six."""
    if all(float(number).is_integer() for number in numbers):
        return [str(int(number)) for number in numbers]
    candidates = [[f"{number:.{digits}g}" for number in numbers] for digits in range(6, 18)]
    return next((texts for texts in candidates if len(set(texts)) == len(set(numbers))), candidates[-1])


_ORDER = {"head": 0, "torso": 1, "tail": 2, "exact": 0, "semantic": 1, **{v: k for k, v in _LENGTHS}}


def _group_labels(column: str, labels: Sequence[Any]) -> list[Slice]:
    """The queries of each label."""
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(NO_LABEL if label is None else str(label), []).append(row)
    order = sorted(rows, key=lambda label: (label == NO_LABEL, _ORDER.get(label, 99), _natural(label)))
    return [Slice(column, label, rows[label]) for label in order]


def _natural(label: str) -> tuple[float, str]:
    number = re.match(r"-?\d+(\.\d+)?", label)
    return (float(number.group()), label) if number else (math.inf, label)
