"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/<split>.tsv."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import delimited, jsonl
from assay.datasets.formats import FORMATS, Collection, Format, Kind, Table
from assay.datasets.sinks import folder, writing
from assay.datasets.sources import Source

_FILES = {"queries": "queries.jsonl", "documents": "corpus.jsonl"}
_QRELS = ("query-id", "corpus-id", "score")
_PACKED = ("", ".gz", ".zst")


def is_beir(path: Path) -> bool:
    """Whether a folder is laid out as BEIR's are."""
    return bool(_jsonl(path, "queries") or _jsonl(path, "documents") or _splits(path))


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Collection | Table:
    """The tables of a BEIR folder, or the one that is asked for."""
    path = Path(source.path)
    if not path.is_dir():
        raise FormatError(
            "expected a BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv)", source.label
        )
    found = Collection(
        queries=_keyed(path, "queries", kind, columns),  # type: ignore[arg-type]
        qrels=_qrels(path, kind, columns),
        documents=_keyed(path, "documents", kind, columns),  # type: ignore[arg-type]
    )
    if not any(found):
        wanted = _FILES.get(str(kind), "qrels/test.tsv") if kind else "corpus.jsonl, queries.jsonl or qrels/"
        raise FormatError(f"expected {wanted} in the folder, found {_listing(path)}", source.label)
    return found.only(kind, source.label)


def _listing(path: Path) -> str:
    names = sorted(entry.name for entry in path.iterdir())
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else "nothing"


def _jsonl(path: Path, kind: Kind) -> Path | None:
    places = (path / (_FILES[kind] + ending) for ending in _PACKED)
    return next((place for place in places if place.is_file()), None)


def _keyed(path: Path, kind: Kind, only: Kind | None, columns: Mapping[str, str]) -> Table | None:
    place = _jsonl(path, kind)
    if place is None or only not in (None, kind):
        return None
    return jsonl.read(Source(place), kind, columns if only else {}, FORMATS["jsonl"])


def _qrels(path: Path, only: Kind | None, columns: Mapping[str, str]) -> Qrels | None:
    splits = _splits(path)
    if not splits or only not in (None, "qrels"):
        return None
    if len(splits) > 1 and "test" not in splits:
        raise FormatError(
            f"there is no qrels/test.tsv, but {', '.join(sorted(splits))}; give the file of one of them",
            str(path),
        )
    place = splits.get("test") or splits[min(splits)]
    return delimited.read(Source(place), "qrels", columns if only else {}, FORMATS["tsv"])  # type: ignore[return-value]


def _splits(path: Path) -> dict[str, Path]:
    """The judgments of the folder by the name of their split."""
    places = [*path.glob("qrels/*.tsv*"), *path.glob("qrels.tsv*")]
    return {place.name.split(".tsv")[0]: place for place in sorted(places, reverse=True)}


def write(found: Collection | Table, path: str, made: Format) -> None:
    """Tables as a BEIR folder; every column beside id, title and text goes into `metadata`."""
    tables = as_collection(found)
    target = folder(path, *(["qrels"] if tables.qrels else []))
    with ExitStack() as stack:
        for kind, keyed in (("queries", tables.queries), ("documents", tables.documents)):
            if keyed is not None:
                place = target / _FILES[kind]
                file = stack.enter_context(writing(place))
                file.writelines(_lines(keyed, str(place)))
        if tables.qrels is not None:
            place = target / "qrels" / "test.tsv"
            file = stack.enter_context(writing(place))
            delimited.write_pairs(tables.qrels, _QRELS, file, "\t", str(place))


def as_collection(found: Collection | Table) -> Collection:
    """A table as a collection that has nothing else."""
    if isinstance(found, Collection):
        return found
    return Collection(
        found if isinstance(found, Queries) else None,
        found if isinstance(found, Qrels) else None,
        found if isinstance(found, Documents) else None,
    )


def _lines(keyed: Queries | Documents, label: str) -> Iterator[bytes]:
    """The rows; a missing value is left out where another row shows that its column exists."""
    own = [name for name in ("title", "text") if name in keyed.columns]
    others = {name: values for name, values in keyed.columns.items() if name not in (keyed.key, *own)}
    shown = {name: all(value is None for value in values) for name, values in others.items()}
    for row, key in enumerate(keyed.ids):
        line: dict[str, Any] = {"_id": key} | {name: keyed.columns[name][row] for name in own}
        metadata = {n: v[row] for n, v in others.items() if v[row] is not None or shown[n]}
        yield jsonl.line_of(line | {"metadata": metadata}, label)
