"""assay judge: derive qrels from labels, and adjudicate where judges differ."""

from __future__ import annotations

import argparse
import sys

from assay.cli.judge.adjudicating import AdjudicatingPerson, parse_grades
from assay.cli.judge.judgment_options import add_judgment_options, add_judgments
from assay.cli.judge.keys import open_keys
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.errors import InputError
from assay.judging.aggregation import RULES, TIES, Rule
from assay.judging.aggregation.dawid_skene import SMOOTHING
from assay.views.labels import FORMATS, render_adjudication, render_qrels
from assay.workflows.adjudicate import (
    AdjudicateRequest,
    AdjudicationResult,
    AdjudicationSession,
    adjudicate,
)
from assay.workflows.derive_qrels import DeriveQrelsRequest, derive_qrels

EXAMPLES = """  assay judge qrels labels.csv --rule majority -o qrels.txt
  assay judge qrels labels.csv --rule dawid-skene -o qrels.txt --pairs posteriors.parquet
  assay judge qrels labels.csv decisions.jsonl --rule adjudicated --fallback majority -o qrels.txt
  assay judge qrels project:shop --rule mean --ties lower -o qrels.txt --recipe labels.json
  assay judge adjudicate labels.csv --queries queries.jsonl --documents docs.jsonl
  assay judge adjudicate labels.csv --by dee -o decisions.jsonl --qrels qrels.txt
  assay judge adjudicate labels.csv --by dee -o decisions.jsonl --decisions decided.csv
"""


def _add_qrels_options(part: argparse.ArgumentParser) -> None:
    add_judgments(part)
    part.add_argument(
        "--rule",
        choices=list(RULES),
        default="majority",
        help="how the grades of a pair become one: "
        + "; ".join(f"{name}: {meaning}" for name, meaning in RULES.items())
        + " (default: majority)",
    )
    part.add_argument(
        "--ties",
        choices=list(TIES),
        default="",
        help="what a pair with tied votes gets, or how a half is rounded (default: random for majority, "
        "higher for mean and median)",
    )
    part.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of ties that are drawn (default: 0)"
    )
    _add_rule_options(part)
    part.add_argument("-o", "--output", metavar="FILE", help="write the qrels (TREC, CSV, JSONL, Parquet, …)")
    part.add_argument(
        "--pairs", metavar="FILE", help="write each pair with its grade, confidence and probabilities"
    )
    part.add_argument(
        "--recipe",
        metavar="FILE",
        help="write the rule as JSON for `assay dataset import --recipe` (default: beside the qrels, "
        "NAME.recipe.json)",
    )
    add_judgment_options(part)
    add_store(part)
    add_format(part, FORMATS)


def _add_rule_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--fallback",
        choices=[name for name in RULES if name != "adjudicated"],
        default="",
        help="with --rule adjudicated: the rule of pairs that no adjudicator decided (default: no label)",
    )
    part.add_argument(
        "--adjudicator",
        action="append",
        default=[],
        metavar="JUDGE",
        dest="adjudicators",
        help="with --rule adjudicated: a judge whose grades win (default: those named 'adjudicator …'); may "
        "be repeated",
    )
    part.add_argument(
        "--smoothing",
        type=float,
        default=SMOOTHING,
        metavar="N",
        help="with --rule dawid-skene: labels added to each cell of the table of a judge "
        f"(default: {SMOOTHING})",
    )


def _derive(arguments: argparse.Namespace) -> int:
    result = derive_qrels(
        DeriveQrelsRequest(
            judgments=arguments.judgments,
            rule=Rule(
                arguments.rule,
                arguments.ties,
                arguments.seed,
                arguments.fallback,
                arguments.adjudicators,
                arguments.smoothing,
            ),
            output=arguments.output,
            pairs=arguments.pairs,
            recipe=arguments.recipe,
            columns=arguments.columns,
            labels=arguments.labels,
            file_format=arguments.file_format,
            store=arguments.store,
        )
    )
    show_result(result, arguments.format, lambda style: render_qrels(result.aggregation, style))
    for name, path in result.files.items():
        print(f"{name}: {path}", file=sys.stderr)
    return 0


def _add_adjudicate_options(part: argparse.ArgumentParser) -> None:
    add_judgments(part)
    part.add_argument(
        "--by",
        dest="adjudicator",
        metavar="NAME",
        help="who decides, key by key in the terminal (default: the disagreements are only listed)",
    )
    part.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where every decision is saved at once, as judgments of the judge 'adjudicator NAME' (.jsonl, "
        ".csv, .parquet); with decisions in it, the rest follows",
    )
    part.add_argument(
        "--decisions", metavar="FILE", help="take the decisions from a file: judgments of one judge, or qrels"
    )
    part.add_argument("--qrels", metavar="FILE", help="write the qrels that follow, and their recipe")
    part.add_argument(
        "--fallback",
        choices=["none", *(name for name in RULES if name != "adjudicated")],
        default="unanimous",
        help="the rule of the qrels for pairs without a decision (default: unanimous)",
    )
    _add_screen_options(part)
    add_judgment_options(part)
    add_store(part)
    add_format(part, FORMATS)


def _add_screen_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--queries", metavar="FILE", help="the texts of the queries")
    part.add_argument("--documents", metavar="FILE", help="the texts of the documents")
    part.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the order of the pairs (default: 0)"
    )
    part.add_argument(
        "--least-difference",
        type=float,
        default=0.0,
        metavar="D",
        help="only pairs whose highest and lowest grades are at least so far apart (default: all)",
    )
    part.add_argument(
        "--grades",
        metavar="G,G…",
        help="the grades that can be given (default: from the lowest to the highest label)",
    )
    part.add_argument(
        "--hide-grades", action="store_true", help="do not show the grades and notes of the judges"
    )
    part.add_argument(
        "--limit", type=int, default=20, metavar="N", help="disagreements to list (default: 20)"
    )


def _adjudicate(arguments: argparse.Namespace) -> int:
    if arguments.limit < 0:
        raise InputError(f"--limit must be 0 or more, found {arguments.limit}")
    opened = adjudicate(
        AdjudicateRequest(
            judgments=arguments.judgments,
            adjudicator=arguments.adjudicator,
            output=arguments.output,
            decisions=arguments.decisions,
            qrels=arguments.qrels,
            fallback="" if arguments.fallback == "none" else arguments.fallback,
            seed=arguments.seed,
            least_difference=arguments.least_difference,
            grades=parse_grades(arguments.grades) if arguments.grades else (),
            queries=arguments.queries,
            documents=arguments.documents,
            columns=arguments.columns,
            labels=arguments.labels,
            file_format=arguments.file_format,
            store=arguments.store,
        )
    )
    result = opened
    if isinstance(opened, AdjudicationSession):
        result = _work(opened, arguments.hide_grades)
    assert isinstance(result, AdjudicationResult)
    disputes, grades, counts = result.disputes.by_severity, result.grades, result.counts
    show_result(
        result,
        arguments.format,
        lambda style: render_adjudication(disputes, grades, counts, arguments.limit, style),
    )
    for name, path in result.files.items():
        print(f"{name}: {path}", file=sys.stderr)
    return 0


def _work(session: AdjudicationSession, is_blind: bool) -> AdjudicationResult:
    """Let the person decide; what was decided before Ctrl-C is saved."""
    with open_keys() as keys:
        try:
            AdjudicatingPerson(session, keys, is_blind).run()
        except (KeyboardInterrupt, SystemExit):
            count = session.adjudication.own_decisions
            noun = "decision is" if count == 1 else "decisions are"
            print(f"\n{count} {noun} saved in {session.path}; the same command goes on", file=sys.stderr)
            raise
    return session.finish()


SUBCOMMANDS = {
    "qrels": Subcommand(_derive, _add_qrels_options, "derive qrels from the labels of several judges"),
    "adjudicate": Subcommand(
        _adjudicate, _add_adjudicate_options, "decide the pairs on which judges differ, or list them"
    ),
}
