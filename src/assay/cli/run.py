"""assay run: run the search systems of assay.toml over its queries, or load one of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from assay.cli import print_notes
from assay.cli.output import show_result
from assay.cli.parsers import add_format, add_measures, make_parser
from assay.cli.saving import add_saving, save_recordings, save_request
from assay.core.errors import AssayError, InputError
from assay.views.compare import render_comparison
from assay.views.evaluation import render_evaluations
from assay.views.losses import SlicedLosses, render_losses
from assay.views.notes import evaluation_notes, interrupted_run_note, unscored_notes
from assay.views.sections import render_sections
from assay.views.systems import load_sections, outcome_sections
from assay.workflows.load import LoadRequest, LoadResult, load_system
from assay.workflows.loss_waterfall import SHOWN_DOCUMENTS
from assay.workflows.run import (
    DEFAULT_FOLDER,
    DEFAULT_MEASURES,
    RunProgress,
    RunRequest,
    RunResult,
    Watch,
    run_systems,
)
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.systems import OptionOverrides

FORMATS = ("table", "md", "latex")
_EXAMPLES = """examples:
  assay run                                   every system of assay.toml
  assay run bm25 hybrid -m nDCG@10 -m R@100   two of them, compared: the first is the baseline
  assay run hybrid --slo 200 --save nightly
  assay run live --load 50 --seconds 30       an open loop: 50 requests a second, whatever the latency

Runs, stages and figures are written to the folder runs. Finished queries are not sent again: an interrupted
run is resumed by the same command, and --again sends all queries again.

exit codes: 0 success; 1 queries, requests or some systems failed; 2 wrong use or bad input; 3 nothing to
score, or no request was sent in time
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser(
        "run",
        "Run the search systems of assay.toml over its queries: runs, latency, cost, scores, and where "
        "relevant documents are lost.",
        _EXAMPLES,
    )
    options.add_argument(
        "systems", metavar="SYSTEM", nargs="*", help="the systems of [systems.NAME] to run (default: all)"
    )
    options.add_argument(
        "--project", default=PROJECT_FILE, metavar="FILE", help=f"the project (default: {PROJECT_FILE})"
    )
    options.add_argument(
        "-o",
        "--out",
        metavar="FOLDER",
        help=f"the folder of the results (default: {DEFAULT_FOLDER}, next to the project)",
    )
    add_measures(options, DEFAULT_MEASURES)
    options.add_argument(
        "-k", type=int, metavar="K", help="the number of documents to ask for (default: 100)"
    )
    options.add_argument(
        "--shown",
        type=int,
        metavar="N",
        help=f"how many documents a person sees (default: {SHOWN_DOCUMENTS})",
    )
    options.add_argument(
        "--slo",
        type=float,
        metavar="MS",
        help="also show the share of queries answered within MS milliseconds",
    )
    _add_sending(options)
    _add_load(options)
    add_saving(options, with_files=False)
    add_format(options, FORMATS)
    return options


def _add_sending(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how queries are sent")
    group.add_argument("--concurrency", type=int, metavar="N", help="queries at a time (default: 8)")
    group.add_argument("--timeout", type=float, metavar="S", help="seconds for one attempt (default: 30)")
    group.add_argument("--retries", type=int, metavar="N", help="retries of transient failures (default: 2)")
    group.add_argument("--rate", type=float, metavar="R", help="at most R requests a second")
    group.add_argument(
        "--retry-failed", action="store_true", help="send again the queries that failed before"
    )
    group.add_argument("--again", action="store_true", help="send all queries again, even the finished ones")


def _add_load(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("load on a live endpoint, instead of scores")
    group.add_argument("--load", type=float, metavar="R", help="an open loop at R requests a second")
    group.add_argument(
        "--clients", type=int, metavar="N", help="a closed loop of N clients; with --load, at most N"
    )
    group.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="the length of the load (default: 10)"
    )
    group.add_argument(
        "--max-rate", type=float, default=100.0, metavar="R", help="the highest allowed rate (default: 100)"
    )
    group.add_argument(
        "--max-seconds", type=float, default=60.0, metavar="S", help="the longest allowed load (default: 60)"
    )


def command(arguments: argparse.Namespace) -> int:
    """Run the systems, or load one, and print the result; return the exit code."""
    if arguments.load is not None or arguments.clients is not None:
        return _load(arguments)
    saving = save_request(arguments, arguments.project)
    request = RunRequest(
        project=arguments.project,
        systems=arguments.systems,
        out=arguments.out,
        measures=arguments.measure or DEFAULT_MEASURES,
        by=arguments.by,
        shown=arguments.shown,
        slo=arguments.slo,
        options=_option_overrides(arguments),
    )
    try:
        result = run_systems(request, _watch_system, _print_error)
    except KeyboardInterrupt:
        print_notes([interrupted_run_note(request.folder, arguments.again)])
        raise
    if not result.systems:
        return result.exit_code
    show_result(result, arguments.format, lambda style: _render(result, style))
    problems = [system.problem for system in result.systems if system.problem]
    print_notes(unscored_notes(problems, result.requested[0] if result.is_without_baseline else None))
    if saving is not None:
        print_notes([f"{name} is not saved: it has no scores" for name in result.unscored])
    save_recordings(saving, result.recordings)
    if result.data.qrels is not None:
        print_notes(evaluation_notes(result.evaluations, result.data.qrels))
    print_notes([f"runs, stages and figures are in {result.folder}"], is_after_table=True)
    return result.exit_code


def _option_overrides(arguments: argparse.Namespace) -> OptionOverrides:
    return OptionOverrides(
        k=arguments.k,
        concurrency=arguments.concurrency,
        timeout=arguments.timeout,
        retries=arguments.retries,
        rate=arguments.rate,
        retry_failed=arguments.retry_failed,
        restart=arguments.again,
    )


def _print_error(name: str, error: AssayError) -> None:
    print(f"assay run: {name} could not be run: {error}", file=sys.stderr)


@contextmanager
def _watch_system(name: str) -> Iterator[Watch | None]:
    """Report the progress of a system in one line, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    def report(progress: RunProgress) -> None:
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        line = f"{name}: {progress.done:,} of {progress.total:,} queries{failed}, {progress.qps:,.1f}/s"
        print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)

    try:
        yield report
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _render(result: RunResult, style: str) -> str:
    answers = outcome_sections([system.results for system in result.systems], result.slo)
    parts = [render_sections("Systems", answers, style)]
    if result.evaluations:
        parts.append(render_evaluations(result.evaluations, style))
    waterfalls = {
        system.name: SlicedLosses(system.losses, system.slice_losses)
        for system in result.systems
        if system.losses
    }
    if waterfalls:
        parts.append(render_losses(waterfalls, style))
    if result.comparisons is not None:
        parts.append(render_comparison(result.comparisons, style))
    return "\n\n".join(parts)


def _load(arguments: argparse.Namespace) -> int:
    """Load one system and print the measurement; return the exit code."""
    for option in ("save", "measure", "by", "shown"):
        if getattr(arguments, option):
            raise InputError(f"--{option} has no meaning with a load, which scores and keeps nothing")
    request = LoadRequest(
        project=arguments.project,
        systems=arguments.systems,
        out=arguments.out,
        rate=arguments.load,
        clients=arguments.clients,
        seconds=arguments.seconds,
        max_rate=arguments.max_rate,
        max_seconds=arguments.max_seconds,
        slo=arguments.slo,
        options=_option_overrides(arguments),
    )
    try:
        result = load_system(request)
    except KeyboardInterrupt:
        print_notes(["nothing is kept of a load that was interrupted"])
        raise
    show_result(result, arguments.format, lambda style: _render_load(result, style))
    return result.exit_code


def _render_load(result: LoadResult, style: str) -> str:
    sections = load_sections(result.system, result.load, result.slo, result.is_rate_capped)
    return render_sections("Load", sections, style)
