"""assay judge agreement: how far raters agree, and where they do not."""

from __future__ import annotations

import argparse

from assay.cli import print_notes
from assay.cli.judge.judgment_options import add_judgment_options, add_judgments
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_intervals, add_slices, add_store
from assay.views.agreement import FORMATS, overlap_notes, render_agreement
from assay.workflows.agreement import DEFAULT_MEASURE, AgreementRequest, measure_agreement

EXAMPLES = """  assay judge agreement labels.csv
  assay judge agreement ann.qrels bob.qrels --disagreements 20 --queries queries.jsonl
  assay judge agreement human=qrels.txt model=labels.txt --by category --queries queries.jsonl
  assay judge agreement labels.csv --label 'not relevant=0' --label relevant=1
  assay judge agreement labels.csv --run bm25.run --run dense.run -m nDCG@10
"""
_UNDECIDED = 3


def _add_options(part: argparse.ArgumentParser) -> None:
    add_judgments(part)
    part.add_argument("--queries", metavar="FILE", help="the query table: texts, and columns to slice by")
    part.add_argument("--documents", metavar="FILE", help="the texts of the documents")
    add_slices(part)
    part.add_argument(
        "--disagreements",
        type=int,
        default=5,
        metavar="N",
        help="how many disagreements to list, the most severe first (default: 5)",
    )
    _add_run_options(part)
    add_judgment_options(part)
    add_intervals(part)
    add_store(part)
    add_format(part, FORMATS)


def _add_run_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="RUN",
        dest="runs",
        help="a run to score by the labels of each rater, to see whether the order of systems changes; "
        "repeat",
    )
    part.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="the name of a run, in the order of --run"
    )
    part.add_argument(
        "-m",
        "--measure",
        default=DEFAULT_MEASURE,
        metavar="MEASURE",
        help=f"the measure that orders the runs (default: {DEFAULT_MEASURE})",
    )


def _measure(arguments: argparse.Namespace) -> int:
    result = measure_agreement(
        AgreementRequest(
            judgments=arguments.judgments,
            columns=arguments.columns,
            labels=arguments.labels,
            file_format=arguments.file_format,
            queries=arguments.queries,
            documents=arguments.documents,
            by=arguments.by,
            runs=arguments.runs,
            names=arguments.name,
            measure=arguments.measure,
            disagreements=arguments.disagreements,
            level=arguments.level,
            seed=arguments.seed,
            store=arguments.store,
        )
    )
    show_result(result, arguments.format, lambda style: render_agreement(result.report, style))
    print_notes(overlap_notes(result.report), is_after_table=arguments.format == "table")
    return 0 if result.report.has_overlap else _UNDECIDED


SUBCOMMANDS = {
    "agreement": Subcommand(_measure, _add_options, "measure how far raters agree, and where they do not")
}
