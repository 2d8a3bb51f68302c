"""assay run: the systems of assay.toml over a query set."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from assay.cli import show
from assay.cli.parsers import add_format, add_measures, make_parser
from assay.cli.saving import add_saving, keep
from assay.core.errors import AssayError, InputError
from assay.evaluation import DEFAULT_MEASURES
from assay.evaluation.compare import compare
from assay.evaluation.losses import Part
from assay.project.project import FILE
from assay.project.runs import Ran, run_system
from assay.project.systems import EMBEDDINGS, Systems
from assay.project.way import SHOWN
from assay.search.load import Cap, Load, closed, opened
from assay.search.outcome import Outcome
from assay.search.running import Options, Progress
from assay.views import summary
from assay.views.compare import comparison
from assay.views.losses import Bars, losses_view
from assay.views.runs import answered, loaded
from assay.views.sections import render

T = TypeVar("T")
Lost = dict[str, AssayError]  # why systems could not be run, by name

OUT = "runs"
FORMATS = ("table", "json", "md")
_NEAR = 0.95  # of the cap: clients that send so much would send more
_EXAMPLES = """examples:
  assay run                                   every system of assay.toml
  assay run bm25 hybrid -m nDCG@10 -m R@100   two of them, compared: the first is the baseline
  assay run hybrid --slo 200 --save nightly
  assay run live --load 50 --seconds 30       an open loop: 50 requests a second, whatever comes back

Runs, stages and figures are left in the folder runs; what is finished is not asked again, so that a run
that was interrupted goes on with the same command; --again asks everything anew.

exit codes: 0 done; 1 queries or some systems failed; 2 wrong use or bad input; 3 nothing can be said
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "run",
        "Run the search systems of assay.toml over its queries: runs, latency, cost, scores, and where "
        "relevant documents are lost.",
        _EXAMPLES,
    )
    made.add_argument("systems", metavar="SYSTEM", nargs="*", help="of [systems.NAME] (default: all)")
    made.add_argument("--project", default=FILE, metavar="FILE", help=f"(default: {FILE})")
    made.add_argument("-o", "--out", metavar="FOLDER", help=f"for runs (default: {OUT}, beside the file)")
    add_measures(made, DEFAULT_MEASURES)
    made.add_argument("-k", type=int, metavar="K", help="documents asked for (default: 100)")
    made.add_argument("--shown", type=int, metavar="N", help=f"that a person sees (default: {SHOWN})")
    made.add_argument("--slo", type=float, metavar="MS", help="tell the share that was answered within MS")
    asking = made.add_argument_group("how they are asked")
    asking.add_argument("--concurrency", type=int, metavar="N", help="queries at a time (default: 8)")
    asking.add_argument("--timeout", type=float, metavar="S", help="for one attempt (default: 30)")
    asking.add_argument("--retries", type=int, metavar="N", help="of what may go better again (default: 2)")
    asking.add_argument("--rate", type=float, metavar="R", help="requests a second at most")
    asking.add_argument("--retry-failed", action="store_true", help="ask again what failed before")
    asking.add_argument("--again", action="store_true", help="ask everything again, whatever was finished")
    load = made.add_argument_group("load on a live endpoint, instead of scores")
    load.add_argument("--load", type=float, metavar="R", help="an open loop at R requests a second")
    load.add_argument(
        "--clients", type=int, metavar="N", help="a closed loop of N clients; with --load, at most N"
    )
    load.add_argument("--seconds", type=float, default=10.0, metavar="S", help="how long (default: 10)")
    load.add_argument("--max-rate", type=float, default=100.0, metavar="R", help="never more (default: 100)")
    load.add_argument(
        "--max-seconds", type=float, default=60.0, metavar="S", help="never longer (default: 60)"
    )
    add_saving(made, beside=False)
    add_format(made, FORMATS)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Run what was asked for; the result is the exit code."""
    arguments.out = arguments.out or str(Path(arguments.project).parent / OUT)
    systems = Systems(arguments.project, Path(arguments.out) / EMBEDDINGS)
    names = arguments.systems = systems.chosen(arguments.systems)
    if arguments.save is not None and not arguments.save.strip():
        raise InputError("--save expects a name, found none")
    if arguments.slo is not None and not arguments.slo > 0:
        raise InputError(f"--slo: expected milliseconds above 0, found {arguments.slo:g}")
    options = _options(systems.options, arguments)
    try:
        if _is_load(arguments):
            return _loads(systems, names, options, arguments)
        lost: Lost = {}
        ready = _each(names, lost, lambda name: _opened(systems, name))
        ran = _each(ready, lost, lambda name: _ran(systems, name, options, arguments))
    except KeyboardInterrupt:
        print(_interrupted(arguments), file=sys.stderr)
        raise
    finally:
        systems.close()
    if not ran:
        return next(iter(lost.values())).exit_code
    show(_shown(systems, ran, lost, arguments))
    for said in _unscored(ran, lost, names[0]):
        print(said, file=sys.stderr)
    _save(systems, ran, arguments)
    print(f"\nruns, stages and figures are in {arguments.out}", file=sys.stderr)
    return int(bool(lost) or any(one.outcome.failed for one in ran))


def _opened(systems: Systems, name: str) -> str:
    """The name of a system that is ready to be asked."""
    systems.searcher(name).refuse(systems.data.queries)
    return name


def _each(names: Sequence[str], lost: Lost, work: Callable[[str], T]) -> list[T]:
    """What comes of each system; one that fails is told and lost, but wrong use is everybody's end."""
    made = []
    for name in names:
        try:
            made.append(work(name))
        except InputError:
            raise
        except AssayError as error:
            lost[name] = error
            print(f"assay run: {name} could not be run: {error}", file=sys.stderr)
    return made


def _is_load(arguments: argparse.Namespace) -> bool:
    return arguments.load is not None or arguments.clients is not None


def _interrupted(arguments: argparse.Namespace) -> str:
    if _is_load(arguments):
        return "nothing is kept of a load that was interrupted"
    kept = f"what was finished is kept in {arguments.out}: the same command"
    if arguments.again:
        return f"{kept} without --again goes on from there, but for systems that were not begun"
    return f"{kept} goes on from there"


def _options(given: Options, arguments: argparse.Namespace) -> Options:
    names = ("k", "concurrency", "timeout", "retries", "rate")
    found = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    return replace(given, **found, retry_failed=arguments.retry_failed, again=arguments.again)


def _ran(systems: Systems, name: str, options: Options, arguments: argparse.Namespace) -> Ran:
    watch = _Watch(name)
    try:
        return run_system(
            systems,
            name,
            arguments.out,
            options,
            measures=arguments.measure or DEFAULT_MEASURES,
            by=arguments.by,
            shown=arguments.shown,
            watch=watch if sys.stderr.isatty() else None,
        )
    finally:
        watch.end()


class _Watch:
    """One line on standard error that says how far a run is."""

    def __init__(self, name: str) -> None:
        self.name, self.said = name, False

    def __call__(self, at: Progress) -> None:
        failed = f", {at.failed:,} failed" if at.failed else ""
        line = f"{self.name}: {at.done:,} of {at.total:,} queries{failed}, {at.qps:,.1f}/s"
        print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)
        self.said = True

    def end(self) -> None:
        """Leave a line of its own to what follows."""
        if self.said:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _shown(systems: Systems, ran: Sequence[Ran], lost: Lost, arguments: argparse.Namespace) -> str:
    style, scored = arguments.format, [one for one in ran if one.run is not None]
    compared = _compared(systems, ran, arguments)
    if style == "json":
        made: dict[str, Any] = {"systems": [_plain(one, arguments.slo) for one in ran]}
        made |= {"lost": {name: str(error) for name, error in lost.items()}} if lost else {}
        if compared is not None:
            made["comparison"] = json.loads(comparison(compared, "json"))
        return json.dumps(made, ensure_ascii=False, indent=1)
    parts = [render("Systems", answered([one.outcome for one in ran], arguments.slo), style)]
    evaluations = [one.evaluation for one in scored if one.evaluation]
    if evaluations:
        parts.append(summary(evaluations, style))
    waterfalls = {one.name: Bars(one.losses, one.sliced()) for one in scored if one.losses}
    if waterfalls:
        parts.append(losses_view(waterfalls, style))
    if compared is not None:
        parts.append(comparison(compared, style))
    return "\n\n".join(parts)


def _unscored(ran: Sequence[Ran], lost: Lost, baseline: str) -> list[str]:
    """Which systems have no scores and stand in no comparison, and why."""
    said = [f"{one.problem}: it has no scores" for one in ran if one.problem]
    if len(ran) > 1 and (ran[0].problem or baseline in lost):
        said.append(f"nothing is compared: {baseline} is the baseline")
    return said


def _plain(one: Ran, slo_ms: float | None) -> dict[str, Any]:
    made = {**one.to_dict(), **_slo(one.outcome, slo_ms)}
    sliced = {called: [_part(part) for part in parts] for called, parts in one.sliced().items()}
    return {**made, "losses": {**made["losses"], "slices": sliced}} if sliced else made


def _part(part: Part) -> dict[str, Any]:
    return {**part._asdict(), "share": part.share.to_dict()}


def _slo(found: Outcome | Load, ms: float | None) -> dict[str, Any]:
    return {} if ms is None else {"slo": {"ms": ms, **found.slo(ms).to_dict()}}


def _compared(systems: Systems, ran: Sequence[Ran], arguments: argparse.Namespace) -> Any:
    """The comparison of several systems, the first being the baseline; None where there is nothing to."""
    runs = [one.run for one in ran if one.run is not None]
    first = ran[0].run is not None and ran[0].name == arguments.systems[0]
    if systems.data.qrels is None or not first or len(runs) < 2:
        return None
    measures = arguments.measure or DEFAULT_MEASURES
    return compare(systems.data.qrels, runs[0], runs[1:], measures, systems.data.queries, arguments.by)


def _save(systems: Systems, ran: Sequence[Ran], arguments: argparse.Namespace) -> None:
    """Record each system that was scored as an experiment."""
    if not arguments.save:
        return
    from assay.project.places import store_url
    from assay.store.saving import experiment_of

    made = []
    for one in ran:
        if one.evaluation is None or one.run is None:
            print(f"{one.name} is not saved: it has no scores", file=sys.stderr)
            continue
        experiment = experiment_of(
            one.evaluation,
            arguments.save if len(arguments.systems) == 1 else f"{arguments.save}/{one.name}",
            kind="run",
            qrels=systems.data.qrels,
            queries=systems.data.queries,
            run=one.run.digest,
            configuration=one.configuration,
            latency={name: ms for name, ms in one.outcome.latency.percentiles().items() if ms is not None},
            figures=one.figures,
            tags=arguments.tag,
            note=arguments.note,
        )
        made.append((experiment, one.evaluation.scores))
    keep(store_url(arguments.store, arguments.project), made)


def _loads(systems: Systems, names: Sequence[str], options: Options, arguments: argparse.Namespace) -> int:
    """Load one system, within the cap."""
    for option in ("save", "measure", "by", "shown"):
        if getattr(arguments, option):
            raise InputError(f"--{option} has no meaning with a load, which scores and keeps nothing")
    if len(names) != 1:
        raise InputError(f"a load is for one system: name one of {', '.join(names)}")
    if arguments.clients is not None and arguments.clients < 1:
        raise InputError(f"--clients: expected at least 1, found {arguments.clients}")
    cap = Cap(arguments.max_rate, arguments.max_seconds)
    load = _load(systems, names[0], options, cap, arguments)
    sent = load.requests / load.timed.seconds
    held_back = load.rate is None and load.answered.n > 0 and sent > _NEAR * cap.rate
    if arguments.format == "json":
        told = {**load.to_dict(), "held_back": held_back, **_slo(load, arguments.slo)}
        print(json.dumps({"system": names[0], **told}, indent=1))
    else:
        print(render("Load", loaded(names[0], load, arguments.slo, held_back), arguments.format))
    return int(bool(load.errors))


def _load(systems: Systems, name: str, options: Options, cap: Cap, arguments: argparse.Namespace) -> Load:
    searcher, queries, k = systems.searcher(name), systems.data.queries, options.k
    if arguments.load is None:
        return closed(
            searcher, queries, k, arguments.clients, cap, seconds=arguments.seconds, timeout=options.timeout
        )
    given = {} if arguments.clients is None else {"clients": arguments.clients}
    rate, seconds, timeout = arguments.load, arguments.seconds, options.timeout
    return opened(searcher, queries, k, rate, seconds, cap, timeout=timeout, **given)
