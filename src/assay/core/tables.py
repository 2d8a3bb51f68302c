"""The tables in the middle: Qrels, what people said; Run, what a system returned; Scores, its worth.

A table is checked when it is made and trusted from then on. Qrels and Run come from anything with
an Arrow stream, from nested dictionaries, or from a file's rows; `frame` gives them as Polars frames.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from assay.core.errors import TableError
from assay.core.gather import Piece, gathered
from assay.core.groups import Floats, Groups, MappedGroups, Segments
from assay.core.parallel import ordered_map
from assay.core.texts import Ints, Texts, mix

if TYPE_CHECKING:
    import polars as pl


class Pairs:
    """Rows keyed by query and document with one value each."""

    value_column: ClassVar[str]
    aliases: ClassVar[dict[str, tuple[str, ...]]]

    def __init__(self, data: Any, columns: Mapping[str, str] | None = None) -> None:
        if isinstance(data, Mapping) and not columns:
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
        return MappedGroups(_nested(data))

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
        ids = held.ids_at(np.arange(len(held)))
        return Groups(held.query_ids, held.offsets, ids, held.values)

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries, in the order they first appear."""
        return self._held.query_ids

    def __len__(self) -> int:
        return len(self._held)

    @cached_property
    def frame(self) -> "pl.DataFrame":
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
        groups = self.groups
        query = np.repeat(Texts.of(groups.query_ids).keys(), groups.lengths)
        values = (groups.values + 0.0).astype(np.float64).view(np.uint64)
        row = mix(mix(mix(query + np.uint64(1)) ^ groups.ids.keys()) ^ values)
        other = mix(row ^ np.uint64(0x5851F42D4C957F2D))
        content = f"{self._noun} {len(groups)} {row.sum()} {other.sum()}"
        return blake2b(content.encode(), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest  # type: ignore[attr-defined]

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
        "doc_id": ("doc-id", "docid", "docno", "corpus-id", "corpus_id", "document_id", "document"),
        "grade": ("relevance", "rel", "label", "score", "rating"),
    }

    def _check(self) -> None:
        super()._check()
        bad = np.flatnonzero(self._held.values != np.floor(self._held.values))
        if len(bad):
            query, doc = self._named(int(bad[0]))
            found = self._held.values[bad[0]]
            raise TableError(f"the grade of {doc!r} in query {query!r} must be a whole number, found {found}")

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

    def named(self, name: str) -> "Run":
        """The same run under another name."""
        run = Run.__new__(Run)
        run.__dict__.update(self.__dict__, name=name)
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

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = {name: list(values) for name, values in columns.items()}
        if self.key not in self.columns:
            raise TableError(f"expected a column {self.key}, found {', '.join(self.columns) or 'none'}")
        self.ids = self.columns[self.key] = [str(key) for key in self.columns[self.key]]
        if len({len(values) for values in self.columns.values()}) != 1:
            raise TableError("the columns of a table must have the same length")
        self.row = {key: row for row, key in enumerate(self.ids)}
        if len(self.row) != len(self.ids):
            twice = next(key for row, key in enumerate(self.ids) if self.row[key] != row)
            raise TableError(f"{self.key} {twice!r} stands twice in the table; keep one of the two rows")

    @classmethod
    def of(cls, data: Any) -> Self:
        """The table of a mapping of columns or of anything with an Arrow stream."""
        if isinstance(data, cls):
            return data
        if isinstance(data, Mapping):
            return cls(data)
        from assay.core.frames import frame_of

        return cls(frame_of(data).to_dict(as_series=False))

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str, ids: Iterable[str]) -> list[Any]:
        """A column's values for these ids, None for an id that is not in the table."""
        values = self.columns[name]
        rows = (self.row.get(key) for key in ids)
        return [None if row is None else values[row] for row in rows]

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """The rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.columns, infer_schema_length=None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @cached_property
    def digest(self) -> str:
        """A name for the content: the same rows in any order have the same digest."""
        names = sorted(self.columns)
        rows = zip(*(self.columns[name] for name in names), strict=True)
        hashes = sorted(blake2b(repr(row).encode(), digest_size=16).digest() for row in rows)
        return blake2b(repr(names).encode() + b"".join(hashes), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.digest == other.digest  # type: ignore[attr-defined]

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


class Documents(Keyed):
    """Documents with their text, a title where they have one, and any other columns.

    >>> Documents({"doc_id": ["d1"], "title": ["Reset"], "text": ["Press it."]}).texts()
    {'d1': 'Reset\\nPress it.'}
    """

    key = "doc_id"

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
    def frame(self) -> "pl.DataFrame":
        """The scores as a Polars frame with the columns query_id, measure and value."""
        from assay.core.frames import scores_frame

        return scores_frame(self.query_ids, self.values)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @cached_property
    def digest(self) -> str:
        """A name for the content: the same rows in any order have the same digest."""
        order = sorted(range(len(self.query_ids)), key=self.query_ids.__getitem__)
        state = blake2b("\0".join(self.query_ids[row] for row in order).encode(), digest_size=16)
        for name in sorted(self.values):
            state.update(name.encode() + (self.values[name][order] + 0.0).tobytes())
        return state.hexdigest()

    def __repr__(self) -> str:
        return f"Scores({len(self.query_ids):,} queries, {', '.join(self.values)})"


def known(values: Floats) -> list[float | None]:
    """Values as Python numbers, None where there is none."""
    return [None if value != value else value for value in values.tolist()]


def _nested(data: Mapping[Any, Any]) -> Mapping[str, Mapping[str, float]]:
    """A nested dictionary with ids that are strings; lists of documents count as rankings."""
    made = data
    for query, docs in data.items():
        if isinstance(docs, Sequence) and not isinstance(docs, str):
            made = {q: _ranked(q, d) for q, d in data.items()}
            break
        if not isinstance(docs, Mapping):
            raise TableError(
                f"expected {{query: {{document: number}}}}, found {type(docs).__name__} for query {query!r}"
            )
    for query, docs in made.items():
        first = next(iter(docs), "")
        if not isinstance(query, str) or not isinstance(first, str):
            wrong = first if isinstance(query, str) else query
            raise TableError(f"expected ids as strings, found {wrong!r}: use str(id) in qrels and runs alike")
    return made


def _ranked(query: Any, docs: Sequence[str]) -> dict[str, float]:
    """A list of documents, best first, as scores that fall."""
    scores = {doc: float(len(docs) - place) for place, doc in enumerate(docs)}
    if len(scores) != len(docs):
        raise TableError(f"a document stands twice in query {query!r}; keep one of the two")
    return scores
