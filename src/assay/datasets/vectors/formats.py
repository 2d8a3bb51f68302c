"""The formats of vectors and neighbours by name, and how a path says which one it is."""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from assay.core.errors import FormatError, InputError
from assay.core.vectors import TYPES

Holds = Literal["vectors", "neighbors"]
_BOTH: tuple[Holds, ...] = ("vectors", "neighbors")
_NEIGHBORS: tuple[Holds, ...] = ("neighbors",)


class VectorFormat(NamedTuple):
    """One format: its name, what it is, the types of numbers it holds, and of what."""

    name: str
    description: str
    module: str
    extensions: tuple[str, ...]
    types: tuple[str, ...] = TYPES
    holds: tuple[Holds, ...] = ("vectors",)


FORMATS = {
    made.name: made
    for made in (
        VectorFormat(
            "fbin", "big-ann: uint32 n, uint32 d, rows of float32", "bins", (".fbin",), ("float32",)
        ),
        VectorFormat("f16bin", "the same with float16", "bins", (".f16bin",), ("float16",)),
        VectorFormat("u8bin", "the same with uint8", "bins", (".u8bin",), ("uint8",)),
        VectorFormat("i8bin", "the same with int8", "bins", (".i8bin",), ("int8",)),
        VectorFormat("fvecs", "int32 d before every row of float32", "vecs", (".fvecs",), ("float32",)),
        VectorFormat("bvecs", "int32 d before every row of uint8", "vecs", (".bvecs",), ("uint8",)),
        VectorFormat("npy", "NumPy, in C order", "npy", (".npy",), holds=_BOTH),
        VectorFormat("parquet", "a column of lists of numbers", "parquet", (".parquet", ".pq"), holds=_BOTH),
        VectorFormat("hdf5", "ann-benchmarks and VIBE", "hdf5", (".hdf5", ".h5"), holds=_BOTH),
        VectorFormat(
            "idx",
            "MNIST: what follows the first dimension is flattened; may be packed as .gz",
            "idx",
            (".idx", ".idx.gz"),
            ("uint8", "int8", "float32", "float64"),
        ),
        VectorFormat(
            "truth",
            "big-ann truth: uint32 n, uint32 k, ids, then float32 distances if there are any",
            "truth",
            (".bin", ".gt"),
            holds=_NEIGHBORS,
        ),
        VectorFormat(
            "range",
            "big-ann range truth: uint32 n, uint32 total, n counts, ids, float32 distances if there are any",
            "truth",
            (".range", ".rangegt"),
            holds=_NEIGHBORS,
        ),
        VectorFormat(
            "ibin",
            "cuVS: ids as int32; distances in an .fbin beside it",
            "truth",
            (".ibin",),
            holds=_NEIGHBORS,
        ),
        VectorFormat("ivecs", "int32 k before every row of ids", "vecs", (".ivecs",), holds=_NEIGHBORS),
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


class Place(NamedTuple):
    """A file, and what of it is meant: a dataset of an HDF5 file, a column of a Parquet file."""

    path: str
    part: str | None = None


def place(path: str | os.PathLike[str], part: str | None = None) -> Place:
    """A file and the part that is meant, which may stand behind a colon.

    >>> place("glove.hdf5:test")
    Place(path='glove.hdf5', part='test')
    """
    text = os.fspath(path)
    found = _PART.fullmatch(text)
    if part is None and found and not os.path.exists(text):
        return Place(found[1], found[2])
    return Place(text, part)


def chosen(where: Place, format: str | None, holds: Holds) -> VectorFormat:  # noqa: A002
    """The format of a file to be read: as named, as its extension says, or as its first bytes say."""
    made = _named(format) if format else by_extension(where.path) or _by_content(where.path, holds)
    return _fit(made, holds, where.path)


def promised(where: Place, format: str | None, holds: Holds) -> VectorFormat:  # noqa: A002
    """The format of a file to be written: as named, or as its extension says."""
    made = _named(format) if format else by_extension(where.path)
    if made is None:
        known = ", ".join(extensions(holds))
        raise InputError(f"{where.path}: the name does not say which format to write ({known})")
    return _fit(made, holds, where.path)


def refuse_overwriting(target: str | os.PathLike[str], *sources: str | os.PathLike[str] | None) -> None:
    """Refuse to write to a file that is read; a part of an HDF5 file may be put beside its other parts."""
    where = place(target)
    for source in (place(one) for one in sources if one):
        same = os.path.exists(where.path) and os.path.exists(source.path)
        if not same or not os.path.samefile(where.path, source.path):
            continue
        if where.part is None or where.part == source.part:
            beside = FORMATS["hdf5"].extensions
            hint = f", or {where.path}:NAME beside what it holds" if where.path.endswith(beside) else ""
            raise InputError(f"{target} is what is read, and would be lost: write to another file{hint}")


def by_extension(path: str) -> VectorFormat | None:
    """The format that a file's name promises, if it promises one.

    >>> by_extension("t10k-images-idx3-ubyte.gz").name, by_extension("base.fbin.crop_nb_10000000").name
    ('idx', 'fbin')
    """
    name = _CROP.sub("", os.path.basename(path).lower())
    if _IDX.search(name):
        return FORMATS["idx"]
    return next((made for made in FORMATS.values() if name.endswith(made.extensions)), None)


def extensions(holds: Holds) -> list[str]:
    """The extensions of the formats that hold vectors, or neighbours."""
    return [ending for made in FORMATS.values() if holds in made.holds for ending in made.extensions]


def _named(name: str) -> VectorFormat:
    if name not in FORMATS:
        raise InputError(f"there is no format {name!r} of vectors; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def _fit(made: VectorFormat, holds: Holds, path: str) -> VectorFormat:
    if holds in made.holds:
        return made
    other, use = ("neighbours", "read_neighbors") if holds == "vectors" else ("vectors", "read_vectors")
    wanted = "vectors" if holds == "vectors" else "neighbours"
    able = ", ".join(name for name, known in FORMATS.items() if holds in known.holds)
    raise FormatError(
        f"the format {made.name} holds {other} (see {use}), and {wanted} were expected: {able}", path
    )


def _by_content(path: str, holds: Holds) -> VectorFormat:
    from assay.datasets.vectors.headers import head

    first = head(path, 8)
    for magic, name in _MAGIC.items():
        if first.startswith(magic):
            return FORMATS[name]
    if holds == "neighbors":
        return FORMATS["truth"]  # whose size tells whether it is one
    if len(first) > 3 and first[:2] == b"\0\0" and 8 <= first[2] <= 14 and 1 <= first[3] <= 4:
        return FORMATS["idx"]
    able = ", ".join(name for name, known in FORMATS.items() if holds in known.holds)
    raise FormatError(
        f"neither the name nor the first bytes say what it is: name its format, one of {able}", path
    )
