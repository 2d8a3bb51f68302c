"""assay judge: derive qrels from labels, and adjudicate where judges differ."""

from __future__ import annotations

import argparse
import sys

from assay.cli.judge.judgment_options import add_judgment_options, add_judgments
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.judging.aggregation import RULES, TIES, Rule
from assay.judging.aggregation.dawid_skene import SMOOTHING
from assay.views.labels import FORMATS, render_qrels
from assay.workflows.derive_qrels import DeriveQrelsRequest, derive_qrels

EXAMPLES = """  assay judge qrels labels.csv --rule majority -o qrels.txt
  assay judge qrels labels.csv --rule dawid-skene -o qrels.txt --pairs posteriors.parquet
  assay judge qrels labels.csv decisions.jsonl --rule adjudicated --fallback majority -o qrels.txt
  assay judge qrels project:shop --rule mean --ties lower -o qrels.txt --recipe labels.json
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


SUBCOMMANDS = {
    "qrels": Subcommand(_derive, _add_qrels_options, "derive qrels from the labels of several judges"),
}
