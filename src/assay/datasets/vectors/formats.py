"""The formats of vectors and neighbours by name, and the choice of a format for a path."""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from assay.core.errors import FormatError, InputError
from assay.core.suggestions import did_you_mean
from assay.core.vectors import TYPES
from assay.datasets.vectors.headers import read_head

Content = Literal["vectors", "neighbors"]
_VECTORS_AND_NEIGHBORS: tuple[Content, ...] = ("vectors", "neighbors")
_NEIGHBORS: tuple[Content, ...] = ("neighbors",)


class VectorFormat(NamedTuple):
    """One format: its name, its description, and the types and contents that it can hold."""

    name: str
    description: str
    module: str
    extensions: tuple[str, ...]
    types: tuple[str, ...] = TYPES
    contents: tuple[Content, ...] = ("vectors",)


FORMATS = {
    file_format.name: file_format
    for file_format in (
        VectorFormat(
            "fbin", "big-ann: uint32 n, uint32 d, rows of float32", "bins", (".fbin",), ("float32",)
        ),
        VectorFormat("f16bin", "the same with float16", "bins", (".f16bin",), ("float16",)),
        VectorFormat("u8bin", "the same with uint8", "bins", (".u8bin",), ("uint8",)),
        VectorFormat("i8bin", "the same with int8", "bins", (".i8bin",), ("int8",)),
        VectorFormat("fvecs", "int32 d before every row of float32", "vecs", (".fvecs",), ("float32",)),
        VectorFormat("bvecs", "int32 d before every row of uint8", "vecs", (".bvecs",), ("uint8",)),
        VectorFormat("npy", "NumPy, in C order", "npy", (".npy",), contents=_VECTORS_AND_NEIGHBORS),
        VectorFormat(
            "parquet",
            "a column of lists of numbers",
            "parquet",
            (".parquet", ".pq"),
            contents=_VECTORS_AND_NEIGHBORS,
        ),
        VectorFormat(
            "hdf5", "ann-benchmarks and VIBE", "hdf5", (".hdf5", ".h5"), contents=_VECTORS_AND_NEIGHBORS
        ),
        VectorFormat(
            "idx",
            "MNIST: all dimensions after the first are flattened; may be compressed as .gz",
            "idx",
            (".idx", ".idx.gz"),
            ("uint8", "int8", "float32", "float64"),
        ),
        VectorFormat(
            "truth",
            "big-ann truth: uint32 n, uint32 k, ids, then float32 distances if there are any",
            "truth",
            (".bin", ".gt"),
            contents=_NEIGHBORS,
        ),
        VectorFormat(
            "range",
            "big-ann range truth: uint32 n, uint32 total, n counts, ids, float32 distances if there are any",
            "truth",
            (".range", ".rangegt"),
            contents=_NEIGHBORS,
        ),
        VectorFormat(
            "ibin",
            "cuVS: ids as int32; distances in an .fbin beside it",
            "truth",
            (".ibin",),
            contents=_NEIGHBORS,
        ),
        VectorFormat("ivecs", "int32 k before every row of ids", "vecs", (".ivecs",), contents=_NEIGHBORS),
    )
}
_PART = re.compile(r"(.+\.(?:hdf5|h5|parquet|pq)):([^:]+)", re.IGNORECASE)
_CROP = re.compile(r"\.crop_nb_\d+$")
_IDX = re.compile(r"[.-]idx\d-[a-z0-9]+(\.gz)?$", re.IGNORECASE)
_MAGIC = {
    b"\x89HDF\r\n\x1a\n": "hdf5",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
}


class FilePart(NamedTuple):
    """A file, and optionally a part of it: a dataset of an HDF5 file, a column of a Parquet file."""

    path: str
    part: str | None = None


def parse_file_part(path: str | os.PathLike[str], part: str | None = None) -> FilePart:
    """Return a file and its part, which may follow the path after a colon.

    >>> parse_file_part("glove.hdf5:test")
    FilePart(path='glove.hdf5', part='test')
    """
    text = os.fspath(path)
    match = _PART.fullmatch(text)
    if part is None and match and not os.path.exists(text):
        return FilePart(match[1], match[2])
    return FilePart(text, part)


def format_to_read(file: FilePart, format: str | None, content: Content) -> VectorFormat:  # noqa: A002
    """Return the format of an existing file: the given one, that of its extension, or that of its content."""
    file_format = (
        _get_format(format)
        if format
        else format_by_extension(file.path) or _format_by_content(file.path, content)
    )
    return _check_content(file_format, content, file.path)


def format_to_write(file: FilePart, format: str | None, content: Content) -> VectorFormat:  # noqa: A002
    """Return the format of a file to be written: the given one, or that of its extension."""
    file_format = _get_format(format) if format else format_by_extension(file.path)
    if file_format is None:
        known_extensions = ", ".join(extensions(content))
        raise InputError(f"{file.path}: the format cannot be told from the name ({known_extensions})")
    return _check_content(file_format, content, file.path)


def refuse_overwriting(target: str | os.PathLike[str], *sources: str | os.PathLike[str] | None) -> None:
    """Raise InputError if the target is also a source; a new part of an HDF5 file is allowed."""
    target_file = parse_file_part(target)
    for source in (parse_file_part(path) for path in sources if path):
        both_exist = os.path.exists(target_file.path) and os.path.exists(source.path)
        if not both_exist or not os.path.samefile(target_file.path, source.path):
            continue
        if target_file.part is None or target_file.part == source.part:
            hdf5_extensions = FORMATS["hdf5"].extensions
            hint = (
                f", or to a new dataset {target_file.path}:NAME"
                if target_file.path.endswith(hdf5_extensions)
                else ""
            )
            raise InputError(f"{target} is also read, and would be lost: write to another file{hint}")


def format_by_extension(path: str) -> VectorFormat | None:
    """Return the format of a file by its extension, None if it is unknown.

    >>> format_by_extension("t10k-images-idx3-ubyte.gz").name
    'idx'
    >>> format_by_extension("base.fbin.crop_nb_10000000").name
    'fbin'
    """
    name = _CROP.sub("", os.path.basename(path).lower())
    if _IDX.search(name):
        return FORMATS["idx"]
    return next(
        (file_format for file_format in FORMATS.values() if name.endswith(file_format.extensions)), None
    )


def extensions(content: Content) -> list[str]:
    """Return the extensions of the formats for vectors, or for neighbours."""
    return [
        ending
        for file_format in FORMATS.values()
        if content in file_format.contents
        for ending in file_format.extensions
    ]


def _get_format(name: str) -> VectorFormat:
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"choose one of {', '.join(FORMATS)}"
        raise InputError(f"there is no format {name!r} of vectors; {hint}")
    return FORMATS[name]


def _check_content(file_format: VectorFormat, content: Content, path: str) -> VectorFormat:
    if content in file_format.contents:
        return file_format
    readers = {"vectors": ("vectors", "read_vectors"), "neighbors": ("neighbours", "read_neighbors")}
    actual, reader = readers["neighbors" if content == "vectors" else "vectors"]
    raise FormatError(
        f"the format {file_format.name} holds {actual} (see {reader}), but {readers[content][0]} were "
        f"expected: {_format_names(content)}",
        path,
    )


def _format_names(content: Content) -> str:
    return ", ".join(name for name, file_format in FORMATS.items() if content in file_format.contents)


def _format_by_content(path: str, content: Content) -> VectorFormat:
    first = read_head(path, 8)
    for magic, name in _MAGIC.items():
        if first.startswith(magic):
            return FORMATS[name]
    if content == "neighbors":
        return FORMATS["truth"]  # its reader checks the size
    if len(first) > 3 and first[:2] == b"\0\0" and 8 <= first[2] <= 14 and 1 <= first[3] <= 4:
        return FORMATS["idx"]
    raise FormatError(
        "the format is not known from the name or the first bytes: give its format, "
        f"one of {_format_names(content)}",
        path,
    )
