"""assay dataset: vectors and neighbours into other formats, made from a seed, shown and checked."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable

from assay.cli.parsers import add_commands, add_format, make_parser
from assay.core.errors import InputError
from assay.core.vectors import METRICS, TYPES, Vectors
from assay.core.vectors_check import faults
from assay.core.vectors_digest import digest
from assay.datasets import vectors as files
from assay.datasets.generate import KINDS, generate
from assay.datasets.vectors.convert import Some
from assay.datasets.vectors.formats import (
    FORMATS,
    Place,
    by_extension,
    chosen,
    place,
    promised,
    refuse_overwriting,
)
from assay.views import FORMATS as STYLES
from assay.views.vectors import Checked, Described, checked, described

_EXAMPLES = """examples:
  assay dataset generate clusters base.fbin --rows 100000 -d 96 --queries queries.fbin
  assay dataset show base.fbin glove-100-angular.hdf5:test
  assay dataset check base.fbin queries.fbin --metric cosine
  assay dataset export base.fvecs base.parquet
  assay dataset export glove-100-angular.hdf5:train base.fbin --rows 0:100000
  assay dataset export glove-100-angular.hdf5 truth.parquet --neighbors

Formats are told by extension: .fbin .f16bin .u8bin .i8bin .fvecs .bvecs .npy .parquet .hdf5 and idx (MNIST);
neighbours also .ivecs .ibin and big-ann's .bin. FILE.hdf5:NAME is a dataset of an HDF5 file and
FILE.parquet:NAME a column of a Parquet file. `assay dataset COMMAND --help` shows the options of each.

exit codes: 0 done; 2 wrong use or bad input, or vectors that cannot be searched (check)
"""
_RANGE = re.compile(r"(\d*):(\d*)")
_WITHOUT_DISTANCES = ("ivecs", "npy")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser("dataset", "Vectors and neighbours: export, generate, show and check them.", _EXAMPLES)
    named = {name: what for name, (_, _, what) in ACTIONS.items()}
    for part, (_, options, _) in zip(add_commands(made, named, _EXAMPLES), ACTIONS.values(), strict=True):
        options(part)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Do what was asked; the result is the exit code."""
    return ACTIONS[arguments.action][0](arguments)


def _export_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("source", metavar="IN", help="the file to read, or FILE.hdf5:NAME")
    part.add_argument("target", metavar="OUT", help="the file to write; its extension says the format")
    part.add_argument("--neighbors", action="store_true", help="neighbours (truth), not vectors")
    part.add_argument("--dtype", choices=TYPES, help="the type to convert vectors to")
    part.add_argument("--rows", metavar="START:STOP", help="only these rows of vectors, from 0")
    part.add_argument(
        "--distances",
        choices=files.DISTANCES,
        default="plain",
        help="what the truth that is read keeps as distances (default: plain)",
    )
    _add_from(part)
    part.add_argument("--to", dest="written", choices=FORMATS, help="the format to write")


def _add_from(part: argparse.ArgumentParser) -> None:
    part.add_argument("--from", dest="read", choices=FORMATS, help="the format, where the name does not tell")


def _export(arguments: argparse.Namespace) -> int:
    refuse_overwriting(arguments.target, arguments.source)
    (_export_neighbors if arguments.neighbors else _export_vectors)(arguments)
    return 0


def _export_vectors(arguments: argparse.Namespace) -> None:
    found = _part(files.read_vectors(arguments.source, format=arguments.read), arguments.rows)
    files.write_vectors(found, arguments.target, dtype=arguments.dtype, format=arguments.written)
    _said_vectors(arguments.target, arguments.written)


def _part(vectors: Vectors, rows: str | None) -> Vectors:
    if rows is None:
        return vectors
    found = _RANGE.fullmatch(rows)
    if found is None:
        raise InputError(f"--rows expects START:STOP, such as 0:1000, found {rows!r}")
    return Some(vectors, int(found[1] or 0), int(found[2] or len(vectors)))


def _export_neighbors(arguments: argparse.Namespace) -> None:
    if arguments.dtype or arguments.rows:
        raise InputError("--dtype and --rows are for vectors, and --neighbors exports neighbours")
    found = files.read_neighbors(arguments.source, distances=arguments.distances, format=arguments.read)
    written = promised(place(arguments.target), arguments.written, "neighbors").name
    if written in _WITHOUT_DISTANCES and found.distances is not None:
        _said(f"note: {written} has no room for distances, so they are left out")
        found = found._replace(distances=None)
    files.write_neighbors(found, arguments.target, format=arguments.written)
    _said(f"{arguments.target}: {found.k:,} neighbours of {len(found.positions):,} queries")


def _generate_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
    part.add_argument("target", metavar="OUT", help="the file of the base; its extension says the format")
    part.add_argument("--queries", metavar="FILE", help="the file of the queries (default: none is written)")
    part.add_argument("--rows", type=int, default=10_000, metavar="N", help="(default: 10000)")
    part.add_argument("-d", "--dimensions", type=int, default=96, metavar="N", help="(default: 96)")
    part.add_argument("--count", type=int, default=1000, metavar="N", help="of queries (default: 1000)")
    part.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    part.add_argument("--dtype", choices=TYPES, default="float32", help="(default: float32)")
    part.add_argument(
        "--metric", choices=METRICS, default="l2", help="under which hubs are near to many (default: l2)"
    )


def _generate(arguments: argparse.Namespace) -> int:
    made = generate(
        arguments.kind,
        arguments.rows,
        arguments.dimensions,
        queries=arguments.count,
        seed=arguments.seed,
        dtype=arguments.dtype,
        metric=arguments.metric,
    )
    targets = [(arguments.target, made.base)]
    if arguments.queries:
        base, queries = place(arguments.target), place(arguments.queries)
        same = os.path.abspath(base.path) == os.path.abspath(queries.path)
        if same and queries.part in (None, base.part):
            raise InputError(f"{arguments.queries} is the file of the base: write the queries to another")
        targets.append((arguments.queries, made.queries))
    for target, vectors in targets:
        files.write_vectors(vectors, target)
        _said_vectors(target)
    return 0


def _show_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("files", metavar="FILE", nargs="+", help="vectors or neighbours")
    part.add_argument(
        "--neighbors", action="store_true", help="neighbours (truth), where the name allows both"
    )
    part.add_argument("--digest", action="store_true", help="name the content; reads the whole file")
    _add_from(part)
    add_format(part, STYLES)


def _show(arguments: argparse.Namespace) -> int:
    print(described([_described(path, arguments) for path in arguments.files], arguments.format))
    return 0


def _described(path: str, arguments: argparse.Namespace) -> Described:
    where = place(path)
    made = chosen(where, arguments.read, "neighbors" if _is_truth(where, arguments) else "vectors")
    if _is_truth(where, arguments):
        found = files.read_neighbors(path, format=arguments.read)
        said = "positions" if found.distances is None else "positions and distances"
        return Described(path, "neighbors", made.name, len(found.positions), found.k, said)
    vectors = files.read_vectors(path, format=arguments.read)
    name = digest(vectors) if arguments.digest else None
    return Described(
        path,
        "vectors",
        made.name,
        *vectors.shape,
        vectors.dtype.name,
        files.metric_of(path),
        name,
        _parts(where, made.name),
    )


def _is_truth(where: Place, arguments: argparse.Namespace) -> bool:
    made = FORMATS[arguments.read] if arguments.read else by_extension(where.path)
    return bool(arguments.neighbors or (made and made.holds == ("neighbors",)))


def _parts(where: Place, name: str) -> list[str]:
    """What else is in an HDF5 file."""
    if name != "hdf5":
        return []
    from assay.datasets.vectors.hdf5 import parts

    return parts(where.path)


def _check_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("base", metavar="BASE", help="the vectors to check")
    part.add_argument("queries", metavar="QUERIES", nargs="?", help="the queries that go with them")
    part.add_argument("--metric", choices=METRICS, help="(default: as the file says, else l2)")
    _add_from(part)
    add_format(part, STYLES)


def _check(arguments: argparse.Namespace) -> int:
    metric = arguments.metric or files.metric_of(arguments.base) or "l2"
    made = [_looked(arguments.base, "base", metric, arguments.read)]
    queries = arguments.queries or _queries_beside(arguments.base, arguments.read)
    if queries:
        made.append(_looked(queries, "queries", metric, arguments.read))
    widths = [str(file.columns) for file in made]
    others = [f"base and queries have {' and '.join(widths)} dimensions"] if len(set(widths)) > 1 else []
    print(checked(made, others, arguments.format))
    return 2 if others or any(file.problems for file in made) else 0


def _queries_beside(path: str, format: str | None) -> str | None:  # noqa: A002
    """The queries that an HDF5 file has beside its base."""
    where = place(path)
    if where.part or chosen(where, format, "vectors").name != "hdf5":
        return None
    from assay.datasets.vectors.hdf5 import PARTS, parts

    name = PARTS["queries"]
    return f"{path}:{name}" if name in parts(where.path) else None


def _looked(path: str, role: str, metric: str, format: str | None) -> Checked:  # noqa: A002
    vectors = files.read_vectors(path, role=role, format=format)
    found = faults(vectors)
    return Checked(path, *vectors.shape, found, found.problems(metric))


def _said_vectors(path: str, format: str | None = None) -> None:  # noqa: A002
    """Say what a file holds that was written."""
    made = files.read_vectors(path, format=format)
    _said(f"{path}: {len(made):,} rows of {made.d:,} {made.dtype.name}")


def _said(what: str) -> None:
    print(what, file=sys.stderr)


_Options = Callable[[argparse.ArgumentParser], None]
ACTIONS: dict[str, tuple[Callable[[argparse.Namespace], int], _Options, str]] = {
    "export": (_export, _export_options, "write vectors or neighbours in another format"),
    "generate": (_generate, _generate_options, "make vectors that indexes stumble over, from a seed"),
    "show": (_show, _show_options, "say what files of vectors or neighbours hold"),
    "check": (_check, _check_options, "look for NaN, infinite numbers, zero vectors and other dimensions"),
}
