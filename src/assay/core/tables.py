"""The tables in the middle: Qrels, what people said; Run, what a system returned; Scores, its worth.

A table is checked when it is made and trusted from then on. Qrels and Run come from anything with
an Arrow stream, from nested dictionaries, or from a file's rows; `frame` gives them as Polars frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from assay.core.columns import renamed
from assay.core.digests import digest_of, sums
from assay.core.errors import TableError
from assay.core.gather import Piece, gathered
from assay.core.groups import Groups, MappedGroups, Segments, Wanted
from assay.core.parallel import ordered_map
from assay.core.texts import Floats, Ints

if TYPE_CHECKING:
    import polars as pl


TOO_HIGH = 1e8  # no grade is so high


class Pairs:
    """Rows keyed by query and document with one value each."""

    value_column: ClassVar[str]
    aliases: ClassVar[dict[str, tuple[str, ...]]]

    def __init__(self, data: Any, columns: Mapping[str, str] | None = None) -> None:
        if isinstance(data, Mapping) and not columns and not _is_columns(data):
            self._held: Segments = self._from_mapping(data)
        else:
            from assay.core.frames import pairs_from

            self._held = self._from_frame(pairs_from(data, type(self), columns or {}))
        self._check()

    @classmethod
    def from_groups(cls, groups: Groups) -> Self:
        """A table of rows that were checked where they were read."""
        table = cls.__new__(cls)
        table._held = groups
        return table

    def _from_mapping(self, data: Mapping[Any, Any]) -> Segments:
        return MappedGroups(_nested(data, _falling))

    def _from_frame(self, pieces: Iterable[Piece]) -> Segments:
        return gathered(pieces)

    def _check(self) -> None:
        """Refuse what has no place in the table."""
        if not len(self._held):
            raise TableError(f"expected rows of {self._noun}, found none")
        parts = self._held.parts if isinstance(self._held, Groups) else []
        for query, doc in filter(None, ordered_map(Groups.duplicate, parts)):
            raise TableError(f"document {doc!r} stands twice in query {query!r}; keep one of the two rows")
        bad = np.flatnonzero(np.isnan(self._held.values))
        if len(bad):
            query, doc = self._named(int(bad[0]))
            raise TableError(
                f"the {self.value_column} of document {doc!r} in query {query!r} is not a number; "
                "give a number or drop the row"
            )

    def _named(self, row: int) -> tuple[str, str]:
        """The query and the document of a row."""
        query = int(np.searchsorted(self._held.offsets, row, "right")) - 1
        return self._held.query_ids[query], self._held.ids_at(np.array([row]))[0]

    @property
    def _noun(self) -> str:
        return type(self).__name__.lower()

    @cached_property
    def groups(self) -> Groups:
        """The rows, grouped by query."""
        if isinstance(self._held, Groups):
            return self._held
        held = self._held
        return Groups(held.query_ids, held.offsets, self.wanted.texts, held.values)

    @cached_property
    def wanted(self) -> Wanted:
        """The documents of all rows, to be looked for."""
        held = self._held
        return Wanted(held.strings if isinstance(held, MappedGroups) else self.groups.ids)

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries, in the order they first appear."""
        return self._held.query_ids

    def __len__(self) -> int:
        return len(self._held)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        from assay.core.frames import pairs_frame

        return pairs_frame(self.groups, self.value_column)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The rows as nested dictionaries: query, document, value."""
        groups, bounds = self.groups, self.groups.offsets.tolist()
        ids, values = groups.ids.tolist(), groups.values.tolist()
        spans = zip(groups.query_ids, bounds[:-1], bounds[1:], strict=True)
        return {q: dict(zip(ids[a:b], values[a:b], strict=True)) for q, a, b in spans}

    @cached_property
    def digest(self) -> str:
        """A name for the content: the same rows in any order have the same digest."""
        return sums(self.groups).digest(self._noun)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.query_ids):,} queries, {len(self):,} rows)"


class Qrels(Pairs):
    """What people said: the grade of a document for a query.

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

    def _from_mapping(self, data: Mapping[Any, Any]) -> Segments:
        judged = {query: docs for query, docs in _nested(data, _all_relevant).items() if docs}
        return MappedGroups(judged)

    def _check(self) -> None:
        super()._check()
        values = self.groups.values
        bad = np.flatnonzero((values != np.floor(values)) | (np.abs(values) >= TOO_HIGH))
        if len(bad):
            query, doc = self._named(int(bad[0]))
            found = values[bad[0]]
            raise TableError(
                f"the grade of {doc!r} in query {query!r} must be a whole number below 10^8, found {found}"
            )

    @cached_property
    def grades(self) -> Ints:
        """The grades, row by row."""
        return self.groups.values.astype(np.int64)


class Run(Pairs):
    """What a system returned: the score of a document for a query.

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
        """A run of rows that were checked where they were read."""
        run = super().from_groups(groups)
        run.name = name
        return run

    def blocks(self) -> Sequence[Segments]:
        """The rows in blocks of whole queries."""
        return self._held.parts if isinstance(self._held, Groups) else [self._held]

    gathered = blocks

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.query_ids):,} queries, {len(self):,} rows)"


class Keyed:
    """Rows with an id of their own and any columns beside it."""

    key: ClassVar[str]
    aliases: ClassVar[dict[str, tuple[str, ...]]]

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = {name: _listing(values) for name, values in columns.items()}
        if self.key not in self.columns:
            raise TableError(f"expected a column {self.key}, found {', '.join(self.columns) or 'none'}")
        self.ids = self.columns[self.key] = [self._id(key) for key in self.columns[self.key]]
        if len({len(values) for values in self.columns.values()}) != 1:
            raise TableError("the columns of a table must have the same length")
        self.row = {key: row for row, key in enumerate(self.ids)}
        if len(self.row) != len(self.ids):
            twice = next(key for row, key in enumerate(self.ids) if self.row[key] != row)
            raise TableError(f"{self.key} {twice!r} stands twice in the table; keep one of the two rows")

    def _id(self, key: Any) -> str:
        if isinstance(key, str | int) and not isinstance(key, bool) and key != "":
            return str(key)
        raise TableError(f"expected text or a whole number as {self.key}, found {key!r}")

    @classmethod
    def of(cls, data: Any) -> Self:
        """The table of {id: text}, of columns by their names, or of anything with an Arrow stream."""
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            from assay.core.frames import frame_of

            data = frame_of(data).to_dict(as_series=False)
        if data and all(isinstance(text, str) for text in data.values()):
            data = {cls.key: list(data), "text": list(data.values())}
        found = renamed(list(data), cls.aliases, {})
        return cls({found.get(name, name): values for name, values in data.items()})

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str, ids: Iterable[str]) -> list[Any]:
        """A column's values for these ids, None for an id that is not in the table."""
        values = self.columns[name]
        rows = (self.row.get(key) for key in ids)
        return [None if row is None else values[row] for row in rows]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        columns = {name: _of_one_type(values) for name, values in self.columns.items()}
        return pl.DataFrame(columns, infer_schema_length=None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @cached_property
    def digest(self) -> str:
        """A name for the content: the same rows in any order have the same digest."""
        names = sorted(self.columns)
        rows = zip(*(self.columns[name] for name in names), strict=True)
        return digest_of(
            repr((names, sorted(digest_of(repr([*map(_same, row)]).encode()) for row in rows))).encode()
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} rows: {', '.join(self.columns)})"


class Queries(Keyed):
    """Queries with their text and any columns to slice by.

    >>> Queries({"query_id": ["q1"], "text": ["how"], "category": ["faq"]}).columns["category"]
    ['faq']
    """

    key = "query_id"
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "query_id": ("query-id", "qid", "topic_id", "topic-id", "topic", "_id", "id"),
        "text": ("query", "query_text", "question"),
    }


class Documents(Keyed):
    """Documents with their text, a title where they have one, and any other columns.

    >>> Documents({"doc_id": ["d1"], "title": ["Reset"], "text": ["Press it."]}).texts()
    {'d1': 'Reset\\nPress it.'}
    """

    key = "doc_id"
    aliases: ClassVar[dict[str, tuple[str, ...]]] = {
        "doc_id": (*Qrels.aliases["doc_id"], "_id", "id"),
        "text": ("contents", "content", "body", "passage"),
    }

    def texts(self) -> dict[str, str]:
        """What there is to search in each document: its title and its text."""
        parts = [self.columns[name] for name in ("title", "text") if name in self.columns]
        texts = ("\n".join(filter(None, values)) for values in zip(*parts, strict=True))
        return dict(zip(self.ids, texts, strict=True))


class Scores:
    """What a run was worth: the value of each measure for each query (NaN: undefined)."""

    def __init__(self, query_ids: Sequence[str], values: Mapping[str, Floats]) -> None:
        self.query_ids, self.values = query_ids, dict(values)

    def __getitem__(self, measure: object) -> Floats:
        return self.values[str(measure)]

    def take(self, rows: Ints) -> Scores:
        """The scores of some of the queries, by their places."""
        ids = [self.query_ids[row] for row in rows.tolist()]
        return Scores(ids, {name: values[rows] for name, values in self.values.items()})

    def __len__(self) -> int:
        return len(self.query_ids) * len(self.values)

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Query, measure, value; None where a value is undefined."""
        columns = {name: known(values) for name, values in self.values.items()}
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
        """A name for the content: the same rows in any order have the same digest."""
        order = sorted(range(len(self.query_ids)), key=self.query_ids.__getitem__)
        columns = [
            (name, digest_of((self.values[name][order] + 0.0).tobytes())) for name in sorted(self.values)
        ]
        return digest_of(repr(([self.query_ids[row] for row in order], columns)).encode())

    def __repr__(self) -> str:
        return f"Scores({len(self.query_ids):,} queries, {', '.join(self.values)})"


def _listing(values: Sequence[Any]) -> list[Any]:
    """A column as a list of Python values, also where it is an array."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _of_one_type(values: list[Any]) -> list[Any]:
    """A column with all its numbers as floats where some of them are."""
    kinds = {type(value) for value in values} - {type(None)}
    return [v if v is None else float(v) for v in values] if kinds == {int, float} else values


def _same(value: Any) -> Any:
    """A value as it counts in a digest: 2.0 is 2."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def known(values: Floats) -> list[float | None]:
    """Values as Python numbers, None where there is none."""
    return [None if value != value else value for value in values.tolist()]


def _is_columns(data: Mapping[Any, Any]) -> bool:
    """Whether a dictionary holds columns by their names rather than queries."""
    return {"query_id", "doc_id"} <= data.keys() and not any(isinstance(v, Mapping) for v in data.values())


def _nested(
    data: Mapping[Any, Any], valued: Callable[[Sequence[str]], Iterable[float]]
) -> Mapping[str, Mapping[str, float]]:
    """A nested dictionary with ids that are strings; lists of documents get values by `valued`."""
    made = data
    for query, docs in data.items():
        if isinstance(docs, Sequence) and not isinstance(docs, str):
            made = {q: d if isinstance(d, Mapping) else _listed(q, d, valued) for q, d in data.items()}
            break
        if not isinstance(docs, Mapping):
            raise _not_nested(query, docs)
    for query, docs in made.items():
        first = next(iter(docs), "")
        if not isinstance(query, str) or not isinstance(first, str):
            wrong = first if isinstance(query, str) else query
            raise TableError(f"expected ids as strings, found {wrong!r}: use str(id) in qrels and runs alike")
        if "\0" in query:
            raise TableError(f"expected a query id without NUL, found {query!r}")
    return made


def _listed(query: Any, docs: Any, valued: Callable[[Sequence[str]], Iterable[float]]) -> Mapping[str, float]:
    """A list of documents with a value for each."""
    if not isinstance(docs, Sequence) or isinstance(docs, str):
        raise _not_nested(query, docs)
    values = dict(zip(docs, valued(docs), strict=True))
    if len(values) != len(docs):
        raise TableError(f"a document stands twice in query {query!r}; keep one of the two")
    return values


def _falling(docs: Sequence[str]) -> Iterable[float]:
    """Scores for a list of documents, best first."""
    return range(len(docs), 0, -1)


def _all_relevant(docs: Sequence[str]) -> Iterable[float]:
    """Grades for a list of relevant documents."""
    return [1] * len(docs)


def _not_nested(query: Any, found: Any) -> TableError:
    return TableError(
        f"expected {{query: {{document: number}}}}, found {type(found).__name__} for query {query!r}"
    )
