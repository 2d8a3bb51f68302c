"""Collections of the package `ir_datasets`, by ids such as `ir_datasets:vaswani`.

Only what the package has downloaded before is read: Assay starts no download. Documents are read if they
are asked for by kind, because they may be millions.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assay.core.errors import FormatError, MissingExtraError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets.detection import IR_DATASETS_PREFIX
from assay.datasets.formats import Collection, Format, Kind, Table
from assay.datasets.input_files import InputFile

_NOUNS: dict[Kind, str] = {"qrels": "qrels", "run": "scoreddocs", "queries": "queries", "documents": "docs"}


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Collection | Table:
    """Return a table of a collection, or its queries and judgments."""
    dataset = _load(source.path)
    if kind is not None:
        return _read_table(dataset, kind, source.path)
    tables = {name: _read_table(dataset, name, source.path) for name in _parts(dataset)}
    return Collection(**tables)  # type: ignore[arg-type]


def _parts(dataset: Any) -> list[Kind]:
    parts: tuple[Kind, ...] = ("queries", "qrels")
    return [part for part in parts if getattr(dataset, f"has_{_NOUNS[part]}")()]


def _load(path: str) -> Any:
    """Return the dataset with this id."""
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError("ir_datasets", f"reading {path}", "", "pip install ir_datasets") from None
    name = path.removeprefix(IR_DATASETS_PREFIX)
    try:
        return ir_datasets.load(name)
    except KeyError:
        hint = did_you_mean(name, map(str, ir_datasets.registry)) or "see https://ir-datasets.com"
        raise FormatError(f"ir_datasets has no collection {name!r}; {hint}", path) from None


def _read_table(dataset: Any, kind: Kind, path: str) -> Table:
    noun = _NOUNS[kind]
    if not getattr(dataset, f"has_{noun}")():
        raise FormatError(f"expected {kind}, and this collection of ir_datasets has none", path)
    with _refuse_downloads(path, noun):
        rows = list(getattr(dataset, f"{noun}_iter")())
    if kind == "queries":
        return Queries({"query_id": [row.query_id for row in rows], "text": [_text(row) for row in rows]})
    if kind == "documents":
        return Documents({"doc_id": [row.doc_id for row in rows], "text": [_text(row) for row in rows]})
    pairs: dict[str, dict[str, float]] = {}
    for row in rows:
        value = row.relevance if kind == "qrels" else row.score
        pairs.setdefault(row.query_id, {})[row.doc_id] = value
    return Qrels(pairs) if kind == "qrels" else Run(pairs, name=path.removeprefix(IR_DATASETS_PREFIX))


def _text(row: Any) -> str:
    """Return the text of a query or a document, which has other fields in other collections."""
    if hasattr(row, "default_text"):
        return str(row.default_text())
    return str(getattr(row, "text", None) or getattr(row, "title", ""))


@contextmanager
def _refuse_downloads(path: str, noun: str) -> Iterator[None]:
    """Raise FormatError if the package would download something, and download nothing."""
    from ir_datasets.util import download

    requested_urls: list[str] = []

    def refuse(self: Any) -> Any:
        requested_urls.append(str(getattr(self, "url", "")))
        raise ConnectionRefusedError("Assay downloads nothing")

    original = download.RequestsDownload.stream
    download.RequestsDownload.stream = refuse
    try:
        yield
    except Exception as error:
        if not requested_urls:
            raise FormatError(f"ir_datasets cannot read it: {error}", path) from None
        command = f"ir_datasets export {path.removeprefix(IR_DATASETS_PREFIX)} {noun} > /dev/null"
        raise FormatError(
            f"is not on this machine, and Assay starts no download ({requested_urls[0]}): "
            f"download it first, for example with `{command}`",
            path,
        ) from None
    finally:
        download.RequestsDownload.stream = original
