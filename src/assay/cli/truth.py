"""assay truth: exact neighbours, and whether someone else's are right."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from pathlib import Path

from assay.cli.parsers import add_format, make_group
from assay.core.errors import InputError
from assay.core.vectors import METRICS, Neighbors, Vectors
from assay.views.truth import FORMATS, Summary, audited, computed

_EXAMPLES = """examples:
  assay truth base.fbin queries.fbin -k 100 --metric l2 -o truth.parquet
  assay truth glove-100-angular.hdf5 -k 100 -o truth.hdf5
  assay truth base.u8bin queries.u8bin -k 10 --metric l2 -o truth.ivecs --threads 8
  assay truth base.npy queries.npy -k 100 --metric cosine -o truth.bin --ray 10.0.0.5:6379
  assay truth audit groundtruth.bin base.fbin queries.fbin --metric l2
  assay truth audit glove-100-angular.hdf5 glove-100-angular.hdf5 --format json

The result is exact: single precision only says which vectors may be near, double precision decides, and of
vectors at the same distance the first in the base comes first. It does not depend on threads, blocks or
machines. Long work is kept in parts beside the output (OUTPUT.part): after Ctrl-C, run the same again.
.ivecs and .npy hold positions without distances. `assay truth of --help` shows the options.

exit codes: 0 done, or the truth is clean; 1 the audit found something wrong; 2 wrong use or bad input
"""
_AUDIT = """examples:
  assay truth audit groundtruth.bin base.fbin queries.fbin --metric l2
  assay truth audit sift.hdf5 sift.hdf5 --sample 1000 --format md

exit codes: 0 nothing is wrong; 1 something is wrong; 2 wrong use or bad input
"""
_WITHOUT_DISTANCES = ("ivecs", "npy")
_PATIENCE, _PAUSE = 1.0, 0.2  # seconds before a word on progress, and between two
_RARELY = 10.0  # seconds before a line of a log, and between two


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_group("truth", "Exact neighbours of queries, and audits of those of others.", _EXAMPLES, "of")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, what, examples, options in (
        ("of", "compute exact neighbours (need not be named)", _EXAMPLES, _computing),
        ("audit", "check the neighbours that somebody computed", _AUDIT, _auditing),
    ):
        options(
            commands.add_parser(
                name, help=what, description=what, epilog=examples, formatter_class=made.formatter_class
            )
        )
    return made


def _computing(made: argparse.ArgumentParser) -> None:
    _inputs(made)
    made.add_argument("-k", type=int, default=100, metavar="N", help="how many neighbours (default: 100)")
    made.add_argument("-o", "--output", metavar="FILE", help="where to write them, format by extension")
    made.add_argument(
        "--block", type=int, metavar="ROWS", help="rows of the base held at a time (default: 16384)"
    )
    made.add_argument(
        "--ray", metavar="ADDRESS", help="compute on a cluster of Ray; `local` starts one on this machine"
    )
    made.add_argument("--parts", type=int, metavar="N", help="parts of the base that are kept or sent out")
    add_format(made, FORMATS)


def _auditing(made: argparse.ArgumentParser) -> None:
    made.add_argument("truth", metavar="TRUTH", help="neighbours that somebody computed")
    _inputs(made)
    made.add_argument(
        "--sample", type=int, default=200, metavar="N", help="queries to compute anew (default: 200)"
    )
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default: 0)")
    add_format(made, FORMATS)


def _inputs(made: argparse.ArgumentParser) -> None:
    made.add_argument("base", metavar="BASE", help="the vectors that are searched")
    made.add_argument(
        "queries", metavar="QUERIES", nargs="?", help="the queries' vectors (default: those in BASE, if HDF5)"
    )
    made.add_argument("--metric", choices=METRICS, help="default: what an HDF5 file says; else needed")
    made.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one a processor)")


def command(arguments: argparse.Namespace) -> int:
    """Compute or audit."""
    for name in ("k", "threads", "block", "parts", "sample"):
        value = getattr(arguments, name, None)
        if value is not None and value < 1:
            raise InputError(f"{'-' * min(2, len(name))}{name} must be 1 or more, found {value}")
    return _audit(arguments) if arguments.command == "audit" else _compute(arguments)


def _compute(arguments: argparse.Namespace) -> int:
    from assay.datasets.vectors import write_neighbors
    from assay.datasets.vectors.formats import place, promised, refuse_overwriting
    from assay.indexes.exact.part_results import forget
    from assay.indexes.exact.truth import cut_at

    kind = ""
    if arguments.output:  # what cannot be written is told before the work
        kind = promised(place(arguments.output), None, "neighbors").name
        refuse_overwriting(arguments.output, arguments.base, arguments.queries)
        _refuse_place(place(arguments.output).path)
    base, queries, metric = _read(arguments)
    begin = time.monotonic()
    found, ties = cut_at(_found(arguments, base, queries, metric), arguments.k)
    seconds = time.monotonic() - begin
    if arguments.output:
        write_neighbors(Neighbors(found.positions) if kind in _WITHOUT_DISTANCES else found, arguments.output)
        forget(_kept(arguments.output))
    about = (*base.shape, base.dtype.name, len(queries), arguments.k, metric)
    print(computed(Summary(*about, seconds, ties, arguments.output), arguments.format))
    return 0


def _found(arguments: argparse.Namespace, base: Vectors, queries: Vectors, metric: str) -> Neighbors:
    """The neighbours, one more than asked for, so that ties at k are seen."""
    from assay.indexes.exact.part_search import BLOCK
    from assay.indexes.exact.sharding import Ray
    from assay.indexes.exact.truth import truth

    more = arguments.k + (arguments.k < len(base))
    runner = Ray(arguments.ray, arguments.threads) if arguments.ray else None
    kept = _kept(arguments.output) if arguments.output else None
    progress = Watched()
    try:
        return truth(
            base, queries, more, metric, threads=arguments.threads, block=arguments.block or BLOCK,
            progress=progress, checkpoint=kept, runner=runner,
            parts=arguments.parts or (runner.parts() if runner else None),
        )  # fmt: skip
    except KeyboardInterrupt:
        if kept and kept.is_dir():
            print(f"\nwhat is done is kept in {kept}: run the same again to go on", file=sys.stderr)
        raise
    finally:
        progress.end()


class _UnwrittenError(Exception):
    """Leaves a file as it was."""


def _refuse_place(path: str) -> None:
    """Refuse a file that cannot be written, as writing it would."""
    from assay.datasets.sinks import writing

    with suppress(_UnwrittenError), writing(path):
        raise _UnwrittenError


def _kept(output: str) -> Path:
    """The folder of the parts that are done."""
    return Path(f"{output}.part")


def _audit(arguments: argparse.Namespace) -> int:
    from assay.datasets.vectors import read_neighbors
    from assay.indexes.exact.audit import audit

    given = read_neighbors(arguments.truth)
    base, queries, metric = _read(arguments)
    sampling = {"sample": arguments.sample, "seed": arguments.seed, "threads": arguments.threads}
    found = audit(given, base, queries, metric, **sampling)
    print(audited(found, arguments.truth, arguments.format))
    return int(not found.clean)


def _read(arguments: argparse.Namespace) -> tuple[Vectors, Vectors, str]:
    """The base, the queries and the metric."""
    from assay.datasets.vectors import metric_of, read_vectors
    from assay.datasets.vectors.formats import chosen, place

    asked = arguments.queries or arguments.base
    if not arguments.queries and chosen(place(asked), None, "vectors").name != "hdf5":
        raise InputError(f"{asked}: only an HDF5 file has both base and queries; give QUERIES as well")
    metric = arguments.metric or metric_of(arguments.base)
    if metric is None:
        raise InputError(f"{arguments.base} does not say its metric: give --metric {'|'.join(METRICS)}")
    return read_vectors(arguments.base, role="base"), read_vectors(asked, role="queries"), metric


class Watched:
    """Says on standard error how far the work is, if it takes long."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.drawn = sys.stderr.isatty()  # else, a line now and then
        self.due = self.begin + (_PATIENCE if self.drawn else _RARELY)
        self.said, self.before = False, 0

    def __call__(self, done: int, total: int) -> None:
        """Told after each block how many pairs of a query and a vector are done, of how many."""
        now = time.monotonic()
        self.before = self.before or done  # what an earlier run has done says nothing of the pace
        if now < self.due or done <= self.before:
            return
        rate = (done - self.before) / (now - self.begin)
        pace = f"{rate / 1e6:,.0f} M distances/s, {(total - done) / rate:,.0f} s left"
        ends = ("\r", "\033[K") if self.drawn else ("", "\n")
        print(f"{ends[0]}truth: {100 * done / total:.0f} %, {pace}", end=ends[1], file=sys.stderr, flush=True)
        self.due, self.said = now + (_PAUSE if self.drawn else _RARELY), self.drawn

    def end(self) -> None:
        """Take the line away."""
        if self.said:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.said = False
