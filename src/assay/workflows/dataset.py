"""Export, generate, show and check files of vectors and neighbours."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.core.errors import InputError
from assay.core.vector_digest import digest_vectors
from assay.core.vector_faults import find_faults
from assay.core.vectors import Vectors
from assay.datasets.generate import generate
from assay.datasets.vectors import read_metric, read_neighbors, read_vectors, write_neighbors, write_vectors
from assay.datasets.vectors.convert import VectorSlice
from assay.datasets.vectors.formats import (
    FORMATS,
    FilePart,
    format_by_extension,
    format_to_read,
    format_to_write,
    parse_file_part,
    refuse_overwriting,
)
from assay.datasets.vectors.hdf5 import DATASETS, dataset_names
from assay.views.vectors import VectorFile, VectorFileCheck
from assay.workflows.truth import FORMATS_WITHOUT_DISTANCES

_ROW_RANGE = re.compile(r"(\d*):(\d*)")


@dataclass(frozen=True, kw_only=True)
class ExportVectorsRequest:
    """A file of vectors or neighbours, and the file to write it to."""

    source: str
    target: str
    neighbors: bool = False
    dtype: str | None = None
    rows: str | None = None  # START:STOP
    distances: str = "plain"  # the convention of the distances of a truth
    source_format: str | None = None
    target_format: str | None = None

    def __post_init__(self) -> None:
        if self.neighbors and (self.dtype or self.rows):
            raise InputError("--dtype and --rows are for vectors, and --neighbors exports neighbours")


@dataclass(frozen=True, kw_only=True)
class GenerateVectorsRequest:
    """A distribution to generate vectors from, and the files to write."""

    kind: str
    target: str
    queries: str | None = None
    rows: int = 10_000
    dimensions: int = 96
    count: int = 1000  # queries
    seed: int = 0
    dtype: str = "float32"
    metric: str = "l2"


@dataclass(frozen=True, kw_only=True)
class ShowVectorsRequest:
    """Files of vectors or neighbours to describe."""

    files: Sequence[str]
    neighbors: bool = False
    digest: bool = False
    format: str | None = None


@dataclass(frozen=True, kw_only=True)
class CheckVectorsRequest:
    """Files of vectors to check."""

    base: str
    queries: str | None = None
    metric: str | None = None
    format: str | None = None


@dataclass(frozen=True)
class WrittenFile:
    """A file of vectors or neighbours that was written."""

    path: str
    content: str  # `vectors` or `neighbors`
    rows: int
    columns: int
    dtype: str | None = None  # of vectors
    without_distances: str | None = None  # the format that cannot hold the distances that were there

    def to_dict(self) -> dict[str, Any]:
        """The file as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class GeneratedFiles:
    """The files that were generated: the base, and the queries if a file was given for them."""

    files: tuple[WrittenFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """The files as plain data."""
        return {"files": [file.to_dict() for file in self.files]}


@dataclass(frozen=True)
class VectorFiles:
    """Files with what they hold."""

    files: tuple[VectorFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """The files as plain data, with the keys that `assay dataset show --format json` prints."""
        return {"files": [file.to_dict() for file in self.files]}


@dataclass(frozen=True)
class VectorChecks:
    """Files with their problems, and the problems between them."""

    files: tuple[VectorFileCheck, ...]
    problems: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 if the vectors can be searched, else 2."""
        return 2 if self.problems or any(file.problems for file in self.files) else 0

    def to_dict(self) -> dict[str, Any]:
        """The checks as plain data, with the keys that `assay dataset check --format json` prints."""
        return {"files": [file.to_dict() for file in self.files], "problems": list(self.problems)}


def export_vectors(request: ExportVectorsRequest) -> WrittenFile:
    """Write vectors or neighbours in another format."""
    refuse_overwriting(request.target, request.source)
    if request.neighbors:
        return _export_neighbors(request)
    vectors = _select_rows(read_vectors(request.source, format=request.source_format), request.rows)
    write_vectors(vectors, request.target, dtype=request.dtype, format=request.target_format)
    return _describe_written(request.target, request.target_format)


def _select_rows(vectors: Vectors, rows: str | None) -> Vectors:
    if rows is None:
        return vectors
    match = _ROW_RANGE.fullmatch(rows)
    if match is None:
        raise InputError(f"--rows expects START:STOP, such as 0:1000, found {rows!r}")
    return VectorSlice(vectors, int(match[1] or 0), int(match[2] or len(vectors)))


def _export_neighbors(request: ExportVectorsRequest) -> WrittenFile:
    neighbors = read_neighbors(request.source, distances=request.distances, format=request.source_format)
    name = format_to_write(parse_file_part(request.target), request.target_format, "neighbors").name
    drops_distances = name in FORMATS_WITHOUT_DISTANCES and neighbors.distances is not None
    if drops_distances:
        neighbors = neighbors._replace(distances=None)
    write_neighbors(neighbors, request.target, format=request.target_format)
    return WrittenFile(
        request.target,
        "neighbors",
        len(neighbors.positions),
        neighbors.k,
        without_distances=name if drops_distances else None,
    )


def generate_vectors(request: GenerateVectorsRequest) -> GeneratedFiles:
    """Generate a base and queries from a seed, and write them."""
    data = generate(
        request.kind,
        request.rows,
        request.dimensions,
        queries=request.count,
        seed=request.seed,
        dtype=request.dtype,
        metric=request.metric,
    )
    targets = [(request.target, data.base)]
    if request.queries:
        _refuse_same_file(request.target, request.queries)
        targets.append((request.queries, data.queries))
    files = []
    for target, vectors in targets:
        write_vectors(vectors, target)
        files.append(_describe_written(target))
    return GeneratedFiles(tuple(files))


def _refuse_same_file(target: str, query_target: str) -> None:
    """Refuse to write the queries over the base."""
    base, queries = parse_file_part(target), parse_file_part(query_target)
    is_same = os.path.abspath(base.path) == os.path.abspath(queries.path)
    if is_same and queries.part in (None, base.part):
        raise InputError(f"{query_target} is the file of the base: write the queries to another")


def _describe_written(path: str, format: str | None = None) -> WrittenFile:  # noqa: A002
    """What a file that was written holds: its type is that of the format."""
    vectors = read_vectors(path, format=format)
    return WrittenFile(path, "vectors", len(vectors), vectors.d, vectors.dtype.name)


def show_vectors(request: ShowVectorsRequest) -> VectorFiles:
    """Describe files of vectors or neighbours."""
    return VectorFiles(tuple(_describe_file(path, request) for path in request.files))


def _describe_file(path: str, request: ShowVectorsRequest) -> VectorFile:
    part = parse_file_part(path)
    if _holds_neighbors(part, request):
        name = format_to_read(part, request.format, "neighbors").name
        neighbors = read_neighbors(path, format=request.format)
        columns = "positions" if neighbors.distances is None else "positions and distances"
        return VectorFile(path, "neighbors", name, len(neighbors.positions), neighbors.k, columns)
    name = format_to_read(part, request.format, "vectors").name
    vectors = read_vectors(path, format=request.format)
    return VectorFile(
        path,
        "vectors",
        name,
        *vectors.shape,
        vectors.dtype.name,
        read_metric(path),
        digest_vectors(vectors) if request.digest else None,
        dataset_names(part.path) if name == "hdf5" else [],
    )


def _holds_neighbors(part: FilePart, request: ShowVectorsRequest) -> bool:
    file_format = FORMATS[request.format] if request.format else format_by_extension(part.path)
    return bool(request.neighbors or (file_format and file_format.contents == ("neighbors",)))


def vector_digests(*files: str | None, format: str | None = None) -> dict[str, str]:  # noqa: A002
    """Return the digest of each file of vectors that is given, by its path."""
    request = ShowVectorsRequest(files=[path for path in files if path], digest=True, format=format)
    return {file.path: file.digest or "" for file in show_vectors(request).files}


def check_vectors(request: CheckVectorsRequest) -> VectorChecks:
    """Look for NaN, infinite numbers, zero vectors and different dimensions."""
    metric = request.metric or read_metric(request.base) or "l2"
    files = [_check_file(request.base, "base", metric, request.format)]
    queries = request.queries or _queries_in_same_file(request.base, request.format)
    if queries:
        files.append(_check_file(queries, "queries", metric, request.format))
    widths = [str(file.columns) for file in files]
    problems = [f"base and queries have {' and '.join(widths)} dimensions"] * (len(set(widths)) > 1)
    return VectorChecks(tuple(files), tuple(problems))


def _queries_in_same_file(path: str, format: str | None) -> str | None:  # noqa: A002
    """The queries that an HDF5 file has besides its base."""
    part = parse_file_part(path)
    if part.part or format_to_read(part, format, "vectors").name != "hdf5":
        return None
    name = DATASETS["queries"]
    return f"{path}:{name}" if name in dataset_names(part.path) else None


def _check_file(path: str, role: str, metric: str, format: str | None) -> VectorFileCheck:  # noqa: A002
    vectors = read_vectors(path, role=role, format=format)
    faults = find_faults(vectors)
    return VectorFileCheck(path, *vectors.shape, faults, faults.problems(metric))
