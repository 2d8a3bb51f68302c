"""assay rollout: release a change step by step, and roll it back."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from threading import Event

from assay.cli import show
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store, add_subcommands, make_parser, run_subcommand
from assay.core.errors import InputError
from assay.rollout.status import RolloutStatus
from assay.views.rollouts import (
    FORMATS,
    describe_rollout,
    describe_watched,
    render_history,
    render_rollouts,
    render_splits,
    render_status,
    render_watch,
)
from assay.workflows.rollout_splits import SplitsRequest, publish_splits
from assay.workflows.rollout_watch import (
    WatchPass,
    WatchRolloutsRequest,
    parse_pause,
    watch_for_ever,
    watch_rollouts,
)
from assay.workflows.rollouts import (
    MoveRolloutRequest,
    RolloutRequest,
    StartRolloutRequest,
    list_rollouts,
    move_rollout,
    read_history,
    read_status,
    start_rollout,
)
from assay.workflows.settings import PROJECT_FILE

_EXAMPLES = """  assay rollout start new-ranker --experiment branch --baseline main
  assay rollout status new-ranker --events events/
  assay rollout list
  assay rollout advance new-ranker
  assay rollout advance new-ranker --skip --reason "the shadow run was made by hand"
  assay rollout approve new-ranker --reason "seen with support"
  assay rollout hold new-ranker --reason "holiday traffic"
  assay rollout resume new-ranker
  assay rollout rollback new-ranker --reason "latency doubled"
  assay rollout abandon new-ranker --reason "another way was chosen"
  assay rollout history new-ranker --format json
  assay rollout watch --all --once
  assay rollout watch new-ranker --every 5m
  assay rollout splits -o splits.json
"""
_FOOTER = """
A rollout goes from the offline gate to a shadow run, an A/B test and a ramp to all traffic, by the policy in
[rollout] of assay.toml as it was when the rollout was started. A repeated command changes nothing.

If ASSAY_SPLITS_FILE and ASSAY_SPLITS_KEY are set, every move also writes the signed file that services obey.
In a store with accounts, ASSAY_TOKEN says who acts.

exit codes: 0 done; 1 the step may not be left yet, or `watch` rolled back; 2 wrong use, or the state does not
allow it; 3 `watch` could not look at a rollout
"""


def _add_start_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "name", metavar="NAME", help="the name of the rollout, and of its flag where requests are served"
    )
    part.add_argument(
        "--experiment", required=True, metavar="ID", help="the experiment that justifies it, by id or name"
    )
    part.add_argument("--baseline", metavar="ID", help="the experiment of what is in production")
    part.add_argument(
        "--project",
        default=PROJECT_FILE,
        metavar="FILE",
        help="the project whose [rollout] is the policy (default: assay.toml)",
    )
    _add_reason(part, "why (default: the verdict of the gate)")
    _add_shared(part)


def _add_shared(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--actor", default="", metavar="NAME", help="who acts (default: ASSAY_ACTOR, or your user)"
    )
    add_store(part)
    add_format(part, FORMATS)


def _add_reason(part: argparse.ArgumentParser, purpose: str) -> None:
    part.add_argument("--reason", default="", metavar="TEXT", help=purpose)


def _add_move_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", help="the rollout")
    _add_reason(part, "why; it is kept in the record")
    _add_shared(part)


def _add_events(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--events",
        action="append",
        default=[],
        metavar="PATH",
        help="events, units or sums since the A/B test began, as `assay online ab` reads them; may be "
        "repeated (default: rollout.events of the policy)",
    )


def _add_advance_options(part: argparse.ArgumentParser) -> None:
    _add_move_options(part)
    _add_events(part)
    part.add_argument(
        "--skip",
        action="store_true",
        help="leave the step on purpose though something other than an approval is missing; needs --reason",
    )


def _add_read_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", help="the rollout")
    add_store(part)
    add_format(part, FORMATS)


def _add_status_options(part: argparse.ArgumentParser) -> None:
    _add_read_options(part)
    _add_events(part)


def _add_list_options(part: argparse.ArgumentParser) -> None:
    add_store(part)
    add_format(part, FORMATS)


def _add_watch_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("names", nargs="*", metavar="NAME", help="the rollouts that are watched")
    part.add_argument("--all", action="store_true", help="watch every rollout that has not ended")
    part.add_argument("--once", action="store_true", help="look once, as in a cron job (default: for ever)")
    part.add_argument(
        "--every", default="5m", metavar="TIME", help="the pause between looks: 30s, 5m, 2h (default: 5m)"
    )
    _add_events(part)
    _add_shared(part)


def _add_splits_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "-o", "--output", metavar="FILE", help="the file for services (default: ASSAY_SPLITS_FILE)"
    )
    add_store(part)
    add_format(part, FORMATS)


def _start(arguments: argparse.Namespace) -> int:
    status = start_rollout(
        StartRolloutRequest(
            name=arguments.name,
            experiment=arguments.experiment,
            baseline=arguments.baseline,
            project=arguments.project,
            reason=arguments.reason,
            actor=arguments.actor,
            store=arguments.store,
        )
    )
    return _show(status, arguments.format)


def _show(status: RolloutStatus, style: str) -> int:
    show_result(status, style, lambda chosen: render_status(status, chosen))
    for note in status.notes:
        print(f"warning: {note}", file=sys.stderr)
    if not status.is_changed:
        print(f"nothing changed: {describe_rollout(status.rollout)}", file=sys.stderr)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    request = RolloutRequest(name=arguments.name, events=arguments.events, store=arguments.store)
    return _show(read_status(request), arguments.format)


def _mover(action: str) -> Callable[[argparse.Namespace], int]:
    def run(arguments: argparse.Namespace) -> int:
        status = move_rollout(
            MoveRolloutRequest(
                name=arguments.name,
                action=action,
                reason=arguments.reason,
                is_skip=getattr(arguments, "skip", False),
                events=getattr(arguments, "events", ()),
                actor=arguments.actor,
                store=arguments.store,
            )
        )
        return _show(status, arguments.format)

    return run


def _history(arguments: argparse.Namespace) -> int:
    history = read_history(RolloutRequest(name=arguments.name, store=arguments.store))
    show_result(history, arguments.format, lambda style: render_history(history, style))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    result = list_rollouts(arguments.store)
    show_result(result, arguments.format, lambda style: render_rollouts(result.rollouts, style))
    return 0


def _watch(arguments: argparse.Namespace) -> int:
    if bool(arguments.names) == arguments.all:
        raise InputError("expected the names of rollouts, or --all")
    request = WatchRolloutsRequest(
        names=arguments.names, events=arguments.events, actor=arguments.actor, store=arguments.store
    )
    seconds = parse_pause(arguments.every)
    if arguments.once:
        result = watch_rollouts(request)
        show_result(result, arguments.format, lambda style: render_watch(result, style))
        _print_notes(result)
        return result.exit_code
    _watch_until_signal(request, seconds)
    return 0


def _watch_until_signal(request: WatchRolloutsRequest, seconds: float) -> None:
    """Look until SIGTERM or SIGINT; a look that has begun is finished."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    watch_for_ever(request, _report, lambda: not stop.wait(seconds))


def _report(result: WatchPass) -> None:
    for line in describe_watched(result):
        show(line)
    _print_notes(result)


def _print_notes(result: WatchPass) -> None:
    for note in result.notes:
        print(f"warning: {note}", file=sys.stderr)


def _splits(arguments: argparse.Namespace) -> int:
    published = publish_splits(SplitsRequest(path=arguments.output, store=arguments.store))
    show_result(published, arguments.format, lambda style: render_splits(published.served, style))
    if not published.path:
        print("nothing was written: name a file with -o, or in ASSAY_SPLITS_FILE", file=sys.stderr)
    return 0


_SUBCOMMANDS = {
    "start": Subcommand(_start, _add_start_options, "start a rollout from an experiment"),
    "status": Subcommand(_status, _add_status_options, "where it is, why, and what would move it on"),
    "list": Subcommand(_list, _add_list_options, "every rollout"),
    "advance": Subcommand(
        _mover("advance"), _add_advance_options, "go to the next step, if the policy allows it"
    ),
    "approve": Subcommand(_mover("approve"), _add_move_options, "approve the next step"),
    "hold": Subcommand(_mover("hold"), _add_move_options, "stop at this step"),
    "resume": Subcommand(_mover("resume"), _add_move_options, "go on after a hold"),
    "rollback": Subcommand(_mover("rollback"), _add_move_options, "give all traffic the baseline again"),
    "abandon": Subcommand(_mover("abandon"), _add_move_options, "end it without a release"),
    "history": Subcommand(
        _history, _add_read_options, "every move, the offline result that justified it, and whether it held"
    ),
    "watch": Subcommand(_watch, _add_watch_options, "look at new data and act as the policies allow"),
    "splits": Subcommand(_splits, _add_splits_options, "write the signed file that services obey"),
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    description = "Release a change step by step, by a policy, and roll it back."
    result = make_parser("rollout", description, f"examples:\n{_EXAMPLES}{_FOOTER}")
    add_subcommands(result, _SUBCOMMANDS, _EXAMPLES)
    return result


command = run_subcommand
