"""The formats by name: what each is, which tables it reads and which it writes."""

from typing import Literal, NamedTuple, get_args

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run

Kind = Literal["qrels", "run", "queries", "documents"]
Table = Qrels | Run | Queries | Documents
KINDS: tuple[Kind, ...] = get_args(Kind)


class Collection(NamedTuple):
    """What belongs together: queries, what people said about them, and the documents."""

    queries: Queries | None = None
    qrels: Qrels | None = None
    documents: Documents | None = None

    def only(self, kind: Kind | None, label: str) -> "Collection | Table":
        """The one table that is asked for, or everything when none is.

        >>> Collection(qrels=Qrels({"q": {"a": 1}})).only("qrels", "here")
        Qrels(1 queries, 1 rows)
        """
        if kind is None:
            return self
        table: Table | None = getattr(self, kind, None)
        if table is None:
            there = [name for name, part in zip(self._fields, self, strict=True) if part is not None]
            raise FormatError(f"expected {kind}, found only {', '.join(there) or 'nothing'}", label)
        return table


class Format(NamedTuple):
    """One format: its name, what it is, and which tables it reads and writes."""

    name: str
    description: str
    module: str
    reads: tuple[Kind, ...]
    writes: tuple[Kind, ...]
    extensions: tuple[str, ...] = ()
    several: bool = False

    def refuse(self, kind: Kind, label: str) -> FormatError:
        """What to say when this format does not hold this kind of table."""
        able = [other.name for other in FORMATS.values() if kind in other.writes]
        return FormatError(f"the format {self.name} does not hold {kind}; {', '.join(able)} do", label)


_JUDGED: tuple[Kind, ...] = ("qrels", "queries", "documents")
_PAIRS: tuple[Kind, ...] = ("qrels", "run")

FORMATS = {
    made.name: made
    for made in (
        Format(
            "trec",
            "TREC qrels (4 fields) and runs (6 fields) between blanks or tabs",
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
            several=True,
        ),
        Format(
            "json",
            "a JSON object {query: {document: number}} or {query: [document, …]}: pytrec_eval, BEIR, ranx",
            "nested",
            _PAIRS,
            _PAIRS,
            (".json",),
        ),
        Format(
            "guide",
            'a JSON list of {"query", "relevant_doc_ids"} or, graded, {"query", "relevant": {doc: grade}}',
            "guide",
            ("qrels", "queries"),
            ("qrels", "queries"),
            (".json",),
            several=True,
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
        Format("jsonl", "one JSON object a line", "jsonl", KINDS, KINDS, (".jsonl", ".ndjson")),
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
            several=True,
        ),
    )
}


def named(name: str) -> Format:
    """The format of this name.

    >>> named("tsv").module
    'delimited'
    """
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def by_extension(path: str, kind: Kind | None = None) -> Format | None:
    """The format that a file's name promises for a table (or a collection), if it promises one.

    >>> by_extension("runs/bm25.csv.gz").name
    'csv'
    >>> by_extension("bm25.json", "run").name, by_extension("queries.json").name
    ('json', 'guide')
    """
    lowered = path.lower().removesuffix(".gz").removesuffix(".zst")
    fitting = [made for made in FORMATS.values() if lowered.endswith(made.extensions or ("\0",))]
    able = (made for made in fitting if (kind in made.writes if kind else made.several))
    return next(able, fitting[0] if fitting else None)


def kind_of_table(table: Table) -> Kind:
    """The kind of a table.

    >>> kind_of_table(Run({"q": {"a": 0.5}}))
    'run'
    """
    for kind, made in zip(KINDS, (Qrels, Run, Queries, Documents), strict=True):
        if isinstance(table, made):
            return kind
    raise InputError(f"expected Qrels, Run, Queries, Documents or a Collection, found {type(table).__name__}")
