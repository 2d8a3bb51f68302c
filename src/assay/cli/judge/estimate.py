"""assay judge estimate: measures from few human labels and many model labels."""

from __future__ import annotations

import argparse

from assay.cli.inputs import add_inputs, add_score_order, score_order, table_files
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_intervals, add_slices
from assay.cli.progress import watch_run
from assay.evaluation.query_weights import POPULATIONS
from assay.views.estimate import FORMATS, render_estimates
from assay.workflows.estimate import UNITS, EstimateRequest, estimate

EXAMPLES = """  assay judge estimate model.qrels --human human.qrels
  assay judge estimate model.qrels --human human.qrels -m grade -m 'relevant(rel=2)'
  assay judge estimate model.qrels --human human.qrels run.txt -m nDCG@10
  assay judge estimate model.qrels --human human.qrels main.run branch.run -m nDCG@10 -m P@10
  assay judge estimate model.qrels --human human.qrels run.txt --queries queries.csv --by category
  assay judge estimate model.qrels --human human.qrels --pairs pool.csv --next 50 -o next.csv
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("qrels", metavar="QRELS_MODEL", help="the labels of a model, of many pairs")
    part.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        help="runs to score; without any, the pairs themselves are estimated",
    )
    part.add_argument(
        "--human",
        required=True,
        metavar="QRELS",
        help="the labels of people, of a sample of the queries or pairs",
    )
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        default=[],
        metavar="MEASURE",
        help="a measure of the runs (default: nDCG@10), or without runs grade and relevant(rel=1), the mean "
        "grade and the share of relevant pairs; may be repeated",
    )
    add_slices(part)
    add_inputs(part)
    add_score_order(part)
    add_estimate_options(part)
    add_intervals(part)
    add_format(part, FORMATS)


def add_estimate_options(part: argparse.ArgumentParser) -> None:
    """Add the options that say how the labels of people were drawn, and which to collect next."""
    part.add_argument(
        "--pairs",
        "--pool",
        metavar="POOL",
        help="a table query_id, doc_id, inclusion_probability: the chance of each labelled pair to be "
        "chosen; the file of the human labels may have this column, too",
    )
    part.add_argument(
        "--unit",
        choices=UNITS,
        default="auto",
        help="what was drawn at random: whole queries or single pairs (default: as the labels show)",
    )
    part.add_argument(
        "--population",
        choices=POPULATIONS,
        default="queries",
        help="with a column inclusion_probability in the query table: means of all different queries "
        "(queries), of all issued ones (traffic), or of all judged ones equally (judged) (default: queries)",
    )
    part.add_argument(
        "--fixed",
        action="store_true",
        help="estimate the mean of these queries or pairs only, not of others like them",
    )
    part.add_argument(
        "--next", type=int, default=10, metavar="N", help="how many pairs to name to label next (default: 10)"
    )
    part.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the pairs to label next, with the labelled ones and their probabilities (CSV or JSONL)",
    )


def _estimate(arguments: argparse.Namespace) -> int:
    result = estimate(
        EstimateRequest(
            files=table_files(arguments, arguments.runs),
            human=arguments.human,
            measures=arguments.measure,
            by=arguments.by,
            pairs=arguments.pairs,
            unit=arguments.unit,
            is_fixed=arguments.fixed,
            population=arguments.population,
            next_count=arguments.next,
            next_file=arguments.output,
            level=arguments.level,
            seed=arguments.seed,
            order=score_order(arguments),
        ),
        watch_run,
    )
    show_result(result, arguments.format, lambda style: render_estimates(result.estimates, style))
    return 0


SUBCOMMANDS = {
    "estimate": Subcommand(
        _estimate,
        _add_options,
        "estimate measures from few human labels and many model labels, with intervals",
    )
}
