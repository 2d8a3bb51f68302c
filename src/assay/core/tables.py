"""The tables: Qrels, Run, Queries, Documents and Scores.

A table is checked when it is created and trusted afterwards. Qrels and Run are created from anything with
an Arrow stream, from nested dictionaries or from the rows of a file; `frame` is the table in Polars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.columns import match_columns
from assay.core.digests import digest_of, sum_rows
from assay.core.errors import TableError
from assay.core.group_rows import group_rows
from assay.core.groups import DictGroups, DocIds, Groups, ScoreChanges, Segments
from assay.core.parallel import ordered_map

if TYPE_CHECKING:
    import polars as pl


GRADE_LIMIT = 1e8  # grades must be below this


class PairTable:
    """A table with one value for each pair of a query and a document."""

    value_column: ClassVar[str]
    aliases: ClassVar[dict[str, tuple[str, ...]]]

    def __init__(self, data: Any, columns: Mapping[str, str] | None = None) -> None:
        if isinstance(data, Mapping) and not columns and not _is_columns(data):
            self._segments: Segments = self._from_mapping(data)
        else:
            from assay.core.frames import row_batches

            batches = row_batches(data, self._noun, self.aliases, self.value_column, columns or {})
            self._segments = group_rows(batches)
        self._check()

    @classmethod
    def from_groups(cls, groups: Groups) -> Self:
        """Return a table of rows that have been checked by their reader."""
        table = cls.__new__(cls)
        table._segments = groups
        return table

    def _from_mapping(self, data: Mapping[Any, Any]) -> Segments:
        return DictGroups(_check_nested(data, _descending_scores))

    def _check(self) -> None:
        """Raise TableError if the table is empty, has duplicates or has values that are not numbers."""
        if not len(self._segments):
            raise TableError(f"expected rows of {self._noun}, found none")
        parts = self._segments.parts if isinstance(self._segments, Groups) else []
        for query, doc in filter(None, ordered_map(Groups.find_duplicate, parts)):
            raise TableError(duplicate_problem(query, doc))
        bad_rows = np.flatnonzero(np.isnan(self._segments.values))
        if len(bad_rows):
            query, doc = self._pair_at(int(bad_rows[0]))
            raise TableError(
                f"the {self.value_column} of document {doc!r} in query {query!r} is not a number; "
                "give a number or remove the row"
            )

    def _pair_at(self, row: int) -> tuple[str, str]:
        """Return the query and the document of a row."""
        query = int(np.searchsorted(self._segments.offsets, row, "right")) - 1
        return self._segments.query_ids[query], self._segments.ids_at(np.array([row]))[0]

    @property
    def _noun(self) -> str:
        return type(self).__name__.lower()

    @cached_property
    def groups(self) -> Groups:
        """The rows, grouped by query."""
        if isinstance(self._segments, Groups):
            return self._segments
        segments = self._segments
        return Groups(segments.query_ids, segments.offsets, self.doc_ids.column, segments.values)

    @cached_property
    def doc_ids(self) -> DocIds:
        """The documents of all rows, in the forms in which they are looked up."""
        segments = self._segments
        return DocIds(segments.strings if isinstance(segments, DictGroups) else self.groups.ids)

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries in the order they first appear."""
        return self._segments.query_ids

    def __len__(self) -> int:
        return len(self._segments)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        from assay.core.frames import pairs_frame

        return pairs_frame(self.groups, self.value_column)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the rows as nested dictionaries: query, document, value."""
        groups, bounds = self.groups, self.groups.offsets.tolist()
        ids, values = groups.ids.tolist(), groups.values.tolist()
        spans = zip(groups.query_ids, bounds[:-1], bounds[1:], strict=True)
        return {q: dict(zip(ids[a:b], values[a:b], strict=True)) for q, a, b in spans}

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        return sum_rows(self.groups).digest(self._noun)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.query_ids):,} queries, {len(self):,} rows)"


class Qrels(PairTable):
    """Relevance judgments: the grade of a document for a query.

    >>> Qrels({"q1": {"a": 1, "b": 0}})
    Qrels(1 queries, 2 rows)
    """

    value_column = "grade"
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "query_id": ("query-id", "qid", "query", "topic", "topic_id"),
        "doc_id": (
            "doc-id",
            "docid",
            "docno",
            "corpus-id",
            "corpus_id",
            "document_id",
            "document",
            "pid",
            "did",
        ),
        "grade": ("relevance", "rel", "label", "score", "rating"),
    }
    empty_queries: Sequence[str] = ()  # queries that were given with no documents; they are not in the table

    def _from_mapping(self, data: Mapping[Any, Any]) -> Segments:
        judgments = _check_nested(data, _relevant_grades)
        self.empty_queries = [query for query, docs in judgments.items() if not docs]
        return DictGroups({query: docs for query, docs in judgments.items() if docs})

    def _check(self) -> None:
        super()._check()
        values = self.groups.values
        bad_rows = np.flatnonzero((values != np.floor(values)) | (np.abs(values) >= GRADE_LIMIT))
        if len(bad_rows):
            query, doc = self._pair_at(int(bad_rows[0]))
            grade = values[bad_rows[0]]
            raise TableError(
                f"the grade of {doc!r} in query {query!r} must be a whole number below 10^8, found {grade}"
            )

    @cached_property
    def grades(self) -> Ints:
        """The grades, row by row."""
        return self.groups.values.astype(np.int64)


class Run(PairTable):
    """The results of a system: the score of a document for a query.

    >>> Run({"q1": {"a": 0.9, "b": 0.4}}, name="mine")
    Run('mine', 1 queries, 2 rows)
    """

    value_column = "score"
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "query_id": Qrels.aliases["query_id"],
        "doc_id": Qrels.aliases["doc_id"],
        "score": ("sim", "similarity"),
        "rank": ("position",),
    }

    def __init__(self, data: Any, columns: Mapping[str, str] | None = None, name: str = "run") -> None:
        super().__init__(data, columns)
        self.name = name

    @classmethod
    def from_groups(cls, groups: Groups, name: str = "run") -> Self:
        """Return a run of rows that have been checked by their reader."""
        run = super().from_groups(groups)
        run.name = name
        return run

    def blocks(self) -> Sequence[Segments]:
        """Return the rows in blocks of complete queries."""
        return self._segments.parts if isinstance(self._segments, Groups) else [self._segments]

    blocks_in_memory = blocks
    tag = ""
    rank_changes = ScoreChanges()  # the ranks of a file are not kept

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.query_ids):,} queries, {len(self):,} rows)"


class KeyedTable:
    """A table with a unique id for each row and any other columns."""

    key: ClassVar[str]
    aliases: ClassVar[dict[str, tuple[str, ...]]]

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = {name: _to_list(values) for name, values in columns.items()}
        if self.key not in self.columns:
            raise TableError(f"expected a column {self.key}, found {', '.join(self.columns) or 'none'}")
        self.ids = self.columns[self.key] = [self._parse_id(key) for key in self.columns[self.key]]
        if len({len(values) for values in self.columns.values()}) != 1:
            raise TableError("the columns of a table must have the same length")
        self.row_by_id = {key: row for row, key in enumerate(self.ids)}
        if len(self.row_by_id) != len(self.ids):
            duplicate = next(key for row, key in enumerate(self.ids) if self.row_by_id[key] != row)
            raise TableError(f"{self.key} {duplicate!r} appears twice in the table; keep one of the two rows")

    def _parse_id(self, key: Any) -> str:
        if isinstance(key, str | int) and not isinstance(key, bool) and key != "":
            return str(key)
        raise TableError(f"expected text or a whole number as {self.key}, found {key!r}")

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Return the table of {id: text}, of columns by name, or of anything with an Arrow stream."""
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            from assay.core.frames import to_frame

            data = to_frame(data).to_dict(as_series=False)
        if data and all(isinstance(text, str) for text in data.values()):
            data = {cls.key: list(data), "text": list(data.values())}
        targets = match_columns(list(data), cls.aliases, {})
        return cls({targets.get(name, name): values for name, values in data.items()})

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str, ids: Iterable[str]) -> list[Any]:
        """Return the values of a column for these ids, None for an id that is not in the table."""
        values = self.columns[name]
        rows = (self.row_by_id.get(key) for key in ids)
        return [None if row is None else values[row] for row in rows]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        columns = {name: _unify_numbers(values) for name, values in self.columns.items()}
        return pl.DataFrame(columns, infer_schema_length=None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        names = sorted(self.columns)
        rows = zip(*(self.columns[name] for name in names), strict=True)
        return digest_of(
            repr(
                (names, sorted(digest_of(repr([*map(_digest_value, row)]).encode()) for row in rows))
            ).encode()
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows: {', '.join(self.columns)})"


class Queries(KeyedTable):
    """Queries with their text and any columns to slice by.

    >>> Queries({"query_id": ["q1"], "text": ["how"], "category": ["faq"]}).columns["category"]
    ['faq']
    """

    key = "query_id"
    has_derived_ids = False  # whether the reader of the table made ids of its own
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "query_id": ("query-id", "qid", "topic_id", "topic-id", "topic", "_id", "id"),
        "text": ("query", "query_text", "question"),
    }


class Documents(KeyedTable):
    """Documents with their text, an optional title and any other columns.

    >>> Documents({"doc_id": ["d1"], "title": ["Reset"], "text": ["Press it."]}).texts()
    {'d1': 'Reset\\nPress it.'}
    """

    key = "doc_id"
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "doc_id": (*Qrels.aliases["doc_id"], "_id", "id"),
        "text": ("contents", "content", "body", "passage"),
    }

    def texts(self) -> dict[str, str]:
        """Return the searchable text of each document: its title and its text."""
        parts = [self.columns[name] for name in ("title", "text") if name in self.columns]
        texts = ("\n".join(filter(None, values)) for values in zip(*parts, strict=True))
        return dict(zip(self.ids, texts, strict=True))


class Scores:
    """The value of each measure for each query of a run (NaN: undefined)."""

    def __init__(self, query_ids: Sequence[str], values: Mapping[str, Floats]) -> None:
        self.query_ids, self.values = query_ids, dict(values)

    def __getitem__(self, measure: object) -> Floats:
        return self.values[str(measure)]

    def take(self, rows: Ints) -> Scores:
        """Return the scores of the queries at these rows."""
        ids = [self.query_ids[row] for row in rows.tolist()]
        return Scores(ids, {name: values[rows] for name, values in self.values.items()})

    def __len__(self) -> int:
        return len(self.query_ids) * len(self.values)

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return nested dictionaries of query, measure and value; undefined values are None."""
        columns = {name: none_for_nan(values) for name, values in self.values.items()}
        return {
            query: {name: column[row] for name, column in columns.items()}
            for row, query in enumerate(self.query_ids)
        }

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The scores as a Polars frame with the columns query_id, measure and value."""
        from assay.core.frames import scores_frame

        return scores_frame(self.query_ids, self.values)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        order = sorted(range(len(self.query_ids)), key=self.query_ids.__getitem__)
        columns = [
            (name, digest_of((self.values[name][order] + 0.0).tobytes())) for name in sorted(self.values)
        ]
        return digest_of(repr(([self.query_ids[row] for row in order], columns)).encode())

    def __repr__(self) -> str:
        return f"Scores({len(self.query_ids):,} queries, {', '.join(self.values)})"


def _to_list(values: Sequence[Any]) -> list[Any]:
    """Return a column as a list of Python values, also if it is an array."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _unify_numbers(values: list[Any]) -> list[Any]:
    """Return a column with all numbers as floats if some of them are floats."""
    kinds = {type(value) for value in values} - {type(None)}
    return [v if v is None else float(v) for v in values] if kinds == {int, float} else values


def _digest_value(value: Any) -> Any:
    """Return a value as it enters a digest, in which 2.0 equals 2."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def none_for_nan(values: Floats) -> list[float | None]:
    """Return values as Python numbers, with None in place of NaN."""
    return [None if value != value else value for value in values.tolist()]


def _is_columns(data: Mapping[Any, Any]) -> bool:
    """Return whether a dictionary holds columns by name, not queries."""
    return {"query_id", "doc_id"} <= data.keys() and not any(isinstance(v, Mapping) for v in data.values())


def _check_nested(
    data: Mapping[Any, Any], assign_values: Callable[[Sequence[str]], Iterable[float]]
) -> Mapping[str, Mapping[str, float]]:
    """Return a nested dictionary with strings as ids; `assign_values` gives values to lists of documents."""
    rankings = data
    for query, docs in data.items():
        if isinstance(docs, Sequence) and not isinstance(docs, str):
            rankings = {
                q: d if isinstance(d, Mapping) else _list_values(q, d, assign_values) for q, d in data.items()
            }
            break
        if not isinstance(docs, Mapping):
            raise _nesting_error(query, docs)
    for query, docs in rankings.items():
        first = next(iter(docs), "")
        if not isinstance(query, str) or not isinstance(first, str):
            bad_id = first if isinstance(query, str) else query
            raise TableError(f"expected ids as strings, found {bad_id!r}: use str(id) in both qrels and runs")
        if "\0" in query:
            raise TableError(f"expected a query id without NUL, found {query!r}")
    return rankings


def _list_values(
    query: Any, docs: Any, assign_values: Callable[[Sequence[str]], Iterable[float]]
) -> Mapping[str, float]:
    """Return a list of documents with a value for each."""
    if not isinstance(docs, Sequence) or isinstance(docs, str):
        raise _nesting_error(query, docs)
    values = dict(zip(docs, assign_values(docs), strict=True))
    if len(values) != len(docs):
        raise TableError(f"a document appears twice in query {query!r}; keep one of the two")
    return values


def _descending_scores(docs: Sequence[str]) -> Iterable[float]:
    """Return scores for a list of documents, best first."""
    return range(len(docs), 0, -1)


def _relevant_grades(docs: Sequence[str]) -> Iterable[float]:
    """Return grades for a list of relevant documents."""
    return [1] * len(docs)


def duplicate_problem(query: str, doc: str, first_line: int | None = None) -> str:
    """Return the message about a document that appears twice in a query.

    >>> duplicate_problem("q1", "d7", 3)
    "document 'd7' appears twice in query 'q1' (first on line 3); keep one of the two rows"
    """
    location = f" (first on line {first_line})" if first_line else ""
    return f"document {doc!r} appears twice in query {query!r}{location}; keep one of the two rows"


def _nesting_error(query: Any, value: Any) -> TableError:
    return TableError(
        f"expected {{query: {{document: number}}}}, found {type(value).__name__} for query {query!r}"
    )
