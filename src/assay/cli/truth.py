"""assay truth: exact neighbours, and audits of neighbours that somebody else computed."""

from __future__ import annotations

import argparse
import sys

from assay.cli.output import show_result
from assay.cli.parsers import add_format, make_group
from assay.cli.truth_progress import TruthProgressLine
from assay.core.vectors import METRICS
from assay.views.truth import FORMATS, render_audit, render_truth
from assay.workflows.dataset import vector_digests
from assay.workflows.truth import AuditTruthRequest, TruthRequest, audit_truth, compute_truth

_EXAMPLES = """examples:
  assay truth base.fbin queries.fbin -k 100 --metric l2 -o truth.parquet
  assay truth glove-100-angular.hdf5 -k 100 -o truth.hdf5
  assay truth base.u8bin queries.u8bin -k 10 --metric l2 -o truth.ivecs --threads 8
  assay truth base.npy queries.npy -k 100 --metric cosine -o truth.bin --ray 10.0.0.5:6379
  assay truth audit groundtruth.bin base.fbin queries.fbin --metric l2
  assay truth audit glove-100-angular.hdf5 glove-100-angular.hdf5 --format json

The result is exact: single precision selects the candidates, double precision decides, and of vectors at the
same distance the first in the base comes first. It does not depend on threads, blocks or machines. Finished
parts of long work are stored next to the output (OUTPUT.part): after Ctrl-C, run the same command again.
.ivecs and .npy hold positions without distances. `assay truth of --help` shows the options.

exit codes: 0 done, or the truth is clean; 1 the audit found something wrong; 2 wrong use or bad input
"""
_AUDIT_EXAMPLES = """examples:
  assay truth audit groundtruth.bin base.fbin queries.fbin --metric l2
  assay truth audit sift.hdf5 sift.hdf5 --sample 1000 --format md

exit codes: 0 nothing is wrong; 1 something is wrong; 2 wrong use or bad input
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    group = make_group(
        "truth", "Compute exact neighbours of queries, or audit those of others.", _EXAMPLES, "of"
    )
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, description, examples, add_options in (
        ("of", "compute exact neighbours (the default command)", _EXAMPLES, _add_truth_options),
        ("audit", "check neighbours that somebody else computed", _AUDIT_EXAMPLES, _add_audit_options),
    ):
        add_options(
            commands.add_parser(
                name,
                help=description,
                description=description,
                epilog=examples,
                formatter_class=group.formatter_class,
            )
        )
    return group


def _add_truth_options(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    parser.add_argument(
        "-k", type=int, default=100, metavar="N", help="number of neighbours of each query (default: 100)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write; its extension is the format")
    parser.add_argument(
        "--block", type=int, metavar="ROWS", help="rows of the base in memory at a time (default: 16384)"
    )
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="compute on a Ray cluster; `local` starts one on this machine"
    )
    parser.add_argument(
        "--parts", type=int, metavar="N", help="number of parts of the base that are stored or distributed"
    )
    add_format(parser, FORMATS)


def _add_audit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("truth", metavar="TRUTH", help="neighbours that somebody computed")
    _add_inputs(parser)
    parser.add_argument(
        "--sample", type=int, default=200, metavar="N", help="number of queries to recompute (default: 200)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default: 0)")
    add_format(parser, FORMATS)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help="the vectors to search")
    parser.add_argument(
        "queries", metavar="QUERIES", nargs="?", help="the query vectors (default: those in BASE, if HDF5)"
    )
    parser.add_argument(
        "--metric", choices=METRICS, help="default: that of the HDF5 file; needed for other formats"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one per CPU)")


def command(arguments: argparse.Namespace) -> int:
    """Compute or audit; the result is the exit code."""
    return _audit(arguments) if arguments.command == "audit" else _compute(arguments)


def _compute(arguments: argparse.Namespace) -> int:
    names = ("base", "queries", "k", "metric", "threads", "output", "block", "ray", "parts")
    request = TruthRequest(**{name: getattr(arguments, name) for name in names})
    progress = TruthProgressLine()
    try:
        summary = compute_truth(request, progress)
    except KeyboardInterrupt:
        if request.checkpoint and request.checkpoint.is_dir():
            print(
                f"\nfinished parts are in {request.checkpoint}: run the same command again to continue",
                file=sys.stderr,
            )
        raise
    finally:
        progress.clear()
    digests = _page_digests(arguments)
    show_result(summary, arguments.format, lambda style: render_truth(summary, style, digests))
    return 0


def _page_digests(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the digests of the vectors for a page, which names its inputs; none for other formats."""
    return vector_digests(arguments.base, arguments.queries) if arguments.format == "html" else {}


def _audit(arguments: argparse.Namespace) -> int:
    names = ("truth", "base", "queries", "metric", "threads", "sample", "seed")
    result = audit_truth(AuditTruthRequest(**{name: getattr(arguments, name) for name in names}))
    digests = _page_digests(arguments)
    show_result(
        result, arguments.format, lambda style: render_audit(result.audit, result.truth, style, digests)
    )
    return result.exit_code
