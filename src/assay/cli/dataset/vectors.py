"""assay dataset: export, generate and show files of vectors and neighbours."""

from __future__ import annotations

import argparse
import sys

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.vectors import METRICS, TYPES
from assay.datasets.generate import KINDS
from assay.datasets.vectors import DISTANCE_CONVENTIONS
from assay.datasets.vectors.formats import FORMATS
from assay.views import FORMATS as STYLES
from assay.views.vectors import render_vector_files
from assay.workflows.dataset import (
    ExportVectorsRequest,
    GenerateVectorsRequest,
    ShowVectorsRequest,
    WrittenFile,
    export_vectors,
    generate_vectors,
    show_vectors,
)
from assay.workflows.dataset_versions import PREFIX, ExportDatasetRequest, export_dataset

EXAMPLES = """  assay dataset generate clusters base.fbin --rows 100000 -d 96 --queries queries.fbin
  assay dataset show base.fbin glove-100-angular.hdf5:test
  assay dataset export base.fvecs base.parquet
  assay dataset export glove-100-angular.hdf5:train base.fbin --rows 0:100000
  assay dataset export glove-100-angular.hdf5 truth.parquet --neighbors
"""


def _add_export_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "source", metavar="IN", help="the file to read, FILE.hdf5:NAME, or dataset:NAME for an evaluation set"
    )
    part.add_argument(
        "target", metavar="OUT", help="the file to write, by its extension; of an evaluation set, a folder"
    )
    part.add_argument("--neighbors", action="store_true", help="export neighbours (a truth), not vectors")
    part.add_argument("--dtype", choices=TYPES, help="the type to convert vectors to")
    part.add_argument("--rows", metavar="START:STOP", help="only these rows of vectors, counted from 0")
    part.add_argument(
        "--distances",
        choices=DISTANCE_CONVENTIONS,
        default="plain",
        help="what the truth that is read stores as distances (default: plain)",
    )
    _add_source_format(part)
    part.add_argument("--to", dest="target_format", choices=FORMATS, help="the format to write")
    add_store(part)


def _add_source_format(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--from", dest="source_format", choices=FORMATS, help="the format, if the extension does not name it"
    )


def _export(arguments: argparse.Namespace) -> int:
    if arguments.source.startswith(PREFIX):
        return _export_dataset(arguments)
    names = ("source", "target", "neighbors", "dtype", "rows", "distances", "source_format", "target_format")
    _print_written(export_vectors(ExportVectorsRequest(**{n: getattr(arguments, n) for n in names})))
    return 0


def _export_dataset(arguments: argparse.Namespace) -> int:
    request = ExportDatasetRequest(source=arguments.source, target=arguments.target, store=arguments.store)
    exported = export_dataset(request)
    counts = ", ".join(f"{count:,} {name}" for name, count in exported.counts.items())
    print(f"{exported.target}: {exported.label}: {counts}", file=sys.stderr)
    return 0


def _print_written(file: WrittenFile) -> None:
    if file.without_distances:
        print(f"note: {file.without_distances} cannot hold distances, so they are left out", file=sys.stderr)
    if file.content == "neighbors":
        print(f"{file.path}: {file.columns:,} neighbours of {file.rows:,} queries", file=sys.stderr)
    else:
        print(f"{file.path}: {file.rows:,} rows of {file.columns:,} {file.dtype}", file=sys.stderr)


def _add_generate_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
    part.add_argument("target", metavar="OUT", help="the file of the base; its extension is the format")
    part.add_argument("--queries", metavar="FILE", help="the file of the queries (default: none is written)")
    part.add_argument(
        "--rows", type=int, default=10_000, metavar="N", help="vectors in the base (default: 10000)"
    )
    part.add_argument("-d", "--dimensions", type=int, default=96, metavar="N", help="(default: 96)")
    part.add_argument(
        "--count", type=int, default=1000, metavar="N", help="number of queries (default: 1000)"
    )
    part.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    part.add_argument("--dtype", choices=TYPES, default="float32", help="(default: float32)")
    part.add_argument(
        "--metric",
        choices=METRICS,
        default="l2",
        help="the metric by which hubs are close to many vectors (default: l2)",
    )


def _generate(arguments: argparse.Namespace) -> int:
    names = ("kind", "target", "queries", "rows", "dimensions", "count", "seed", "dtype", "metric")
    request = GenerateVectorsRequest(**{name: getattr(arguments, name) for name in names})
    for file in generate_vectors(request).files:
        _print_written(file)
    return 0


def _add_show_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("files", metavar="FILE", nargs="+", help="vectors or neighbours")
    part.add_argument(
        "--neighbors", action="store_true", help="read neighbours (a truth), if the format can hold both"
    )
    part.add_argument("--digest", action="store_true", help="digest of the content; reads the whole file")
    _add_source_format(part)
    add_format(part, STYLES)


def _show(arguments: argparse.Namespace) -> int:
    result = show_vectors(
        ShowVectorsRequest(
            files=arguments.files,
            neighbors=arguments.neighbors,
            digest=arguments.digest or arguments.format == "html",
            format=arguments.source_format,
        )
    )
    show_result(result, arguments.format, lambda style: render_vector_files(result.files, style))
    return 0


SUBCOMMANDS = {
    "export": Subcommand(
        _export,
        _add_export_options,
        "write vectors or neighbours in another format, or an evaluation set",
    ),
    "generate": Subcommand(
        _generate, _add_generate_options, "generate vectors that are hard for indexes, from a seed"
    ),
    "show": Subcommand(_show, _add_show_options, "show what files of vectors or neighbours hold"),
}
