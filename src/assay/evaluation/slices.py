"""Slices: which queries belong together, so that an average cannot hide whom a search fails."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.tables import Qrels, Queries
from assay.core.texts import Ints
from assay.evaluation.words import STOP

HEAD, TAIL = 0.05, 0.5
MANY = 12  # a column of numbers with more values than this is cut into quarters
_WORD = re.compile(r"\w+")
_LENGTHS = ((2, "1-2 words"), (5, "3-5 words"), (9, "6-9 words"))


class Slice(NamedTuple):
    """Queries with one value of a column, by their place among the judged queries."""

    column: str
    value: str
    rows: list[int]

    def among(self, kept: Ints) -> Slice:
        """The same slice by its queries' places among those that are kept; it may be left empty."""
        place = {row: new for new, row in enumerate(kept.tolist())}
        return self._replace(rows=[place[row] for row in self.rows if row in place])


def slices(
    by: Iterable[str],
    query_ids: Sequence[str],
    queries: Queries | None,
    qrels: Qrels,
    documents: Mapping[str, str] | None,
) -> list[Slice]:
    """The slices of the judged queries by each column, in a settled order."""
    made = []
    for column in by:
        labels = _labels(column, query_ids, queries, qrels, documents)
        made.extend(_grouped(column, labels))
    return made


def _labels(
    column: str,
    query_ids: Sequence[str],
    queries: Queries | None,
    qrels: Qrels,
    documents: Mapping[str, str] | None,
) -> list[Any]:
    """The slice of each query by one column; None where it has none."""
    table = queries.columns if queries else {}
    if column == "frequency" and column in table and queries:
        return bands(queries.column(column, query_ids))
    if column in table and queries:
        return _binned(queries.column(column, query_ids))
    if column == "length" and "text" in table and queries:
        return [length(text) for text in queries.column("text", query_ids)]
    if column == "intent" and "text" in table and queries and documents is not None:
        return intents(query_ids, queries, qrels, documents)
    raise InputError(_missing(column, table, documents))


def _missing(column: str, table: Mapping[str, Any], documents: Mapping[str, str] | None) -> str:
    if not table:
        where = "--queries (queries= in Python, data.queries in assay.toml)"
        return f"slicing by {column!r} needs a query table: {where}"
    if column == "intent" and documents is None:
        return "slicing by 'intent' needs the documents' text: give it with --documents (documents=)"
    have = [name for name in table if name not in ("query_id", "text")]
    made = [name for name in ("length", "intent") if "text" in table]
    return f"there is no column {column!r} in the query table; it has {', '.join(have + made) or 'none'}"


def bands(frequencies: Sequence[Any]) -> list[str | None]:
    """Head (the top 5 % by frequency), torso, tail (the bottom half); ties fall to the rarer side.

    >>> bands([900, 40, 8, 3, 1, 1])
    ['head', 'torso', 'torso', 'tail', 'tail', 'tail']
    """
    counts = [_frequency(f) for f in frequencies]
    known = sorted((count for count in counts if count is not None), reverse=True)
    if not known:
        return [None] * len(counts)
    above = known[min(len(known) - 1, math.ceil(HEAD * len(known)))]
    below = known[len(known) - math.ceil(TAIL * len(known))]
    return [None if c is None else "tail" if c <= below else "head" if c > above else "torso" for c in counts]


def _frequency(value: Any) -> float | None:
    if value is None or value != value:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"the column frequency must be numbers, found {value!r}") from None


def length(text: str | None) -> str | None:
    """A query's length in words, in four steps.

    >>> length("reset two factor login")
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

    `exact`: some relevant document contains every word of the query (stop words apart).
    `semantic`: none does. None: no relevant document's text is known, or no word is left.
    """
    groups, grades = qrels.groups, qrels.grades
    place = {query: i for i, query in enumerate(groups.query_ids)}
    texts = queries.column("text", query_ids)
    vocabulary: dict[str, frozenset[str]] = {}
    made: list[str | None] = []
    for query, text in zip(query_ids, texts, strict=True):
        first, last = (int(groups.offsets[place[query] + end]) for end in (0, 1))
        relevant = [groups.ids[row] for row in range(first, last) if grades[row] >= 1]
        made.append(_intent(text, [doc for doc in relevant if doc in documents], documents, vocabulary))
    return made


def _intent(
    text: str | None,
    relevant: list[str],
    documents: Mapping[str, str],
    vocabulary: dict[str, frozenset[str]],
) -> str | None:
    wanted = set(_WORD.findall((text or "").casefold())) - STOP
    if not wanted or not relevant:
        return None
    for doc in relevant:
        if doc not in vocabulary:
            vocabulary[doc] = frozenset(_WORD.findall(documents[doc].casefold()))
        if wanted <= vocabulary[doc]:
            return "exact"
    return "semantic"


def _binned(values: list[Any]) -> list[Any]:
    """Values as labels; a column of many different numbers is cut into quarters."""
    values = [None if v != v else v for v in values]
    known = [v for v in values if v is not None]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)
    if not numbers or len(set(known)) <= MANY:
        return [v if v is None or isinstance(v, str) else str(v) for v in values]
    ordered = sorted(known)
    cuts = [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)]
    edges = _spelled([ordered[0], *cuts, ordered[-1]])
    labels = [f"{low} to {high}" for low, high in pairwise(edges)]
    labels = [f"{label} (below)" for label in labels[:3]] + labels[3:]
    return [None if v is None else labels[sum(v >= cut for cut in cuts)] for v in values]


def _spelled(numbers: list[float]) -> list[str]:
    """Numbers in as few digits as tell them apart, six at least."""
    if all(float(number).is_integer() for number in numbers):
        return [str(int(number)) for number in numbers]
    made = [[f"{number:.{digits}g}" for number in numbers] for digits in range(6, 18)]
    return next((texts for texts in made if len(set(texts)) == len(set(numbers))), made[-1])


_ORDER = {"head": 0, "torso": 1, "tail": 2, "exact": 0, "semantic": 1, **{v: k for k, v in _LENGTHS}}


def _grouped(column: str, labels: Sequence[Any]) -> list[Slice]:
    """The queries of each label."""
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault("(none)" if label is None else str(label), []).append(row)
    order = sorted(rows, key=lambda label: (label == "(none)", _ORDER.get(label, 99), _natural(label)))
    return [Slice(column, label, rows[label]) for label in order]


def _natural(label: str) -> tuple[float, str]:
    number = re.match(r"-?\d+(\.\d+)?", label)
    return (float(number.group()), label) if number else (math.inf, label)
