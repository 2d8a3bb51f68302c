"""assay bench: sweep indexes over their parameters."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.cli import show
from assay.cli.bench_report import report, report_options
from assay.cli.live import Live
from assay.cli.parsers import add_commands, add_format, make_group
from assay.cli.saving import add_saving, keep
from assay.cli.truth import Watched
from assay.core.errors import InputError
from assay.core.vectors import METRICS
from assay.indexes.engines import ENGINES, others
from assay.indexes.foreign import KINDS, import_results
from assay.indexes.hits import POLICIES, Judge
from assay.indexes.hosting.hosted import Process
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.summary import trials
from assay.indexes.sweeps.sweep import Sweep
from assay.indexes.trials import Trial, to_row
from assay.project.bench import Bench, judge_in, judge_of, measured
from assay.project.bench_settings import bench_in, entry_in
from assay.project.settings import read_settings
from assay.views.engines import STYLES, engines_view, parameters_view
from assay.views.trials import FORMATS, trials_view

_EXAMPLES = """examples:
  assay bench bench.toml
  assay bench --base base.fbin --queries queries.fbin --metric l2 --index 'faiss.hnsw M=16 / efSearch=16,64'
  assay bench --base glove.hdf5 --index 'hnswlib M=16 / ef=50,100' --index 'annoy n_trees=20 / search_k=1000'
  assay bench --base base.fbin --queries queries.fbin --metric l2 --index 'hnswlib / ef=10..800' --recall 0.9
  assay bench show bench-results -k 5 --ties strict --format csv
  assay bench report bench-results --format html > report.html
  assay bench import results/glove/10/hnswlib/*.hdf5 -o bench-results
  assay bench engines

`assay bench run --help` shows the options of measuring; `run` need not be written.
A finished trial is never run twice: run the same command again after an interruption, or with more engines.

exit codes: 0 done; 1 a trial failed; 2 wrong use or bad input; 130 interrupted, what was finished is kept
"""
OUT = "bench-results"
_PASSES = ("repetitions", "warmup", "threads", "memory", "timeout")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    what = "Build and search indexes for real: recall distribution, throughput, latency, memory."
    made = make_group("bench", what, _EXAMPLES, usual="run")
    named = {name: said for name, (_, _, said) in ACTIONS.items()}
    for part, (_, options, _) in zip(add_commands(made, named, _EXAMPLES), ACTIONS.values(), strict=True):
        options(part)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Do what was asked; the result is the exit code."""
    return ACTIONS[arguments.action][0](arguments)


def add_data(part: argparse.ArgumentParser, tables: str, out: str) -> None:
    """What is searched with what, and where results are kept."""
    part.add_argument("file", nargs="?", metavar="FILE", help=f"the same in TOML: {tables}")
    part.add_argument(
        "-o", "--out", default=out, metavar="FOLDER", help=f"where results are kept (default: {out})"
    )
    part.add_argument("--base", metavar="FILE", help="the vectors to be searched")
    part.add_argument(
        "--queries",
        metavar="FILE",
        help="the vectors to search with (default: those in the base's file, if HDF5)",
    )
    part.add_argument(
        "--truth", metavar="FILE", help="the exact neighbours (default: they are made, and kept)"
    )
    part.add_argument("--metric", choices=METRICS, help="(default: what the file says)")
    part.add_argument("-k", type=int, metavar="K", help="neighbours asked for (default: 10)")
    part.add_argument("--limit", type=int, metavar="N", help="only the first N queries")


def add_passes(part: argparse.ArgumentParser) -> None:
    """How each trial is run."""
    part.add_argument("--repetitions", type=int, metavar="N", help="(default: 3)")
    part.add_argument(
        "--warmup",
        type=int,
        metavar="N",
        help="searches before each pass that are thrown away (default: every query, for 0.2 s to 1 s)",
    )
    part.add_argument("--threads", type=int, metavar="N", help="of each engine (default: 1)")
    part.add_argument("--memory", metavar="SIZE", help="that an engine may hold, such as '4 GB'")
    part.add_argument("--timeout", type=float, metavar="S", help="for a build or a pass (default: 3600)")


def _run_options(part: argparse.ArgumentParser) -> None:
    add_data(part, "[data], [run], [[index]]", OUT)
    part.add_argument(
        "--index",
        action="append",
        default=[],
        metavar="INDEX",
        help="ENGINE NAME=V,V… / NAME=V,V…: parameters of building, and after the slash of searching; "
        "text with blanks, or that looks like a number, stands in quotes; may be repeated",
    )
    part.add_argument(
        "--recall",
        action="append",
        type=float,
        metavar="R",
        help="find the value that comes nearest to this mean recall where a parameter of searching is a "
        "range, such as efSearch=8..512; may be repeated",
    )
    part.add_argument(
        "--mode",
        action="append",
        choices=("single", "batch"),
        help="may be repeated (default: both; none where a rate or an objective is given)",
    )
    part.add_argument(
        "--rate",
        action="append",
        type=float,
        metavar="R",
        help="an open loop at R queries per second, may be repeated",
    )
    part.add_argument("--objective", metavar="P=MS", help="find the capacity: such as p99=10")
    part.add_argument("--clients", type=int, metavar="N", help="that ask at the same time (default: 1)")
    part.add_argument("--seconds", type=float, metavar="S", help="of an open loop (default: 10)")
    add_passes(part)
    add_saving(part, beside=False)
    part.add_argument("--retry", action="store_true", help="run failed trials again")
    part.add_argument(
        "--keep-indexes", action="store_true", help="do not delete indexes when their trials are done"
    )
    add_format(part, FORMATS)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.save is not None and not arguments.save.strip():
        raise InputError("--save expects a name, found none")
    bench = _bench(arguments)
    try:
        sweep = _sweep(bench, arguments.out)
        with Live(sweep, sys.stderr) as live:
            sweep.run(live)
    except KeyboardInterrupt:
        if Path(arguments.out).is_dir():
            kept = f"what was finished is kept in {arguments.out}"
            print(f"{kept}: the same command goes on from there", file=sys.stderr)
        raise
    judge = judge_in(sweep.data, sweep.options.policy)
    known = trials(sweep.results, judge)
    sweep.results.put_table([to_row(one) for one in known])
    mine = {planned.key for planned in sweep.planned}
    found = [one for one in known if one.key in mine]
    show(trials_view(found, arguments.format, sweep.about()))
    _said(found, len(known), arguments.out)
    if arguments.save:
        _save(arguments, found, sweep.results, judge)
    return int(any(one.status == "failed" for one in found))


def _sweep(bench: Bench, out: str) -> Sweep:
    """The sweep; a truth that takes long to make is told to a person who waits."""
    progress = Watched()
    try:
        return bench.sweep(out, progress)
    finally:
        progress.end()


def _said(found: Sequence[Trial], there: int, out: str) -> None:
    kept = "; every answer is kept" * any(one.status == "done" for one in found)
    print(
        f"\n{there} trial{'s' * (there != 1)} in {out}{kept}: assay bench show {shlex.quote(out)}",
        file=sys.stderr,
    )
    if any(one.status == "failed" for one in found):
        print("what failed is not run again, unless with --retry", file=sys.stderr)


def _save(arguments: argparse.Namespace, found: Sequence[Trial], results: Results, judge: Judge) -> None:
    """Record every trial that was measured, with the scores of its queries."""
    from assay.store.trials import experiment_of_trial, scores_of_trial

    data = results.about()["data"]
    done = [one for one in found if one.status == "done"]
    made = []
    for one in done:
        name = arguments.save if len(done) == 1 else f"{arguments.save}/{one.label} ({one.way})"
        experiment = experiment_of_trial(one, name, data, tags=arguments.tag, note=arguments.note)
        made.append((experiment, scores_of_trial(results, one, judge)))
    keep(arguments.store, made)


def _bench(arguments: argparse.Namespace) -> Bench:
    """The benchmark, as it is asked for."""
    asked: dict[str, Any] = {name: getattr(arguments, name) for name in ("clients", "seconds", "recall")}
    if arguments.mode or arguments.rate or arguments.objective:  # in place of all that the file asks
        asked["modes"] = arguments.mode or []
        asked["rates"] = arguments.rate or []
        asked["objective"] = _objective(arguments.objective) if arguments.objective else {}
    made = bench_of(arguments, settings_of(arguments, "bench"), asked)
    options = replace(made.options, retry=arguments.retry, keep=arguments.keep_indexes)
    return replace(made, options=options)


def settings_of(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """What the file says."""
    if arguments.file is not None:
        return dict(read_settings(arguments.file))
    if arguments.base is None:
        raise InputError(f"expected a benchmark in TOML, or --base with --index; see assay {command} --help")
    return {}


def bench_of(arguments: argparse.Namespace, settings: dict[str, Any], asked: dict[str, Any]) -> Bench:
    """The benchmark of the file, with what the options say in place of what it says."""
    run = asked | {name: getattr(arguments, name) for name in _PASSES}
    data = {name: getattr(arguments, name) for name in ("base", "metric", "k", "limit")}
    overridden = settings | {
        table: settings.get(table, {}) | {name: v for name, v in given.items() if v is not None}
        for table, given in (("data", data), ("run", run))
        if isinstance(settings.get(table, {}), dict)  # what is none is told below
    }
    made = bench_in(overridden, Path(arguments.file or "").parent, arguments.file or "")
    paths = {
        name: getattr(arguments, name) for name in ("base", "queries", "truth") if getattr(arguments, name)
    }
    threads = overridden["run"].get("threads", 1)
    entries = tuple(entry_in(text, threads) for text in arguments.index)
    return replace(made, **paths, entries=made.entries + entries)


def _objective(text: str) -> dict[str, float]:
    found = re.fullmatch(r"(p\d\d?(?:\.\d+)?)=(\d+(?:\.\d+)?)", text)
    if not found or not float(found[2]):
        raise InputError(f"an objective is a percentile and milliseconds, such as p99=10; found {text!r}")
    return {f"{found[1]}_ms": float(found[2])}


def _show_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("folder", metavar="FOLDER", nargs="?", default=OUT, help=f"of a sweep (default: {OUT})")
    part.add_argument(
        "-k", type=int, metavar="K", help="score hits among the first K (default: that of the last sweep)"
    )
    part.add_argument(
        "--ties", choices=POLICIES, help="what counts as a hit (default: that of the last sweep)"
    )
    add_format(part, FORMATS)


def _show(arguments: argparse.Namespace) -> int:
    results, judge = judge_of(arguments.folder, k=arguments.k, policy=arguments.ties)
    found = trials(results, judge)
    if not found:
        print(f"{arguments.folder} holds no trials yet", file=sys.stderr)
    print(trials_view(found, arguments.format, results.about()))
    return 0


def _import_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "files", metavar="FILE", nargs="+", help="results of ann-benchmarks, big-ann, VectorDBBench, or CSV"
    )
    part.add_argument(
        "-o", "--out", default=OUT, metavar="FOLDER", help=f"of a sweep of the same data (default: {OUT})"
    )
    part.add_argument(
        "--from", dest="kind", choices=KINDS, help="whose results they are (default: told by content)"
    )
    add_format(part, FORMATS)


def _import(arguments: argparse.Namespace) -> int:
    results, data = measured(arguments.out)
    keys = import_results(arguments.files, results, kind=arguments.kind, truth=data.truth)
    about = results.about()
    known = trials(results, judge_in(data, about["options"]["policy"]))
    results.put_table([to_row(one) for one in known])
    print(trials_view([one for one in known if one.key in keys], arguments.format, about))
    return 0


def _engines_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "names", metavar="ENGINE", nargs="*", help="show the parameters of these (default: list all)"
    )
    part.add_argument("--python", metavar="FILE", help="the interpreter in which they are installed")
    add_format(part, STYLES)


def _engines(arguments: argparse.Namespace) -> int:
    if not arguments.names:
        print(engines_view(ENGINES, others(), arguments.format))
        return 0
    found = {}
    for name in arguments.names:
        with Process(python=arguments.python, timeout=120) as process:
            found[name] = process.ask("describe", name)
    print(parameters_view(found, arguments.format))
    return 0


ACTIONS: dict[
    str, tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None], str]
] = {
    "run": (_run, _run_options, "build and search indexes, and keep what they answer"),
    "show": (_show, _show_options, "score what was kept, by another k or policy if wanted"),
    "report": (report, report_options, "what the mean recall hides, as a page with figures"),
    "import": (_import, _import_options, "take over others' results, and score those that have neighbours"),
    "engines": (_engines, _engines_options, "the engines there are, what is installed, and their parameters"),
}
