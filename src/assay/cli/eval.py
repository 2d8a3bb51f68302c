"""assay eval: score runs against judgments."""

from __future__ import annotations

import argparse

from assay.cli import print_notes
from assay.cli.inputs import add_inputs, add_score_order, scoring_options
from assay.cli.output import show_result
from assay.cli.parsers import (
    add_config,
    add_format,
    add_intervals,
    add_measures,
    add_qrels,
    add_two_labels,
    make_parser,
)
from assay.cli.progress import watch_run
from assay.cli.saving import add_saving, save_recordings, save_request
from assay.core.errors import InputError
from assay.evaluation.query_weights import POPULATIONS
from assay.views.evaluation import FORMATS, PageDetails, render_evaluations
from assay.views.notes import evaluation_notes, worst_query_notes
from assay.workflows.evaluate import DEFAULT_MEASURES, EvaluateRequest, evaluate

_EXAMPLES = """examples:
  assay eval qrels.txt run.txt
  assay eval qrels.txt bm25.run dense.run -m nDCG@10 -m R@100 -m 'Robustness(delta=0.3)@10'
  assay eval beir-folder run.txt --by category --by frequency
  assay eval qrels.csv run.parquet --columns query_id=qid --columns doc_id=article
  assay eval qrels.txt run.txt.gz --per-query --format csv > scores.csv
  zcat run.gz | assay eval qrels.txt -
  assay eval sampled.qrels run.txt --queries sample/queries.jsonl --pool pool.jsonl -m nDCG@10
  assay eval --human human.qrels --model model.qrels run.txt -m nDCG@10
  assay eval qrels.txt run.txt --save hnsw-ef64 --config index.toml --param index.ef=64 --tag nightly

measures: `P R RCap F Success RR AP gmAP nDCG DCG Rprec bpref infAP ERR RBP RBPResidual IPrec 11pt
  Judged ZeroHit Robustness Quantile`, with parameters and cutoffs: P(rel=2)@10, nDCG(gain='exp')@10,
  Robustness(delta=0.3)@10 or Robustness-0.3@10, Quantile(R@10, 0.05).

exit codes: 0 success; 2 wrong use or bad input; 3 nothing to score (no query in common)
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser(
        "eval", "Score runs against judgments: per query, per slice, with intervals.", _EXAMPLES
    )
    add_qrels(options)
    options.add_argument(
        "runs", metavar="RUN", nargs="*", help="the results of a search; - is standard input"
    )
    add_measures(options, DEFAULT_MEASURES)
    add_inputs(options)
    add_score_order(options)
    options.add_argument("--per-query", action="store_true", help="show the score of each query")
    add_format(options, FORMATS)
    options.add_argument(
        "--only-common", action="store_true", help="leave out judged queries that are missing from the run"
    )
    options.add_argument(
        "--unjudged",
        action="store_true",
        help="also show each score if all unjudged documents were irrelevant, and if all were relevant",
    )
    _add_weights(options)
    add_intervals(options)
    add_two_labels(options)
    add_config(options)
    add_saving(options)
    options.add_argument(
        "--worst", type=int, default=3, metavar="N", help="how many of the worst queries to name (default: 3)"
    )
    return options


def _add_weights(options: argparse.ArgumentParser) -> None:
    """Add the options that say how queries and pairs were sampled."""
    options.add_argument(
        "--pool",
        metavar="FILE",
        help="the pool of the judgments with inclusion_probability (assay dataset pool): measures are "
        "weighted by it; the qrels file itself, if it has the column",
    )
    options.add_argument(
        "--population",
        choices=POPULATIONS,
        default="queries",
        help="with a column inclusion_probability in the query table, the means of all different queries "
        "(queries), of all issued ones (traffic, which needs a frequency), or of all judged queries equally "
        "(judged) (default: queries)",
    )


def command(arguments: argparse.Namespace) -> None:
    """Score the runs and print the result."""
    if arguments.human or arguments.model:
        from assay.cli.label_estimates import show_label_estimates  # loads Polars

        show_label_estimates(arguments, [arguments.qrels, *arguments.runs], DEFAULT_MEASURES)
        return
    if not arguments.runs:
        raise InputError("expected one RUN or more after QRELS, found none")
    _show_scores(arguments)


def _show_scores(arguments: argparse.Namespace) -> None:
    """Score the runs against one set of judgments, and print the result."""
    saving = save_request(arguments, run_count=len(arguments.runs))
    request = EvaluateRequest(
        measures=arguments.measure or DEFAULT_MEASURES,
        only_common=arguments.only_common,
        unjudged=arguments.unjudged,
        per_query=arguments.per_query,
        worst=arguments.worst,
        population=arguments.population,
        pool=arguments.pool,
        **scoring_options(arguments, arguments.runs, saving is not None),
    )
    result = evaluate(request, watch_run)
    show_result(
        result,
        arguments.format,
        lambda style: render_evaluations(
            result.evaluations,
            style,
            request.per_query,
            PageDetails(result.tables.texts(), request.worst, result.digests, result.tables.derived_texts),
        ),
    )
    save_recordings(saving, result.recordings)
    is_listing = arguments.format == "csv" or (request.per_query and arguments.format != "json")
    notes = evaluation_notes(result.evaluations, result.tables.qrels, with_counts=is_listing)
    if arguments.format == "table":
        notes += worst_query_notes(result.evaluations, result.tables.texts(), request.worst)
        notes += ["every query: --per-query"] * (request.worst > 0 and not request.per_query)
    print_notes(notes, is_after_table=arguments.format == "table")
