"""assay online interleave: interleaved lists and their credit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from assay.cli import print_notes
from assay.cli.online.sources import add_columns, column_names
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_intervals, add_store
from assay.core.errors import InputError
from assay.core.online_records import INTERLEAVING
from assay.views.interleave import FORMATS, render_interleaving, render_list
from assay.workflows.interleave import (
    COLUMN_NAMES,
    METHODS,
    TEST_NAMES,
    BuildRequest,
    InterleaveRequest,
    InterleaveResult,
    analyse_interleaving,
    build_list,
)

if TYPE_CHECKING:
    from assay.workflows.online_saving import SaveOnlineRequest

EXAMPLES = """  assay online interleave events.ndjson
  assay online interleave events.ndjson --baseline main --candidate branch --test sign
  assay online interleave interleaved.ndjson --beside-ab ab_test.ndjson
  assay online interleave events.ndjson --save branch-interleaved --offline main branch
  assay online interleave credits.csv --format json
  assay online interleave build bm25.run lsa.run --query d-001 --user u1 --salt exp-1
"""
_BUILD = "build"
_UNDECIDED = 3


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "events",
        metavar="EVENTS",
        nargs="+",
        help="UBI logs with the team of each result (query_attributes.team_by_doc, or team or search_config "
        "of a hit), or a table `user, query, credits`; after the word build: two or more lists to interleave "
        "(runs, or files with a document id on each line)",
    )
    part.add_argument("--baseline", metavar="RANKER", help="the ranker to compare with (default: by name)")
    part.add_argument("--candidate", metavar="RANKER", help="the other ranker (default: all others)")
    part.add_argument(
        "--experiment", metavar="ID", help="the experiment_id, if the log has interleaved lists of several"
    )
    part.add_argument(
        "--test",
        choices=TEST_NAMES,
        help=f"the test of the preferences of users (default: {TEST_NAMES[0]}; t for probabilistic lists)",
    )
    part.add_argument(
        "--click-action",
        action="append",
        metavar="NAME",
        help="an event that counts as a click; may be repeated (default: click)",
    )
    part.add_argument(
        "--beside-ab",
        nargs="*",
        metavar="LOG",
        help="how many users an A/B test of the two rankers needs for the same power, from the log of one, "
        "or from the same log if none is given",
    )
    add_columns(part)
    part.add_argument(
        "--problems", metavar="FILE", help="write the place of everything that is not credited (CSV)"
    )
    _add_build_options(part)
    _add_saving(part)
    add_intervals(part)
    add_format(part, FORMATS)


def _add_build_options(part: argparse.ArgumentParser) -> None:
    group = part.add_argument_group("options of build")
    group.add_argument(
        "--method", choices=[*METHODS], default="team-draft", help="how to interleave (default: team-draft)"
    )
    group.add_argument("-k", "--length", type=int, default=10, metavar="K", help="documents (default: 10)")
    group.add_argument("--salt", default="", metavar="TEXT", help="the experiment: another salt, other lists")
    group.add_argument("--query", metavar="QUERY", help="the query of the runs (default: their first)")
    group.add_argument("--user", default="", metavar="USER", help="the user who sees the list")
    group.add_argument(
        "--name", action="append", default=[], metavar="RANKER", help="the name of each list, in their order"
    )


def _add_saving(part: argparse.ArgumentParser) -> None:
    group = part.add_argument_group("recording")
    group.add_argument("--save", metavar="NAME", help="keep the result in the store under this name")
    group.add_argument(
        "--offline",
        nargs=2,
        default=[],
        metavar=("BASELINE", "CANDIDATE"),
        help="the experiments of the two rankers, to see later whether they predicted the result",
    )
    add_store(group)


def _interleave(arguments: argparse.Namespace) -> int:
    if arguments.events[0] == _BUILD:
        return _build(arguments)
    saving = _save_request(arguments)
    result = analyse_interleaving(
        InterleaveRequest(
            events=arguments.events,
            columns=column_names(arguments.column, COLUMN_NAMES),
            baseline=arguments.baseline,
            candidate=arguments.candidate,
            experiment=arguments.experiment,
            click_actions=arguments.click_action or ("click",),
            test=arguments.test,
            beside_ab=arguments.beside_ab,
            problems_output=arguments.problems,
            level=arguments.level,
            seed=arguments.seed,
        )
    )
    show_result(result, arguments.format, lambda style: render_interleaving(result, style))
    if saving is not None:
        _save(result, saving)
    return 0 if result.is_decidable else _UNDECIDED


def _save_request(arguments: argparse.Namespace) -> SaveOnlineRequest | None:
    """Return what the options say to keep; what could not be saved is refused before anything is read."""
    if arguments.save is None:
        if arguments.offline:
            raise InputError("--offline expects --save NAME: it links the saved result to experiments")
        return None
    from assay.workflows.online_saving import SaveOnlineRequest, check_online_saving  # loads the store

    request = SaveOnlineRequest(name=arguments.save, offline=arguments.offline, store=arguments.store)
    check_online_saving(request)
    return request


def _save(result: InterleaveResult, request: SaveOnlineRequest) -> None:
    from assay.workflows.online_saving import save_online

    saved = save_online(INTERLEAVING, result.to_dict(), request)
    print_notes([f"saved {saved.name} as {saved.id} in {saved.store}"])


def _build(arguments: argparse.Namespace) -> int:
    shown = build_list(
        BuildRequest(
            lists=arguments.events[1:],
            names=arguments.name,
            method=arguments.method,
            length=arguments.length,
            salt=arguments.salt,
            query=arguments.query,
            user=arguments.user,
        )
    )
    show_result(shown, arguments.format, lambda style: render_list(shown, style))
    return 0


SUBCOMMANDS = {
    "interleave": Subcommand(
        _interleave,
        _add_options,
        "which ranker users prefer, from clicks on interleaved lists; build such a list",
    )
}
