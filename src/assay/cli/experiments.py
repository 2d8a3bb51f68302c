"""assay experiments: what was tried, on which data, what it gave, and what broke it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from assay.cli import show, stores
from assay.cli.parsers import add_commands, add_format, add_store, make_parser
from assay.cli.stores import opened
from assay.core.errors import InputError, UndecidableError
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.core.trends import Trend
from assay.evaluation.compare import MARGIN, Comparisons, Options, compare_scores
from assay.evaluation.configuration import differing
from assay.measures import parse
from assay.stats.families import CORRECTIONS
from assay.stats.paired import TESTS
from assay.store.comparable import reasons
from assay.store.store import Store
from assay.store.trends import AGAINST, setup, trend, watch
from assay.views import FORMATS
from assay.views import experiments as views
from assay.views.compare import comparison

_EXAMPLES = """examples:
  assay experiments list --where "metrics.nDCG@10 > 0.4 and params.index_type = 'hnsw'"
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
shows the options of each. Experiments come from --save of the other commands.

exit codes: 0 done; 1 a regression (watch); 2 wrong use or bad input; 3 cannot be decided, or must not be
compared
"""
LIMIT = 20


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "experiments", "What was tried, on which data, what it gave, and what broke it.", _EXAMPLES
    )
    every = ACTIONS | stores.ACTIONS
    named = {name: what for name, (_, _, what) in every.items()}
    for name, part in zip(named, add_commands(made, named, _EXAMPLES), strict=True):
        if name in ACTIONS:
            add_store(part)
        every[name][1](part)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Do what was asked of the store; the result is the exit code."""
    if arguments.action in stores.ACTIONS:
        stores.ACTIONS[arguments.action][0](arguments)
        return 0
    with opened(arguments) as store:
        return ACTIONS[arguments.action][0](store, arguments)


def _list_options(part: argparse.ArgumentParser) -> None:
    _where(part)
    part.add_argument(
        "-m", "--measure", action="append", default=[], metavar="MEASURE", help="to show, may be repeated"
    )
    part.add_argument("--limit", type=_positive, default=LIMIT, metavar="N", help=f"(default: {LIMIT})")
    part.add_argument("--deleted", action="store_true", help="those that were deleted")
    add_format(part, FORMATS)


def _list(store: Store, arguments: argparse.Namespace) -> int:
    measures = [str(parse(text)) for text in arguments.measure]
    found = store.list(
        arguments.where,
        names=arguments.name,
        deleted=arguments.deleted,
        limit=arguments.limit + 1,
        metrics_of=measures or None,
    )
    if len(found) > arguments.limit:
        print(f"the newest {arguments.limit} are shown; --limit shows more", file=sys.stderr)
    show(views.listing(found[: arguments.limit], arguments.format, measures))
    return 0


def _where(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--where", default="", metavar="FILTER", help="such as: metrics.nDCG@10 > 0.4 and params.top_k = 10"
    )
    part.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="of this name, may be repeated"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, found {text!r}")
    return int(text)


def _show_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "names", metavar="EXPERIMENT", nargs="+", help="its name or id; of several, only what differs"
    )
    add_format(part, FORMATS)


def _show(store: Store, arguments: argparse.Namespace) -> int:
    found = [store.get(name) for name in arguments.names]
    one = len(found) == 1
    show(views.experiment(found[0], arguments.format) if one else views.differences(found, arguments.format))
    return 0


def _trend_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "-m", "--measure", default="nDCG@10", metavar="MEASURE", help="what to follow (default: nDCG@10)"
    )
    part.add_argument("--name", metavar="NAME", help="the system to follow")
    part.add_argument("--where", default="", metavar="FILTER", help="the experiments to follow")
    part.add_argument("--by", default="", metavar="COLUMN=VALUE", help="one slice, such as category=faq")
    part.add_argument("--limit", type=_positive, metavar="N", help="only the newest (default: all)")
    add_format(part, FORMATS)


def _trend(store: Store, arguments: argparse.Namespace) -> int:
    show(views.trend(_followed(store, arguments), arguments.format))
    return 0


def _followed(store: Store, arguments: argparse.Namespace) -> Trend:
    column, equals, value = arguments.by.partition("=")
    if bool(arguments.by) != bool(column and equals and value):
        raise InputError(f"--by expects a slice such as category=faq, found {arguments.by!r}")
    return trend(
        store,
        arguments.measure,
        column=column,
        value=value,
        name=arguments.name,
        where=arguments.where,
        limit=arguments.limit,
    )


def _watch_options(part: argparse.ArgumentParser) -> None:
    _trend_options(part)
    part.add_argument(
        "--against",
        choices=AGAINST,
        default="regime",
        help="the points since the last change (default), the best, or the point before",
    )
    part.add_argument(
        "--margin", type=float, default=0.0, metavar="X", help="a loss that does not matter (default: 0)"
    )


def _watch(store: Store, arguments: argparse.Namespace) -> int:
    made = _followed(store, arguments)
    names = dict.fromkeys(point.name for point in made.points)
    if len(names) > 1 and not arguments.name and not arguments.where:
        raise InputError(f"expected one system to watch, found {', '.join(names)}: say which with --name")
    status = watch(made, arguments.against, arguments.margin)
    show(views.trend(made, arguments.format, status))
    if arguments.format != "table":
        print(f"{status.state}: {status.text}", file=sys.stderr)
    return status.exit_code


def _compare_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("baseline", metavar="BASELINE", help="the name or id of the experiment to compare with")
    part.add_argument("candidate", metavar="CANDIDATE", help="the name or id of the other")
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        default=[],
        metavar="MEASURE",
        help="to compare by, may be repeated (default: all that both have)",
    )
    part.add_argument("--anyway", action="store_true", help="compare also what is not comparable")
    part.add_argument("--test", choices=tuple(TESTS), default="t", help="of means (default: t)")
    part.add_argument("--correction", choices=CORRECTIONS, default="holm", help="(default: holm)")
    part.add_argument(
        "--margin", type=float, default=MARGIN, metavar="X", help=f"what matters (default: {MARGIN})"
    )
    part.add_argument("--level", type=float, default=0.95, metavar="L", help="(default: 0.95)")
    add_format(part, FORMATS)


def _compare(store: Store, arguments: argparse.Namespace) -> int:
    a, b = store.get(arguments.baseline), store.get(arguments.candidate)
    if a.id == b.id:
        raise InputError(f"{arguments.baseline} and {arguments.candidate} are the same experiment, {a.id}")
    measures = [str(parse(text)) for text in arguments.measure]
    _check(a, b, measures, arguments.anyway)
    options = Options(arguments.test, arguments.correction, arguments.margin, arguments.level)
    show(comparison(_compared(store, a, b, measures, options), arguments.format))
    return 0


def _check(a: Experiment, b: Experiment, measures: list[str], anyway: bool) -> None:
    """Refuse what is not comparable, or warn of it."""
    asked: list[str | None] = [*measures] or [None]
    found = [reason for measure in asked for reason in reasons(a, b, measure)]
    said = list(dict.fromkeys(reason.text for reason in found if reason.blocks))
    listed = "".join(f"\n  {text}" for text in said)
    if said and not anyway:
        raise UndecidableError(
            f"{a.name} ({a.id}) and {b.name} ({b.id}) are not comparable:{listed}\n"
            "compare by what both have with -m, or all the same with --anyway"
        )
    if said:
        print(f"warning: compared although they are not comparable:{listed}", file=sys.stderr)
    for text in dict.fromkeys(reason.text for reason in found if not reason.blocks):
        print(f"note: {text}", file=sys.stderr)


def _compared(
    store: Store, a: Experiment, b: Experiment, measures: list[str], options: Options
) -> Comparisons:
    """The comparison of the scores that are kept of two experiments, with what differs in their settings."""
    names = [a.name, b.name] if a.name != b.name else [f"{e.name} ({e.id})" for e in (a, b)]
    before, after = (_scores(store, e, measures) for e in (a, b))
    made = compare_scores(before, {names[1]: after}, baseline_name=names[0], options=options)
    return replace(made, configuration=differing(dict(zip(names, map(setup, (a, b)), strict=True))))


def _scores(store: Store, e: Experiment, measures: list[str]) -> Scores:
    found = store.scores(e)
    if found is None:
        raise UndecidableError(
            f"{e.name} ({e.id}) was saved without the scores of its queries: only its means are known, "
            "and they cannot be paired"
        )
    missing = [name for name in measures if name not in found.values]
    if missing:
        raise UndecidableError(f"{e.name} ({e.id}) has no scores of {', '.join(missing)}")
    return Scores(found.query_ids, {name: found[name] for name in measures or found.values})


def _one(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="EXPERIMENT", help="its name (the newest of it) or id")


def _note_options(part: argparse.ArgumentParser) -> None:
    _one(part)
    part.add_argument("text", metavar="TEXT", help="in place of what was noted before")


def _note(store: Store, arguments: argparse.Namespace) -> int:
    return _said("noted", store.link(arguments.name, note=arguments.text))


def _tag_options(part: argparse.ArgumentParser) -> None:
    _one(part)
    part.add_argument("tags", metavar="TAG", nargs="+", help="to add")
    part.add_argument("--remove", action="store_true", help="remove them instead")


def _tag(store: Store, arguments: argparse.Namespace) -> int:
    if arguments.remove:
        return _said("untagged", store.link(arguments.name, drop_tags=arguments.tags))
    return _said("tagged", store.link(arguments.name, add_tags=arguments.tags))


def _pin(store: Store, arguments: argparse.Namespace) -> int:
    return _said("pinned", store.link(arguments.name, pinned=True))


def _unpin(store: Store, arguments: argparse.Namespace) -> int:
    return _said("unpinned", store.link(arguments.name, pinned=False))


def _delete(store: Store, arguments: argparse.Namespace) -> int:
    return _said("deleted (undelete brings it back)", store.drop(arguments.name))


def _undelete(store: Store, arguments: argparse.Namespace) -> int:
    return _said("back again", store.drop(arguments.name, restore=True))


def _said(what: str, e: Experiment) -> int:
    print(f"{what}: {e.name} ({e.id})", file=sys.stderr)
    return 0


def _gc_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--yes", action="store_true", help="do it; without this, only say what would go")
    part.add_argument("--purge", action="store_true", help="forget deleted experiments for good as well")
    part.add_argument(
        "--older",
        type=float,
        default=1.0,
        metavar="HOURS",
        help="leave younger tables: they may be of an experiment that is being saved (default: 1)",
    )


def _gc(store: Store, arguments: argparse.Namespace) -> int:
    older = timedelta(hours=arguments.older)
    done = "" if arguments.yes else "to be "
    if arguments.purge:
        count = store.purge() if arguments.yes else len(store.list(deleted=True))
        print(f"deleted experiments {done}forgotten: {count:,}")
    found = store.clean(older) if arguments.yes else store.garbage(older)
    size = sum(table.size for table in found)
    print(f"tables {done}removed that no experiment refers to: {len(found):,} ({size:,} bytes)")
    if not arguments.yes:
        print("nothing was done; --yes does it", file=sys.stderr)
    return 0


ACTIONS: dict[
    str,
    tuple[Callable[[Store, argparse.Namespace], int], Callable[[argparse.ArgumentParser], None], str],
] = {
    "list": (_list, _list_options, "experiments, the newest first"),
    "show": (_show, _show_options, "all of one experiment, or what differs between several"),
    "trend": (_trend, _trend_options, "one measure over time, with breaks, changes and what changed"),
    "compare": (_compare, _compare_options, "two experiments query by query, if they are comparable"),
    "watch": (_watch, _watch_options, "leave with 1 where the newest is a regression beyond noise"),
    "note": (_note, _note_options, "write a note on an experiment"),
    "tag": (_tag, _tag_options, "add tags to an experiment, or remove them"),
    "pin": (_pin, _one, "keep an experiment from being deleted"),
    "unpin": (_unpin, _one, "let an experiment be deleted again"),
    "delete": (_delete, _one, "take an experiment out of sight"),
    "undelete": (_undelete, _one, "bring a deleted experiment back, by its id"),
    "gc": (_gc, _gc_options, "remove the tables that no experiment refers to (a dry run without --yes)"),
}
