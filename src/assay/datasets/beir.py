"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/<split>.tsv."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import delimited, jsonl
from assay.datasets.formats import FORMATS, Collection, Format, Kind, Table, as_collection
from assay.datasets.input_files import InputFile
from assay.datasets.output_files import make_folder, open_for_writing

_FILES = {"queries": "queries.jsonl", "documents": "corpus.jsonl"}
_QRELS = ("query-id", "corpus-id", "score")
_COMPRESSIONS = ("", ".gz", ".zst")


def is_beir(path: Path) -> bool:
    """Return whether a folder has the files of a BEIR collection."""
    return bool(_jsonl_path(path, "queries") or _jsonl_path(path, "documents") or _splits(path))


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Collection | Table:
    """Return the tables of a BEIR folder, or the one of this kind."""
    path = Path(source.path)
    if not path.is_dir():
        raise FormatError(
            "expected a BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv)", source.label
        )
    collection = Collection(
        queries=_read_keyed(path, "queries", kind, columns),  # type: ignore[arg-type]
        qrels=_read_qrels(path, kind, columns),
        documents=_read_keyed(path, "documents", kind, columns),  # type: ignore[arg-type]
    )
    if not any(collection):
        expected = (
            _FILES.get(str(kind), "qrels/test.tsv") if kind else "corpus.jsonl, queries.jsonl or qrels/"
        )
        raise FormatError(f"expected {expected} in the folder, found {_folder_listing(path)}", source.label)
    return collection.select(kind, source.label)


def _folder_listing(path: Path) -> str:
    names = sorted(entry.name for entry in path.iterdir())
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else "nothing"


def _jsonl_path(path: Path, kind: Kind) -> Path | None:
    paths = (path / (_FILES[kind] + ending) for ending in _COMPRESSIONS)
    return next((candidate for candidate in paths if candidate.is_file()), None)


def _read_keyed(path: Path, kind: Kind, only: Kind | None, columns: Mapping[str, str]) -> Table | None:
    file = _jsonl_path(path, kind)
    if file is None or only not in (None, kind):
        return None
    return jsonl.read(InputFile(file), kind, columns if only else {}, FORMATS["jsonl"])


def _read_qrels(path: Path, only: Kind | None, columns: Mapping[str, str]) -> Qrels | None:
    splits = _splits(path)
    if not splits or only not in (None, "qrels"):
        return None
    if len(splits) > 1 and "test" not in splits:
        raise FormatError(
            f"expected qrels/test.tsv, found only {', '.join(sorted(splits))}; give the file of one of them",
            str(path),
        )
    file = splits.get("test") or splits[min(splits)]
    return delimited.read(InputFile(file), "qrels", columns if only else {}, FORMATS["tsv"])  # type: ignore[return-value]


def _splits(path: Path) -> dict[str, Path]:
    """Return the qrels files of the folder by the name of their split."""
    files = [*path.glob("qrels/*.tsv*"), *path.glob("qrels.tsv*")]
    return {file.name.split(".tsv")[0]: file for file in sorted(files, reverse=True)}


def write(table: Collection | Table, path: str, file_format: Format) -> None:
    """Write tables as a BEIR folder; every column except id, title and text goes into `metadata`."""
    tables = as_collection(table)
    target = make_folder(path, *(["qrels"] if tables.qrels else []))
    with ExitStack() as stack:
        for kind, part in (("queries", tables.queries), ("documents", tables.documents)):
            if part is not None:
                place = target / _FILES[kind]
                file = stack.enter_context(open_for_writing(place))
                file.writelines(_jsonl_lines(part, str(place)))
        if tables.qrels is not None:
            place = target / "qrels" / "test.tsv"
            file = stack.enter_context(open_for_writing(place))
            delimited.write_pairs(tables.qrels, _QRELS, file, "\t", str(place))


def _jsonl_lines(table: Queries | Documents, label: str) -> Iterator[bytes]:
    """Yield the rows as JSON; a missing value is omitted if another row shows that its column exists."""
    fields = [name for name in ("title", "text") if name in table.columns]
    others = {name: values for name, values in table.columns.items() if name not in (table.key, *fields)}
    is_empty = {name: all(value is None for value in values) for name, values in others.items()}
    for row, key in enumerate(table.ids):
        line: dict[str, Any] = {"_id": key} | {name: table.columns[name][row] for name in fields}
        metadata = {n: v[row] for n, v in others.items() if v[row] is not None or is_empty[n]}
        yield jsonl.format_line(line | {"metadata": metadata}, label)
