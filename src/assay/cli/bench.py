"""assay bench: measure indexes over ranges of their parameters."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from assay.bench.imported import READERS
from assay.bench.sweeps.sweep import Sweep
from assay.bench.trials import DEFAULT_DELTA
from assay.cli import print_notes
from assay.cli.bench_report import add_report_options, report
from assay.cli.live_table import LiveTable
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_subcommands, make_group, run_subcommand
from assay.cli.progress import note_when_interrupted
from assay.cli.saving import add_saving, print_saved, save_request
from assay.cli.select import add_delta, add_scoring
from assay.cli.truth_progress import TruthProgressLine
from assay.core.vectors import METRICS
from assay.views.engines import STYLES, render_engines, render_parameters
from assay.views.trials import FORMATS, render_trials
from assay.views.truth import describe_easy_queries
from assay.workflows.bench import DEFAULT_FOLDER, BenchRequest, BenchResult, bench, save_trials
from assay.workflows.engines import EnginesRequest, list_engines
from assay.workflows.trials import (
    ImportResultsRequest,
    ShowTrialsRequest,
    TrialsResult,
    import_results,
    show_trials,
)

_EXAMPLES = """examples:
  assay bench bench.toml
  assay bench --base base.fbin --queries queries.fbin --metric l2 --index 'faiss.hnsw M=16 / efSearch=16,64'
  assay bench --base glove.hdf5 --index 'hnswlib M=16 / ef=50,100' --index 'annoy n_trees=20 / search_k=1000'
  assay bench --base base.fbin --queries queries.fbin --metric l2 --index 'hnswlib / ef=10..800' --recall 0.9
  assay bench show bench-results -k 5 --ties strict --format csv
  assay bench report bench-results --format html > report.html
  assay bench report first.csv second.csv --delta 0.3 --floor recall=0.9 --floor robustness=0.99
  assay bench import results/glove/10/hnswlib/*.hdf5 -o bench-results
  assay bench engines

`run` is the default command: `assay bench run --help` shows the options of measuring.
A finished trial is never run twice: run the same command again after an interruption, or with more engines.

exit codes: 0 done; 1 a trial failed; 2 wrong use or bad input; 130 interrupted, finished trials are stored
"""
_DELTA_HELP = f"show robustness at this δ, the share of queries with such a recall (default: {DEFAULT_DELTA})"
_MEASURE_OPTIONS = (
    "file", "out", "base", "queries", "truth", "metric", "k", "limit", "repetitions", "warmup", "threads",
    "memory", "timeout",
)  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    description = "Build and search real indexes: recall distribution, throughput, latency, memory."
    group = make_group("bench", description, _EXAMPLES, "run")
    add_subcommands(group, SUBCOMMANDS, _EXAMPLES)
    return group


command = run_subcommand


def add_data_options(part: argparse.ArgumentParser, tables: str, out: str) -> None:
    """Add the options of the data and of the folder of the results."""
    part.add_argument("file", nargs="?", metavar="FILE", help=f"the same options in TOML: {tables}")
    part.add_argument(
        "-o", "--out", default=out, metavar="FOLDER", help=f"folder of the results (default: {out})"
    )
    part.add_argument("--base", metavar="FILE", help="the vectors to search")
    part.add_argument(
        "--queries",
        metavar="FILE",
        help="the query vectors (default: those in an HDF5 file of the base)",
    )
    part.add_argument(
        "--truth", metavar="FILE", help="the exact neighbours (default: they are computed and stored)"
    )
    part.add_argument("--metric", choices=METRICS, help="(default: that of the file)")
    part.add_argument("-k", type=int, metavar="K", help="number of neighbours to search for (default: 10)")
    part.add_argument("--limit", type=int, metavar="N", help="only the first N queries")


def add_pass_options(part: argparse.ArgumentParser) -> None:
    """Add the options of how each trial is run."""
    part.add_argument("--repetitions", type=int, metavar="N", help="passes of each trial (default: 3)")
    part.add_argument(
        "--warmup",
        type=int,
        metavar="N",
        help="searches before each pass that do not count (default: every query, for 0.2 s to 1 s)",
    )
    part.add_argument("--threads", type=int, metavar="N", help="threads of each engine (default: 1)")
    part.add_argument("--memory", metavar="SIZE", help="memory limit of an engine, such as '4 GB'")
    part.add_argument(
        "--timeout", type=float, metavar="S", help="seconds for a build or a pass (default: 3600)"
    )


def _add_run_options(part: argparse.ArgumentParser) -> None:
    add_data_options(part, "[data], [run], [[index]]", DEFAULT_FOLDER)
    part.add_argument(
        "--index",
        action="append",
        default=[],
        metavar="INDEX",
        help="ENGINE NAME=V,V… / NAME=V,V…: build parameters, and after the slash search parameters; text "
        "that has spaces or looks like a number must be quoted; may be repeated",
    )
    part.add_argument(
        "--recall",
        action="append",
        type=float,
        metavar="R",
        help="find the value of a range of a search parameter, such as efSearch=8..512, whose mean recall is "
        "closest to R; may be repeated",
    )
    part.add_argument(
        "--mode",
        action="append",
        choices=("single", "batch"),
        help="how queries are sent; may be repeated (default: both; none if a rate or an objective is given)",
    )
    part.add_argument(
        "--rate",
        action="append",
        type=float,
        metavar="R",
        help="an open loop at R queries per second; may be repeated",
    )
    part.add_argument("--objective", metavar="P=MS", help="find the capacity for an objective such as p99=10")
    part.add_argument("--clients", type=int, metavar="N", help="concurrent clients (default: 1)")
    part.add_argument("--seconds", type=float, metavar="S", help="length of an open loop (default: 10)")
    add_pass_options(part)
    add_delta(part, _DELTA_HELP)
    add_saving(part, with_files=False, with_texts=False)
    _add_repeat_options(part)
    add_format(part, FORMATS)


def _add_repeat_options(part: argparse.ArgumentParser) -> None:
    """Add the options of what is done again, and what is kept for it."""
    part.add_argument("--retry", action="store_true", help="run failed trials again")
    part.add_argument(
        "--keep-indexes", action="store_true", help="do not delete indexes when their trials are done"
    )


def measure_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that `bench` and `tune` share, as fields of their requests."""
    options = {name: getattr(arguments, name) for name in _MEASURE_OPTIONS}
    return options | {"indexes": arguments.index}


def _run(arguments: argparse.Namespace) -> int:
    saving = save_request(arguments)
    request = BenchRequest(
        recall=arguments.recall,
        modes=arguments.mode or (),
        rates=arguments.rate or (),
        objective=arguments.objective,
        clients=arguments.clients,
        seconds=arguments.seconds,
        delta=arguments.delta,
        retry=arguments.retry,
        keep_indexes=arguments.keep_indexes,
        **measure_options(arguments),
    )
    result = _measure(request)
    show_result(result, arguments.format, lambda style: _render(result, style, arguments.delta))
    _print_summary(result)
    if saving:
        print_saved(save_trials(saving, result))
    return result.exit_code


def _measure(request: BenchRequest) -> BenchResult:
    """Run the benchmark, with its progress on standard error."""
    progress = TruthProgressLine()

    def watch(sweep: Sweep) -> LiveTable:
        progress.clear()
        print_notes(sweep.version_changes())
        return LiveTable(sweep, sys.stderr)

    try:
        with note_when_interrupted(request.out, "finished trials"):
            return bench(request, progress=progress, watch=watch)
    finally:
        progress.clear()


def _print_summary(result: BenchResult) -> None:
    answers = "; all answers are stored" * result.has_answers
    count = f"{result.total} trial{'s' * (result.total != 1)}"
    command = f"assay bench show {shlex.quote(result.folder)}"
    print(f"\n{count} in {result.folder}{answers}: {command}", file=sys.stderr)
    print_notes(describe_easy_queries(result.findings, result.metadata["data"]["k"]))
    if result.has_failures:
        print("failed trials are not run again without --retry", file=sys.stderr)


def _add_show_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=DEFAULT_FOLDER,
        help=f"folder of a sweep (default: {DEFAULT_FOLDER})",
    )
    add_scoring(part)
    add_delta(part, _DELTA_HELP)
    add_format(part, FORMATS)


def _show(arguments: argparse.Namespace) -> int:
    request = ShowTrialsRequest(
        folder=arguments.folder, k=arguments.k, ties=arguments.ties, delta=arguments.delta
    )
    result = show_trials(request)
    if not result.trials:
        print(f"{arguments.folder} holds no trials yet", file=sys.stderr)
    show_result(result, arguments.format, lambda style: _render(result, style, arguments.delta))
    return 0


def _render(result: BenchResult | TrialsResult, style: str, delta: float | None) -> str:
    """Trials with robustness at the δ that was asked for."""
    return render_trials(result.trials, style, result.metadata, delta or DEFAULT_DELTA)


def _add_import_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "files", metavar="FILE", nargs="+", help="results of ann-benchmarks, big-ann, VectorDBBench, or CSV"
    )
    part.add_argument(
        "-o",
        "--out",
        default=DEFAULT_FOLDER,
        metavar="FOLDER",
        help=f"folder of a sweep of the same data (default: {DEFAULT_FOLDER})",
    )
    part.add_argument(
        "--from",
        dest="kind",
        choices=READERS,
        help="the tool that wrote the results (default: detected by content)",
    )
    add_format(part, FORMATS)


def _import(arguments: argparse.Namespace) -> int:
    request = ImportResultsRequest(files=arguments.files, out=arguments.out, kind=arguments.kind)
    result = import_results(request)
    show_result(result, arguments.format, lambda style: render_trials(result.trials, style, result.metadata))
    return 0


def _add_engines_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "names", metavar="ENGINE", nargs="*", help="show the parameters of these engines (default: list all)"
    )
    part.add_argument("--python", metavar="FILE", help="the interpreter in which they are installed")
    add_format(part, STYLES)


def _engines(arguments: argparse.Namespace) -> int:
    result = list_engines(EnginesRequest(names=arguments.names, python=arguments.python))

    def render(style: str) -> str:
        if arguments.names:
            return render_parameters(result.descriptions, style)
        return render_engines(result.engines, result.plugins, style)

    show_result(result, arguments.format, render)
    return 0


SUBCOMMANDS = {
    "run": Subcommand(_run, _add_run_options, "build and search indexes, and store their answers"),
    "show": Subcommand(
        _show, _add_show_options, "score stored answers, with another k or hit rule if requested"
    ),
    "report": Subcommand(
        report, add_report_options, "report what the mean recall hides, as a page with figures"
    ),
    "import": Subcommand(
        _import,
        _add_import_options,
        "import results of other tools, and score their neighbours",
    ),
    "engines": Subcommand(
        _engines,
        _add_engines_options,
        "list the engines, or show their parameters",
    ),
}
