"""assay rollout: release a change step by step, and roll it back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store, add_subcommands, make_parser, run_subcommand
from assay.rollout.status import RolloutStatus
from assay.views.rollouts import FORMATS, describe_rollout, render_history, render_status
from assay.workflows.rollouts import (
    MoveRolloutRequest,
    RolloutRequest,
    StartRolloutRequest,
    move_rollout,
    read_history,
    read_status,
    start_rollout,
)
from assay.workflows.settings import PROJECT_FILE

_EXAMPLES = """  assay rollout start new-ranker --experiment branch --baseline main
  assay rollout status new-ranker
  assay rollout advance new-ranker
  assay rollout advance new-ranker --skip --reason "the shadow run was made by hand"
  assay rollout hold new-ranker --reason "holiday traffic"
  assay rollout resume new-ranker
  assay rollout rollback new-ranker --reason "latency doubled"
  assay rollout history new-ranker --format json
"""
_FOOTER = """
A rollout goes from the offline gate to a shadow run, an A/B test and a ramp to all traffic, by the policy in
[rollout] of assay.toml as it was when the rollout was started. A repeated command changes nothing.

exit codes: 0 done; 1 the step may not be left yet; 2 wrong use, or the state does not allow it
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


def _add_advance_options(part: argparse.ArgumentParser) -> None:
    _add_move_options(part)
    part.add_argument(
        "--skip",
        action="store_true",
        help="leave the step on purpose though something is missing; needs --reason",
    )


def _add_read_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", help="the rollout")
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
    if not status.is_changed:
        print(f"nothing changed: {describe_rollout(status.rollout)}", file=sys.stderr)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    return _show(read_status(RolloutRequest(name=arguments.name, store=arguments.store)), arguments.format)


def _mover(action: str) -> Callable[[argparse.Namespace], int]:
    def run(arguments: argparse.Namespace) -> int:
        status = move_rollout(
            MoveRolloutRequest(
                name=arguments.name,
                action=action,
                reason=arguments.reason,
                is_skip=getattr(arguments, "skip", False),
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


_SUBCOMMANDS = {
    "start": Subcommand(_start, _add_start_options, "start a rollout from an experiment"),
    "status": Subcommand(_status, _add_read_options, "where it is, why, and what would move it on"),
    "advance": Subcommand(
        _mover("advance"), _add_advance_options, "go to the next step, if the policy allows it"
    ),
    "hold": Subcommand(_mover("hold"), _add_move_options, "stop at this step"),
    "resume": Subcommand(_mover("resume"), _add_move_options, "go on after a hold"),
    "rollback": Subcommand(_mover("rollback"), _add_move_options, "give all traffic the baseline again"),
    "abandon": Subcommand(_mover("abandon"), _add_move_options, "end it without a release"),
    "history": Subcommand(_history, _add_read_options, "every move, with its evidence"),
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    description = "Release a change step by step, by a policy, and roll it back."
    result = make_parser("rollout", description, f"examples:\n{_EXAMPLES}{_FOOTER}")
    add_subcommands(result, _SUBCOMMANDS, _EXAMPLES)
    return result


command = run_subcommand
