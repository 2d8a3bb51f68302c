"""assay experiments: list, show, follow, compare and watch recorded experiments."""

from __future__ import annotations

import argparse
import sys

from assay.cli import exchange
from assay.cli.output import show_result
from assay.cli.parsers import (
    Subcommand,
    add_format,
    add_store,
    add_subcommands,
    make_parser,
    run_subcommand,
)
from assay.evaluation.compare import DEFAULT_MARGIN
from assay.evaluation.trends import REFERENCES
from assay.stats.corrections import CORRECTIONS
from assay.stats.paired_tests import TESTS
from assay.views import FORMATS
from assay.views.compare import render_comparison
from assay.views.experiments import (
    render_differences,
    render_experiment,
    render_experiments,
    render_trend,
)
from assay.views.trends import describe_reason, describe_status
from assay.workflows.compare_experiments import CompareExperimentsRequest, compare_experiments
from assay.workflows.experiments import (
    DEFAULT_LIMIT,
    DeleteRequest,
    ExperimentChange,
    GarbageRequest,
    ListExperimentsRequest,
    NoteRequest,
    PinRequest,
    ShowExperimentsRequest,
    TagRequest,
    TrendRequest,
    WatchRequest,
    collect_garbage,
    delete_experiment,
    follow_trend,
    list_experiments,
    note_experiment,
    pin_experiment,
    show_experiments,
    tag_experiment,
    watch_experiments,
)

_EXAMPLES = """examples:
  assay experiments list --where "metrics.nDCG@10 > 0.4 and params.index_type = 'hnsw'"
  assay experiments list --sort latency.p95_ms --column latency.p95_ms --column params.index.ef
  assay experiments show nightly
  assay experiments show nightly 7fk2m9qxwa
  assay experiments trend -m nDCG@10 --name nightly
  assay experiments compare main branch
  assay experiments watch -m nDCG@10 --name nightly --margin 0.01
  assay experiments note nightly "before the new tokenizer"
  assay experiments export experiments.csv
  assay experiments backup store.zip
  assay experiments restore store.zip copy
  assay experiments move 'postgresql://team@db/assay?tables=s3://bucket/tables'
  assay experiments gc

An experiment is named by its id, or by its name: the newest of that name. `assay experiments COMMAND --help`
shows the options of each. Other commands record experiments with --save.

exit codes: 0 done; 1 a regression (watch); 2 wrong use or bad input; 3 cannot be decided, or must not be
compared
"""
_OLD_REFERENCE = "regime"  # the name of `level` before version 0.2
_CHANGES = {"deleted": "deleted (undelete restores it)"}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    group = make_parser(
        "experiments", "Recorded experiments: what was measured, on which data, with which result.", _EXAMPLES
    )
    parsers = add_subcommands(group, SUBCOMMANDS | exchange.SUBCOMMANDS, _EXAMPLES)
    for name in SUBCOMMANDS:
        add_store(parsers[name])
    return group


command = run_subcommand


def _add_list_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--where", default="", metavar="FILTER", help="such as: metrics.nDCG@10 > 0.4 and params.top_k = 10"
    )
    part.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="experiments of this name; may be repeated",
    )
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        default=[],
        metavar="MEASURE",
        help="measure to show; may be repeated",
    )
    part.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="FIELD",
        help="value to show beside the measures: latency.KEY, figures.KEY or params.KEY; may be repeated "
        "(default: latency.p95_ms and figures.cost_per_1k_queries, if there are any)",
    )
    part.add_argument(
        "--sort",
        default="",
        metavar="FIELD",
        help="the best first, by a measure (high first), latency.KEY or figures.KEY (low first)",
    )
    part.add_argument("--reverse", action="store_true", help="with --sort, the worst first")
    part.add_argument(
        "--limit",
        type=_parse_positive,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"number of experiments (default: {DEFAULT_LIMIT})",
    )
    part.add_argument("--deleted", action="store_true", help="list deleted experiments")
    add_format(part, FORMATS)


def _list(arguments: argparse.Namespace) -> int:
    result = list_experiments(
        ListExperimentsRequest(
            where=arguments.where,
            names=arguments.name,
            measures=arguments.measure,
            columns=arguments.column,
            sort=arguments.sort,
            reverse=arguments.reverse,
            limit=arguments.limit,
            deleted=arguments.deleted,
            store=arguments.store,
        )
    )
    if result.has_more:
        which = "first" if arguments.sort else "newest"
        print(f"the {which} {arguments.limit} are shown; --limit shows more", file=sys.stderr)
    show_result(
        result,
        arguments.format,
        lambda style: render_experiments(result.experiments, style, result.fields),
    )
    return 0


def _parse_positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, found {text!r}")
    return int(text)


def _add_show_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "names",
        metavar="EXPERIMENT",
        nargs="+",
        help="name or id; of several, only differences are shown",
    )
    add_format(part, FORMATS)


def _show(arguments: argparse.Namespace) -> int:
    result = show_experiments(ShowExperimentsRequest(names=arguments.names, store=arguments.store))
    first, *others = result.experiments

    def render(style: str) -> str:
        if others:
            return render_differences(result.experiments, style)
        return render_experiment(first, style, result.datasets.get(first.id))

    show_result(result, arguments.format, render)
    return 0


def _add_trend_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "-m", "--measure", default="nDCG@10", metavar="MEASURE", help="measure to follow (default: nDCG@10)"
    )
    part.add_argument("--name", metavar="NAME", help="the system to follow")
    part.add_argument("--where", default="", metavar="FILTER", help="filter of the experiments to follow")
    part.add_argument("--by", default="", metavar="COLUMN=VALUE", help="one slice, such as category=faq")
    part.add_argument(
        "--limit", type=_parse_positive, metavar="N", help="only the newest N experiments (default: all)"
    )
    add_format(part, FORMATS)


def _trend(arguments: argparse.Namespace) -> int:
    names = ("measure", "name", "where", "by", "limit", "store")
    result = follow_trend(TrendRequest(**{name: getattr(arguments, name) for name in names}))
    show_result(result, arguments.format, lambda style: render_trend(result.trend, style))
    return 0


def _add_watch_options(part: argparse.ArgumentParser) -> None:
    _add_trend_options(part)
    part.add_argument(
        "--against",
        choices=(*REFERENCES, _OLD_REFERENCE),
        default=REFERENCES[0],
        metavar=f"{{{','.join(REFERENCES)}}}",
        help="compare with the level since the last change (default), the best experiment, or the one before",
    )
    part.add_argument(
        "--margin", type=float, default=0.0, metavar="X", help="a loss that does not matter (default: 0)"
    )


def _watch(arguments: argparse.Namespace) -> int:
    if arguments.against == _OLD_REFERENCE:
        print(
            f"warning: --against {_OLD_REFERENCE} is now --against {REFERENCES[0]}; "
            "the old name will be removed in the next version",
            file=sys.stderr,
        )
        arguments.against = REFERENCES[0]
    names = ("measure", "name", "where", "by", "limit", "store", "against", "margin")
    result = watch_experiments(WatchRequest(**{name: getattr(arguments, name) for name in names}))
    show_result(result, arguments.format, lambda style: render_trend(result.trend, style, result.status))
    if arguments.format != "table" and result.status:
        print(f"{result.status.state}: {describe_status(result.status)}", file=sys.stderr)
    return result.exit_code


def _add_compare_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("baseline", metavar="BASELINE", help="name or id of the experiment to compare with")
    part.add_argument("candidates", metavar="CANDIDATE", nargs="+", help="name or id of another experiment")
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        default=[],
        metavar="MEASURE",
        help="measure to compare by; may be repeated (default: all that both have)",
    )
    part.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="slice by a column of the stored queries; may be repeated",
    )
    part.add_argument("--anyway", action="store_true", help="compare even if they are not comparable")
    part.add_argument("--test", choices=tuple(TESTS), default="t", help="test of means (default: t)")
    part.add_argument(
        "--correction",
        choices=CORRECTIONS,
        default="holm",
        help="correction for multiple comparisons (default: holm)",
    )
    part.add_argument(
        "--margin",
        type=float,
        default=DEFAULT_MARGIN,
        metavar="X",
        help=f"smallest difference that matters (default: {DEFAULT_MARGIN})",
    )
    part.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    add_format(part, FORMATS)


def _compare(arguments: argparse.Namespace) -> int:
    names = ("baseline", "candidates", "by", "anyway", "test", "correction", "margin", "level", "store")
    options = {name: getattr(arguments, name) for name in names}
    result = compare_experiments(CompareExperimentsRequest(measures=arguments.measure, **options))
    if result.blocking:
        listed = "".join(f"\n  {text}" for text in dict.fromkeys(map(describe_reason, result.blocking)))
        print(f"warning: compared although they are not comparable:{listed}", file=sys.stderr)
    for text in dict.fromkeys(map(describe_reason, result.remarks)):
        print(f"note: {text}", file=sys.stderr)
    show_result(result, arguments.format, lambda style: render_comparison(result.comparisons, style))
    return 0


def _add_experiment(part: argparse.ArgumentParser) -> None:
    part.add_argument("experiment", metavar="EXPERIMENT", help="its name (the newest of it) or id")


def _add_note_options(part: argparse.ArgumentParser) -> None:
    _add_experiment(part)
    part.add_argument("text", metavar="TEXT", help="replaces the note that is there")


def _note(arguments: argparse.Namespace) -> int:
    request = NoteRequest(experiment=arguments.experiment, text=arguments.text, store=arguments.store)
    return _print_change(note_experiment(request))


def _add_tag_options(part: argparse.ArgumentParser) -> None:
    _add_experiment(part)
    part.add_argument("tags", metavar="TAG", nargs="+", help="tag to add")
    part.add_argument("--remove", action="store_true", help="remove the tags instead")


def _tag(arguments: argparse.Namespace) -> int:
    names = ("experiment", "tags", "remove", "store")
    return _print_change(tag_experiment(TagRequest(**{name: getattr(arguments, name) for name in names})))


def _pin(arguments: argparse.Namespace) -> int:
    pinned = arguments.action == "pin"
    request = PinRequest(experiment=arguments.experiment, pinned=pinned, store=arguments.store)
    return _print_change(pin_experiment(request))


def _delete(arguments: argparse.Namespace) -> int:
    restore = arguments.action == "undelete"
    request = DeleteRequest(experiment=arguments.experiment, restore=restore, store=arguments.store)
    return _print_change(delete_experiment(request))


def _print_change(result: ExperimentChange) -> int:
    change = _CHANGES.get(result.change, result.change)
    print(f"{change}: {result.name} ({result.id})", file=sys.stderr)
    return 0


def _add_gc_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--yes", action="store_true", help="remove them; without this, they are only counted")
    part.add_argument("--purge", action="store_true", help="also remove deleted experiments for good")
    part.add_argument(
        "--older",
        type=float,
        default=1.0,
        metavar="HOURS",
        help="keep younger tables: they may belong to an experiment that is being saved (default: 1)",
    )


def _gc(arguments: argparse.Namespace) -> int:
    names = ("yes", "purge", "older", "store")
    result = collect_garbage(GarbageRequest(**{name: getattr(arguments, name) for name in names}))
    prefix = "" if result.is_removed else "to be "
    if result.purged is not None:
        print(f"deleted experiments {prefix}removed for good: {result.purged:,}")
    print(f"unused tables {prefix}removed: {result.tables:,} ({result.size:,} bytes)")
    if not result.is_removed:
        print("nothing was removed; --yes removes it", file=sys.stderr)
    return 0


SUBCOMMANDS = {
    "list": Subcommand(_list, _add_list_options, "list experiments, the newest first"),
    "show": Subcommand(
        _show, _add_show_options, "show one experiment in full, or the differences between several"
    ),
    "trend": Subcommand(
        _trend, _add_trend_options, "show one measure over time, with breaks, changes and settings"
    ),
    "compare": Subcommand(
        _compare, _add_compare_options, "compare two experiments query by query, if comparable"
    ),
    "watch": Subcommand(_watch, _add_watch_options, "exit with 1 if the newest is a regression beyond noise"),
    "note": Subcommand(_note, _add_note_options, "write a note on an experiment"),
    "tag": Subcommand(_tag, _add_tag_options, "add tags to an experiment, or remove them"),
    "pin": Subcommand(_pin, _add_experiment, "keep an experiment from being deleted"),
    "unpin": Subcommand(_pin, _add_experiment, "allow an experiment to be deleted again"),
    "delete": Subcommand(_delete, _add_experiment, "hide an experiment from lists and trends"),
    "undelete": Subcommand(_delete, _add_experiment, "restore a deleted experiment, by its id"),
    "gc": Subcommand(
        _gc, _add_gc_options, "remove tables that no experiment refers to (a dry run without --yes)"
    ),
}
