"""Tables built from rows of named values (CSV, TSV, JSON); errors name the line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.core.columns import match_columns, match_pair_columns
from assay.core.errors import FormatError, TableError
from assay.core.tables import (
    GRADE_LIMIT,
    Documents,
    KeyedTable,
    PairTable,
    Qrels,
    Queries,
    Run,
    duplicate_problem,
)
from assay.datasets.formats import Kind, Table

Row = tuple[int, Mapping[str, Any]]

_GRADE_NAMES = ("grade", "relevance", "rel", "label", "rating")
_SCORE_NAMES = ("sim", "similarity", "rank", "position")
_ID_NAMES = ("_id", "id")
TEXT_COLUMNS = ("text", "title")  # these columns are text even if they look like numbers


def column_aliases(kind: Kind) -> Mapping[str, tuple[str, ...]]:
    """Return the names that each column of this kind of table may have."""
    pairs: dict[str, type[PairTable]] = {"qrels": Qrels, "run": Run}
    keyed: dict[str, type[KeyedTable]] = {"queries": Queries, "documents": Documents}
    return (pairs[kind] if kind in pairs else keyed[kind]).aliases


def is_column_name(name: str) -> bool:
    """Return whether a column of any kind of table may have this name.

    >>> is_column_name("DocNo"), is_column_name("how to reset")
    (True, False)
    """
    kinds: tuple[Kind, ...] = ("qrels", "run", "queries", "documents")
    lower_name = name.lower()
    tables = [column_aliases(kind) for kind in kinds]
    return any(lower_name == key or lower_name in names for table in tables for key, names in table.items())


def is_header(fields: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Return whether the first row of a file is a header (`columns` may also map names to positions).

    >>> is_header(["qid", "text"], {}), is_header(["1108939", "what slows down blood"], {})
    (True, False)
    """
    mapped_names = {name for name in columns.values() if not name.isdigit()}
    return any(field in mapped_names or is_column_name(field) for field in fields)


def infer_kind(names: Iterable[str], columns: Mapping[str, str], label: str) -> Kind:
    """Return the kind of table that has columns of these names.

    >>> infer_kind(["query-id", "corpus-id", "score"], {}, "test.tsv")
    'qrels'
    """
    available = {name.lower() for name in names} | set(columns)
    docs = available & {"doc_id", *Qrels.aliases["doc_id"]}
    queries = available & {"query_id", *Qrels.aliases["query_id"]}
    pairs = _infer_pair_kind(available, set(columns), label) if docs and queries else None
    kind: Kind | None = pairs or _infer_keyed_kind(available, bool(docs), bool(queries), label.lower())
    if kind is None:
        raise FormatError(
            f"cannot tell from the columns {', '.join(names)} whether this is qrels, a run, queries or "
            "documents: give the kind with kind= or name its columns with columns= (--columns)",
            label,
        )
    return kind


def _infer_pair_kind(available: set[str], mapped: set[str], label: str) -> Kind | None:
    considered = mapped if "grade" in mapped or mapped & {"score", "rank"} else available
    has_grade, has_score = bool(considered & set(_GRADE_NAMES)), bool(considered & {"score", *_SCORE_NAMES})
    if has_grade and has_score:
        return None
    is_beir = available & {"corpus-id", "corpus_id"} and not available & set(_SCORE_NAMES)
    if has_grade or (has_score and (is_beir or "qrel" in label.lower())):
        return "qrels"
    return "run" if has_score else None


def _infer_keyed_kind(available: set[str], has_docs: bool, has_queries: bool, label: str) -> Kind | None:
    if has_docs:
        return None if has_queries else "documents"
    if available & {"query_id", "query-id", "qid", "topic_id", "topic-id"}:
        return "queries"
    if not available & set(_ID_NAMES):
        return None
    named_as_documents = any(word in label for word in ("corpus", "doc", "passage", "collection"))
    if named_as_documents or available & {"title", "contents", "content", "body", "passage"}:
        return "documents"
    return "queries" if available & {"text", "query", "query_text", "question"} else None


def parse_id(value: Any, column: str) -> str:
    """Return a value as an id; raise TableError if it is not one.

    >>> parse_id(7, "doc_id")
    '7'
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise TableError(f"expected text or a whole number as {column}, found {value!r}")
    if not value or "\0" in value:
        raise TableError(f"expected text as {column}, found {value!r}")
    return value


def parse_number(value: Any, column: str) -> float:
    """Return a value as a number; raise TableError if it is not one.

    >>> parse_number("0.25", "score")
    0.25
    """
    try:
        if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
            raise TypeError
        parsed_value = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TableError(f"expected a number as the {column}, found {value!r}") from None
    if parsed_value != parsed_value:
        raise TableError(f"the {column} is NaN; give a number or remove the row")
    if column == "grade" and not (parsed_value.is_integer() and abs(parsed_value) < GRADE_LIMIT):
        limit = " below 10^8" if parsed_value.is_integer() else ""
        raise TableError(f"expected a whole number as the grade{limit}, found {value!r}")
    return parsed_value


class _PairReader:
    """Reads the three values of a row of qrels or of a run."""

    def __init__(self, names: Sequence[str], kind: type[PairTable], columns: Mapping[str, str]) -> None:
        pair_columns = match_pair_columns(names, kind.aliases, kind.value_column, columns)
        self.query_name, self.doc_name, self.value_name, self.value_column = pair_columns
        self.sign = pair_columns.sign

    def read(self, row: Mapping[str, Any]) -> tuple[str, str, float]:
        """Return the query, the document and the value of a row."""
        return (
            parse_id(row.get(self.query_name), "query_id"),
            parse_id(row.get(self.doc_name), "doc_id"),
            self.sign * parse_number(row.get(self.value_name), self.value_column),
        )


def _pair_kind(kind: type[PairTable]) -> Kind:
    return "run" if issubclass(kind, Run) else "qrels"


def collect_pairs(
    rows: Iterable[Row], kind: type[PairTable], columns: Mapping[str, str], label: str
) -> dict[str, dict[str, float]]:
    """Return the rows of qrels or of a run as nested dictionaries: query, document, value."""
    values: dict[str, dict[str, float]] = {}
    reader: _PairReader | None = None
    for line, row in rows:
        try:
            reader = reader or _PairReader(list(row), kind, columns)
            query, doc, value = reader.read(row)
        except TableError as error:
            raise FormatError(str(error), label, line) from None
        docs = values.setdefault(query, {})
        if doc in docs:
            raise FormatError(duplicate_problem(query, doc), label, line)
        docs[doc] = value
    if not values:
        raise FormatError(f"expected rows of {_pair_kind(kind)}, found none", label)
    return values


def collect_columns(
    rows: Iterable[Row], kind: Kind, columns: Mapping[str, str], label: str
) -> dict[str, list[Any]]:
    """Return the columns of queries or documents; a value that a row lacks is None."""
    key = Queries.key if kind == "queries" else Documents.key
    values: dict[str, list[Any]] = {key: []}
    first_lines: dict[str, int] = {}
    for count, (line, row) in enumerate(_rename_columns(rows, kind, columns, label)):
        _check_keyed_row(line, row, key, first_lines, label)
        for name, value in row.items():
            if name not in values:
                values[name] = [None] * count
            values[name].append(value)
        for column in values.values():
            if len(column) == count:
                column.append(None)
    if not first_lines:
        raise FormatError(f"expected rows of {kind}, found none", label)
    return values


def _rename_columns(
    rows: Iterable[Row], kind: Kind, columns: Mapping[str, str], label: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    targets_by_names: dict[tuple[str, ...], dict[str, str]] = {}
    for line, row in rows:
        names = tuple(row)
        try:
            targets = targets_by_names.get(names) or targets_by_names.setdefault(
                names, match_columns(names, column_aliases(kind), columns)
            )
        except TableError as error:
            raise FormatError(str(error), label, line) from None
        yield line, {targets.get(name, name): value for name, value in row.items()}


def _check_keyed_row(
    line: int, row: dict[str, Any], key: str, first_lines: dict[str, int], label: str
) -> None:
    """Raise FormatError if a row has no unique id, or a text that is not a string."""
    try:
        if key not in row:
            raise _missing_key_error(key, row)
        row[key] = parse_id(row[key], key)
    except TableError as error:
        raise FormatError(str(error), label, line) from None
    first = first_lines.setdefault(row[key], line)
    if first != line:
        problem = f"{key} {row[key]!r} appears twice (first on line {first}); keep one of the two rows"
        raise FormatError(problem, label, line)
    for name in TEXT_COLUMNS:
        if not isinstance(row.get(name, ""), str | None):
            raise FormatError(f"expected text as {name}, found {row[name]!r}", label, line)


def build_table(rows: Iterable[Row], kind: Kind, columns: Mapping[str, str], label: str, name: str) -> Table:
    """Return the table of these rows."""
    if kind == "qrels":
        return Qrels(collect_pairs(rows, Qrels, columns, label))
    if kind == "run":
        return Run(collect_pairs(rows, Run, columns, label), name=name)
    values = collect_columns(rows, kind, columns, label)
    return Queries(values) if kind == "queries" else Documents(values)


def check_columns(names: Sequence[str], kind: Kind, columns: Mapping[str, str], label: str) -> None:
    """Raise FormatError if a header lacks columns that the table needs."""
    try:
        if kind in ("qrels", "run"):
            _PairReader(names, Run if kind == "run" else Qrels, columns)
            return
        key = Queries.key if kind == "queries" else Documents.key
        if key not in match_columns(names, column_aliases(kind), columns).values():
            raise _missing_key_error(key, names)
    except TableError as error:
        raise FormatError(str(error), label, 1) from None


def _missing_key_error(key: str, names: Iterable[str]) -> TableError:
    advice = f"name it with --columns {key}=… (columns= in Python)"
    return TableError(f"no column {key} among {', '.join(names)}: {advice}")


def check_column_names(names: Sequence[str], kind: Kind, label: str) -> None:
    """Raise FormatError if a column would be read under another name after it is written."""
    for name, target in match_columns(names, column_aliases(kind), {}).items():
        if name != target:
            problem = f"a column {name!r} would be read as {target!r}; rename it before writing"
            raise FormatError(problem, label)
