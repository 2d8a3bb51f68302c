"""assay judge: projects in which people judge pairs: create, work, status, import, export."""

from __future__ import annotations

import argparse
import shlex
import sys

from assay.cli.judge.keys import open_keys
from assay.cli.judge.rating import Rating, stop_rating
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.datasets.judgment_files import JUDGMENT_FORMATS
from assay.judging.annotation.assignments import CLOSED, PAUSED
from assay.views import FORMATS
from assay.views.annotation import render_import, render_progress, render_project, render_projects
from assay.workflows.annotation import (
    CreateProjectRequest,
    ListProjectsRequest,
    ProjectRequest,
    RaterRequest,
    close_project,
    create_project,
    list_projects,
    progress,
    reopen_project,
    resume_rater,
)
from assay.workflows.annotation_exchange import (
    ExportLabelsRequest,
    ImportLabelsRequest,
    export_labels,
    import_project_labels,
)

EXAMPLES = """  assay judge create shop --pairs shop/ --grades "0 no" "1 partly" "2 yes" --per-pair 3
  assay judge create shop --pairs pool.csv --queries q.jsonl --documents docs.jsonl --grades "0 no" "1 yes"
  assay judge create shop --pairs shop/ --grades "0 no" "1 yes" --guidelines rules.md --gold gold.csv
  assay judge work shop --rater ann
  assay judge status shop
  assay judge import shop labels.csv book.json
  assay judge export shop -o labels.csv
  assay judge projects
  assay judge resume shop --rater bob
  assay judge close shop
"""


def _add_create_options(part: argparse.ArgumentParser) -> None:
    _add_name(part)
    part.add_argument(
        "--pairs",
        required=True,
        metavar="FILE",
        help="the pairs to judge: a pool, qrels, a run, a folder or dataset:NAME; grades, ranks, scores and "
        "names of systems are not shown",
    )
    part.add_argument("--queries", metavar="FILE", help="the queries, if the pairs have none beside them")
    part.add_argument("--documents", metavar="FILE", help="the documents, if the pairs have none beside them")
    part.add_argument(
        "--grades",
        required=True,
        nargs="+",
        metavar="GRADE",
        help='the grades, each a number and a name, such as "0 irrelevant" "1 relevant"',
    )
    part.add_argument(
        "--per-pair", type=int, default=2, metavar="N", help="judgments of each pair (default: 2)"
    )
    part.add_argument("--guidelines", metavar="FILE", help="what raters are to read, as text")
    part.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="COLUMN",
        help="another column of the documents to show besides title and text; may be repeated",
    )
    part.add_argument(
        "--depth", type=int, default=10, metavar="K", help="documents of each query of a run (default: 10)"
    )
    part.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the order of the pairs (default: 0)"
    )
    part.add_argument("--note", default="", metavar="TEXT", help="a note")
    _add_rules(part)
    add_store(part)
    add_format(part, FORMATS)


def _add_rules(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--lease",
        type=float,
        default=30.0,
        metavar="MINUTES",
        help="how long a pair that was shown and not judged is held for its rater (default: 30)",
    )
    _add_gold(part)


def _add_gold(part: argparse.ArgumentParser) -> None:
    part.add_argument("--gold", metavar="FILE", help="pairs with known grades: the gold questions")
    part.add_argument(
        "--training",
        type=int,
        default=0,
        metavar="N",
        help="so many gold pairs come first, show the known grade after the label and do not count",
    )
    part.add_argument(
        "--gold-every",
        type=int,
        default=10,
        metavar="N",
        help="one gold question among so many (default: 10)",
    )
    part.add_argument(
        "--gold-accuracy",
        type=float,
        default=0.7,
        metavar="SHARE",
        help="a rater with a smaller share of right answers to gold questions is paused (default: 0.7)",
    )
    part.add_argument(
        "--gold-least",
        type=int,
        default=5,
        metavar="N",
        help="answers to gold questions before a rater can be paused (default: 5)",
    )
    part.add_argument(
        "--gold-tolerance",
        type=float,
        default=0.0,
        metavar="D",
        help="how far from the known grade a right answer may be (default: 0)",
    )


def _add_name(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", help="the name of the project")


def _create(arguments: argparse.Namespace) -> int:
    created = create_project(
        CreateProjectRequest(
            name=arguments.name,
            pairs=arguments.pairs,
            grades=arguments.grades,
            queries=arguments.queries,
            documents=arguments.documents,
            per_pair=arguments.per_pair,
            guidelines=arguments.guidelines,
            gold=arguments.gold,
            training=arguments.training,
            seed=arguments.seed,
            depth=arguments.depth,
            fields=arguments.field,
            lease_minutes=arguments.lease,
            gold_every=arguments.gold_every,
            gold_accuracy=arguments.gold_accuracy,
            gold_least=arguments.gold_least,
            gold_tolerance=arguments.gold_tolerance,
            note=arguments.note,
            store=arguments.store,
        )
    )
    show_result(created, arguments.format, lambda style: render_project(created.project, style))
    store = f" --store {shlex.quote(arguments.store)}" if arguments.store else ""
    name = shlex.quote(created.project.name)
    print(f"raters begin with: assay judge work {name} --rater NAME{store}", file=sys.stderr)
    return 0


def _add_work_options(part: argparse.ArgumentParser) -> None:
    _add_name(part)
    _add_rater(part)
    add_store(part)


def _add_rater(part: argparse.ArgumentParser) -> None:
    part.add_argument("--rater", required=True, metavar="WHO", help="the name of the rater")


def _work(arguments: argparse.Namespace) -> int:
    request = _rater_request(arguments)
    with open_keys() as keys:
        rating = Rating(request, keys, is_terminal=sys.stdout.isatty())
        try:
            reason = rating.run()
        except (KeyboardInterrupt, SystemExit):
            stop_rating(request)
            raise
    return 2 if reason in (PAUSED, CLOSED) else 0


def _rater_request(arguments: argparse.Namespace) -> RaterRequest:
    return RaterRequest(name=arguments.name, rater=arguments.rater, store=arguments.store)


def _add_project_options(part: argparse.ArgumentParser) -> None:
    _add_name(part)
    add_store(part)
    add_format(part, FORMATS)


def _status(arguments: argparse.Namespace) -> int:
    result = progress(ProjectRequest(name=arguments.name, store=arguments.store))
    show_result(result, arguments.format, lambda style: render_progress(result, style))
    return 0


def _add_list_options(part: argparse.ArgumentParser) -> None:
    add_store(part)
    add_format(part, FORMATS)


def _list(arguments: argparse.Namespace) -> int:
    result = list_projects(ListProjectsRequest(store=arguments.store))
    show_result(result, arguments.format, lambda style: render_projects(result.projects, style))
    return 0


def _add_import_options(part: argparse.ArgumentParser) -> None:
    _add_name(part)
    part.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="labels made elsewhere: CSV, JSONL, a Quepid book, Argilla, Label Studio …; WHO=FILE names the "
        "rater of a file that names none",
    )
    part.add_argument(
        "--columns", action="append", default=[], metavar="NAME=COLUMN", help="a column of the files"
    )
    part.add_argument(
        "--label", action="append", default=[], metavar="TEXT=GRADE", help="the grade of a text in the files"
    )
    add_store(part)
    add_format(part, FORMATS)


def _import(arguments: argparse.Namespace) -> int:
    request = ImportLabelsRequest(
        name=arguments.name,
        files=arguments.files,
        columns=arguments.columns,
        labels=arguments.label,
        store=arguments.store,
    )
    result = import_project_labels(request)
    show_result(result, arguments.format, lambda style: render_import(result, arguments.name, style))
    return 0


def _add_export_options(part: argparse.ArgumentParser) -> None:
    _add_name(part)
    part.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    part.add_argument(
        "--format", choices=tuple(JUDGMENT_FORMATS), help="the format (default: by the name of the file)"
    )
    add_store(part)


def _export(arguments: argparse.Namespace) -> int:
    written = export_labels(
        ExportLabelsRequest(
            name=arguments.name, target=arguments.output, format=arguments.format, store=arguments.store
        )
    )
    counts = ((written.labels, "label"), (written.pairs, "pair"), (written.raters, "rater"))
    labels, pairs, raters = (f"{n:,} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
    print(f"{labels} of {pairs} by {raters} written to {written.target}", file=sys.stderr)
    return 0


def _add_close_options(part: argparse.ArgumentParser) -> None:
    _add_name(part)
    part.add_argument("--reopen", action="store_true", help="open a closed project again")
    add_store(part)
    add_format(part, FORMATS)


def _close(arguments: argparse.Namespace) -> int:
    change = reopen_project if arguments.reopen else close_project
    result = change(ProjectRequest(name=arguments.name, store=arguments.store))
    show_result(result, arguments.format, lambda style: render_progress(result, style))
    return 0


def _resume(arguments: argparse.Namespace) -> int:
    resume_rater(_rater_request(arguments))
    print(f"{arguments.rater} may go on; later answers to gold questions count", file=sys.stderr)
    return 0


SUBCOMMANDS = {
    "create": Subcommand(_create, _add_create_options, "create a project in which people judge pairs"),
    "work": Subcommand(_work, _add_work_options, "judge the pairs of a project, one key for each grade"),
    "status": Subcommand(
        _status, _add_project_options, "show how far a project is, and what each rater has done"
    ),
    "projects": Subcommand(_list, _add_list_options, "list the projects in which people judge pairs"),
    "import": Subcommand(_import, _add_import_options, "add labels made elsewhere to a project"),
    "export": Subcommand(_export, _add_export_options, "write the labels of a project to a file"),
    "close": Subcommand(_close, _add_close_options, "close a project, or open it again"),
    "resume": Subcommand(_resume, _add_work_options, "let a rater go on who was paused"),
}
