"""Tables from rows of named values (CSV, TSV, JSON), with the line of whatever is wrong."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.core.columns import renamed, require
from assay.core.errors import FormatError, TableError
from assay.core.tables import TOO_HIGH, Documents, Keyed, Pairs, Qrels, Queries, Run
from assay.datasets.formats import Kind, Table

Row = tuple[int, Mapping[str, Any]]

_GRADES = ("grade", "relevance", "rel", "label", "rating")
_SCORES = ("sim", "similarity", "rank", "position")
_ANY_ID = ("_id", "id")
WORDS = ("text", "title")  # these columns are text even where they look like numbers


def aliases(kind: Kind) -> Mapping[str, tuple[str, ...]]:
    """The names that each column of such a table may have."""
    pairs: dict[str, type[Pairs]] = {"qrels": Qrels, "run": Run}
    keyed: dict[str, type[Keyed]] = {"queries": Queries, "documents": Documents}
    return (pairs[kind] if kind in pairs else keyed[kind]).aliases


def known(name: str) -> bool:
    """Whether a column of some table may have this name.

    >>> known("DocNo"), known("how to reset")
    (True, False)
    """
    kinds: tuple[Kind, ...] = ("qrels", "run", "queries", "documents")
    lowered = name.lower()
    tables = [aliases(kind) for kind in kinds]
    return any(lowered == key or lowered in names for table in tables for key, names in table.items())


def is_header(fields: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Whether the first row of a file names columns (a mapping to numbers names places instead).

    >>> is_header(["qid", "text"], {}), is_header(["1108939", "what slows down blood"], {})
    (True, False)
    """
    given = {name for name in columns.values() if not name.isdigit()}
    return any(field in given or known(field) for field in fields)


def kind_of(names: Iterable[str], columns: Mapping[str, str], label: str) -> Kind:
    """The kind of table that has columns of these names.

    >>> kind_of(["query-id", "corpus-id", "score"], {}, "test.tsv")
    'qrels'
    """
    there = {name.lower() for name in names} | set(columns)
    docs = there & {"doc_id", *Qrels.aliases["doc_id"]}
    queries = there & {"query_id", *Qrels.aliases["query_id"]}
    pairs = _kind_of_pairs(there, set(columns), label) if docs and queries else None
    kind: Kind | None = pairs or _kind_of_keyed(there, bool(docs), bool(queries), label.lower())
    if kind is None:
        raise FormatError(
            f"cannot tell qrels, run, queries and documents apart by the columns {', '.join(names)}: "
            "say which it is with kind= or name its columns with columns= (--columns)",
            label,
        )
    return kind


def _kind_of_pairs(there: set[str], mapped: set[str], label: str) -> Kind | None:
    sure = mapped if "grade" in mapped or mapped & {"score", "rank"} else there
    graded, scored = bool(sure & set(_GRADES)), bool(sure & {"score", *_SCORES})
    if graded and scored:
        return None
    beir = there & {"corpus-id", "corpus_id"} and not there & set(_SCORES)
    if graded or (scored and (beir or "qrel" in label.lower())):
        return "qrels"
    return "run" if scored else None


def _kind_of_keyed(there: set[str], docs: bool, queries: bool, label: str) -> Kind | None:
    if docs:
        return None if queries else "documents"
    if there & {"query_id", "query-id", "qid", "topic_id", "topic-id"}:
        return "queries"
    if not there & set(_ANY_ID):
        return None
    called = any(word in label for word in ("corpus", "doc", "passage", "collection"))
    if called or there & {"title", "contents", "content", "body", "passage"}:
        return "documents"
    return "queries" if there & {"text", "query", "query_text", "question"} else None


def identity(value: Any, column: str) -> str:
    """A value as an id; TableError where it is none.

    >>> identity(7, "doc_id")
    '7'
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise TableError(f"expected text or a whole number as {column}, found {value!r}")
    if not value or "\0" in value:
        raise TableError(f"expected text as {column}, found {value!r}")
    return value


def number(value: Any, column: str) -> float:
    """A value as a number; TableError where it is none.

    >>> number("0.25", "score")
    0.25
    """
    try:
        if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
            raise TypeError
        made = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TableError(f"expected a number as the {column}, found {value!r}") from None
    if made != made:
        raise TableError(f"the {column} is NaN, which has no place here; give a number or drop the row")
    if column == "grade" and not (made.is_integer() and abs(made) < TOO_HIGH):
        raise TableError(f"expected a whole number as the grade, found {value!r}")
    return made


class _Reader:
    """Where the three values of a row of qrels or of a run stand."""

    def __init__(self, names: Sequence[str], kind: type[Pairs], columns: Mapping[str, str]) -> None:
        places = {to: name for name, to in renamed(names, kind.aliases, columns).items()}
        self.value = kind.value_column
        self.sign = 1.0
        if self.value not in places and "rank" in places:
            self.value, self.sign = "rank", -1.0
        require(("query_id", "doc_id", self.value), places, names)
        self.query_at, self.doc_at = places["query_id"], places["doc_id"]
        self.value_at = places[self.value]

    def read(self, row: Mapping[str, Any]) -> tuple[str, str, float]:
        """The query, the document and the value of a row."""
        return (
            identity(row.get(self.query_at), "query_id"),
            identity(row.get(self.doc_at), "doc_id"),
            self.sign * number(row.get(self.value_at), self.value),
        )


def _pair_kind(kind: type[Pairs]) -> Kind:
    return "run" if issubclass(kind, Run) else "qrels"


def pairs(
    rows: Iterable[Row], kind: type[Pairs], columns: Mapping[str, str], label: str
) -> dict[str, dict[str, float]]:
    """The rows of qrels or of a run: query, document, value."""
    made: dict[str, dict[str, float]] = {}
    reader: _Reader | None = None
    for line, row in rows:
        try:
            reader = reader or _Reader(list(row), kind, columns)
            query, doc, value = reader.read(row)
        except TableError as error:
            raise FormatError(str(error), label, line) from None
        docs = made.setdefault(query, {})
        if doc in docs:
            problem = f"document {doc!r} stands twice in query {query!r}; keep one of the two rows"
            raise FormatError(problem, label, line)
        docs[doc] = value
    if not made:
        raise FormatError(f"expected rows of {_pair_kind(kind)}, found none", label)
    return made


def keyed(rows: Iterable[Row], kind: Kind, columns: Mapping[str, str], label: str) -> dict[str, list[Any]]:
    """The columns of queries or documents; a value that a row does not have is None."""
    key = Queries.key if kind == "queries" else Documents.key
    made: dict[str, list[Any]] = {key: []}
    seen: dict[str, int] = {}
    for count, (line, row) in enumerate(_renamed_rows(rows, kind, columns, label)):
        _check_keyed(line, row, key, seen, label)
        for name, value in row.items():
            if name not in made:
                made[name] = [None] * count
            made[name].append(value)
        for column in made.values():
            if len(column) == count:
                column.append(None)
    if not seen:
        raise FormatError(f"expected rows of {kind}, found none", label)
    return made


def _renamed_rows(
    rows: Iterable[Row], kind: Kind, columns: Mapping[str, str], label: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    plans: dict[tuple[str, ...], dict[str, str]] = {}
    for line, row in rows:
        names = tuple(row)
        try:
            plan = plans.get(names) or plans.setdefault(names, renamed(names, aliases(kind), columns))
        except TableError as error:
            raise FormatError(str(error), label, line) from None
        yield line, {plan.get(name, name): value for name, value in row.items()}


def _check_keyed(line: int, row: dict[str, Any], key: str, seen: dict[str, int], label: str) -> None:
    """Refuse a row without an id of its own or with a text that is none."""
    try:
        if key not in row:
            raise _no_key(key, row)
        row[key] = identity(row[key], key)
    except TableError as error:
        raise FormatError(str(error), label, line) from None
    first = seen.setdefault(row[key], line)
    if first != line:
        problem = f"{key} {row[key]!r} stands twice (first on line {first}); keep one of the two rows"
        raise FormatError(problem, label, line)
    for name in WORDS:
        if not isinstance(row.get(name, ""), str | None):
            raise FormatError(f"expected text as {name}, found {row[name]!r}", label, line)


def table(rows: Iterable[Row], kind: Kind, columns: Mapping[str, str], label: str, name: str) -> Table:
    """The table of these rows."""
    if kind == "qrels":
        return Qrels(pairs(rows, Qrels, columns, label))
    if kind == "run":
        return Run(pairs(rows, Run, columns, label), name=name)
    made = keyed(rows, kind, columns, label)
    return Queries(made) if kind == "queries" else Documents(made)


def check_columns(names: Sequence[str], kind: Kind, columns: Mapping[str, str], label: str) -> None:
    """Refuse a header without the columns that the table needs."""
    try:
        if kind in ("qrels", "run"):
            _Reader(names, Run if kind == "run" else Qrels, columns)
            return
        key = Queries.key if kind == "queries" else Documents.key
        if key not in renamed(names, aliases(kind), columns).values():
            raise _no_key(key, names)
    except TableError as error:
        raise FormatError(str(error), label, 1) from None


def _no_key(key: str, names: Iterable[str]) -> TableError:
    advice = f"name it with --columns {key}=… (columns= in Python)"
    return TableError(f"no column {key} among {', '.join(names)}: {advice}")


def check_names(names: Sequence[str], kind: Kind, label: str) -> None:
    """Refuse to write columns that would have another name when they are read."""
    for name, target in renamed(names, aliases(kind), {}).items():
        if name != target:
            problem = f"a column {name!r} would be read back as {target!r}; rename it before writing"
            raise FormatError(problem, label)
