"""The formats of tables by name, with the tables that each can hold."""

from typing import Literal, NamedTuple, get_args

from assay.core.errors import FormatError, InputError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Documents, Qrels, Queries, Run

Kind = Literal["qrels", "run", "queries", "documents"]
Table = Qrels | Run | Queries | Documents
KINDS: tuple[Kind, ...] = get_args(Kind)
JUDGMENTS_FILE = "judgments.jsonl"  # in the folder of an evaluation set: what each judge said


class Collection(NamedTuple):
    """The queries, the qrels and the documents of one test collection."""

    queries: Queries | None = None
    qrels: Qrels | None = None
    documents: Documents | None = None

    def select(self, kind: Kind | None, label: str) -> "Collection | Table":
        """Return the table of this kind, or the whole collection if `kind` is None.

        >>> Collection(qrels=Qrels({"q": {"a": 1}})).select("qrels", "here")
        Qrels(1 queries, 1 rows)
        """
        if kind is None:
            return self
        table: Table | None = getattr(self, kind, None)
        if table is None:
            names = [name for name, part in zip(self._fields, self, strict=True) if part is not None]
            raise FormatError(f"expected {kind}, found only {', '.join(names) or 'nothing'}", label)
        return table


class Format(NamedTuple):
    """One format: its name, its description, and the kinds of tables that it reads and writes."""

    name: str
    description: str
    module: str
    reads: tuple[Kind, ...]
    writes: tuple[Kind, ...]
    extensions: tuple[str, ...] = ()
    is_collection: bool = False

    def kind_error(self, kind: Kind, label: str) -> FormatError:
        """Return the error for a kind of table that this format cannot hold."""
        writers = [other.name for other in FORMATS.values() if kind in other.writes]
        return FormatError(f"the format {self.name} cannot hold {kind}; {', '.join(writers)} can", label)


_JUDGED: tuple[Kind, ...] = ("qrels", "queries", "documents")
_PAIRS: tuple[Kind, ...] = ("qrels", "run")

FORMATS = {
    file_format.name: file_format
    for file_format in (
        Format(
            "trec",
            "TREC qrels (4 fields) and runs (6 fields), separated by blanks or tabs",
            "trec",
            _PAIRS,
            _PAIRS,
            (".trec", ".run", ".qrels", ".txt"),
        ),
        Format(
            "beir",
            "a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv",
            "beir",
            _JUDGED,
            _JUDGED,
            is_collection=True,
        ),
        Format(
            "json",
            "a JSON object {query: {document: number}} or {query: [document, …]}: pytrec_eval, BEIR, ranx",
            "nested_json",
            _PAIRS,
            _PAIRS,
            (".json",),
        ),
        Format(
            "guide",
            'a JSON list of {"query", "relevant_doc_ids"} or, graded, {"query", "relevant": {doc: grade}}',
            "query_list",
            ("qrels", "queries"),
            ("qrels", "queries"),
            (".json",),
            is_collection=True,
        ),
        Format("csv", "comma-separated values with a header", "delimited", KINDS, KINDS, (".csv",)),
        Format(
            "tsv",
            "tab-separated values, never quoted, with a header (or id and text without one)",
            "delimited",
            KINDS,
            KINDS,
            (".tsv", ".tab"),
        ),
        Format("jsonl", "one JSON object on each line", "jsonl", KINDS, KINDS, (".jsonl", ".ndjson")),
        Format("parquet", "Apache Parquet", "columnar", KINDS, KINDS, (".parquet", ".pq")),
        Format(
            "arrow",
            "Apache Arrow IPC, file or stream",
            "columnar",
            KINDS,
            KINDS,
            (".arrow", ".feather", ".ipc", ".arrows"),
        ),
        Format(
            "smart",
            "SMART collections such as Cranfield: .I .T .A .B .W, and judgments in 3 fields",
            "smart",
            _JUDGED,
            _JUDGED,
            is_collection=True,
        ),
        Format(
            "sgml",
            "TREC SGML: documents as <DOC> with <DOCNO>, topics as <top> with <num>",
            "sgml",
            ("queries", "documents"),
            (),
        ),
        Format(
            "judgments",
            "judgment lists of OpenSearch Search Relevance and Quepid: JSON, or CSV query,docid,rating",
            "judgment_lists",
            ("qrels", "queries"),
            (),
            is_collection=True,
        ),
        Format(
            "ir_datasets",
            "a collection of the package ir_datasets by its id, such as ir_datasets:vaswani",
            "ir_datasets_source",
            KINDS,
            (),
            is_collection=True,
        ),
    )
}


def get_format(name: str) -> Format:
    """Return the format of this name.

    >>> get_format("tsv").module
    'delimited'
    """
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"choose one of {', '.join(FORMATS)}"
        raise InputError(f"there is no format {name!r}; {hint}")
    return FORMATS[name]


def format_by_extension(path: str, kind: Kind | None = None) -> Format | None:
    """Return the format of a table (or a collection) by the extension of its file, None if it is unknown.

    >>> format_by_extension("runs/bm25.csv.gz").name
    'csv'
    >>> format_by_extension("bm25.json", "run").name, format_by_extension("queries.json").name
    ('json', 'guide')
    """
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    matches = [
        file_format for file_format in FORMATS.values() if name.endswith(file_format.extensions or ("\0",))
    ]
    fitting_formats = (
        file_format
        for file_format in matches
        if (kind in file_format.writes if kind else file_format.is_collection)
    )
    return next(fitting_formats, matches[0] if matches else None)


def as_collection(table: Collection | Table) -> Collection:
    """Return a collection; a table becomes a collection of only this table."""
    if isinstance(table, Collection):
        return table
    return Collection(
        table if isinstance(table, Queries) else None,
        table if isinstance(table, Qrels) else None,
        table if isinstance(table, Documents) else None,
    )


def kind_of_table(table: Table) -> Kind:
    """Return the kind of a table.

    >>> kind_of_table(Run({"q": {"a": 0.5}}))
    'run'
    """
    for kind, table_type in zip(KINDS, (Qrels, Run, Queries, Documents), strict=True):
        if isinstance(table, table_type):
            return kind
    raise InputError(f"expected Qrels, Run, Queries, Documents or a Collection, found {type(table).__name__}")
