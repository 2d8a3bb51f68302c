"""assay eval: score runs against judgments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from assay.cli import show
from assay.cli.inputs import Inputs, add_inputs, configurations, watched
from assay.cli.parsers import add_config, add_format, add_intervals, add_measures, add_qrels, make_parser
from assay.cli.saving import add_saving, digested, save
from assay.core.errors import InputError
from assay.evaluation import DEFAULT_MEASURES, Evaluation, evaluate
from assay.views import FORMATS, counts, summary
from assay.views.text import shorten

_EXAMPLES = """examples:
  assay eval qrels.txt run.txt
  assay eval qrels.txt bm25.run dense.run -m nDCG@10 -m R@100 -m 'Robustness(delta=0.3)@10'
  assay eval beir-folder run.txt --by category --by frequency
  assay eval qrels.csv run.parquet --columns query_id=qid --columns doc_id=article
  assay eval qrels.txt run.txt.gz --per-query --format csv > scores.csv
  zcat run.gz | assay eval qrels.txt -
  assay eval qrels.txt run.txt --save hnsw-ef64 --config index.toml --tag nightly

measures: `P R RCap F Success RR AP gmAP nDCG DCG Rprec bpref infAP ERR RBP RBPResidual IPrec 11pt
  Judged ZeroHit Robustness Quantile`, with parameters and cutoffs: P(rel=2)@10, nDCG(gain='exp')@10,
  Robustness(delta=0.3)@10 or Robustness-0.3@10, Quantile(R@10, 0.05).

exit codes: 0 done; 2 wrong use or bad input; 3 nothing can be said (no query in common)
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "eval", "Score runs against judgments: per query, per slice, with intervals.", _EXAMPLES
    )
    add_qrels(made)
    made.add_argument("runs", metavar="RUN", nargs="+", help="what a search returned; - is standard input")
    add_measures(made, DEFAULT_MEASURES)
    add_inputs(made)
    made.add_argument("--per-query", action="store_true", help="show the score of each query")
    add_format(made, FORMATS)
    made.add_argument(
        "--only-common", action="store_true", help="leave out judged queries missing from the run"
    )
    made.add_argument(
        "--unjudged",
        action="store_true",
        help="show each score were the unjudged irrelevant, and were they relevant",
    )
    add_intervals(made)
    add_config(made)
    add_saving(made)
    made.add_argument(
        "--worst", type=int, default=3, metavar="N", help="how many of the worst queries to name (default: 3)"
    )
    return made


def command(arguments: argparse.Namespace) -> None:
    """Score the runs and print the result."""
    inputs = Inputs.of(arguments)
    _check(arguments)
    settings = configurations(arguments.config, [run.name for run in inputs.runs])
    runs = digested(arguments, inputs.runs)
    evaluations = [
        evaluate(
            inputs.qrels,
            run,
            arguments.measure or DEFAULT_MEASURES,
            inputs.queries,
            arguments.by,
            documents=inputs.documents,
            only_common=arguments.only_common,
            unjudged=arguments.unjudged,
            level=arguments.level,
            seed=arguments.seed,
        )
        for run in watched(runs)
    ]
    show(summary(evaluations, arguments.format, arguments.per_query))
    save(arguments, inputs, evaluations, runs, "eval", settings)
    said = notes(evaluations, inputs, arguments)
    if arguments.format == "table":
        said += hints(evaluations, inputs, arguments.worst)
        said += ["every query: --per-query"] * (arguments.worst > 0 and not arguments.per_query)
    if said:
        print("\n" * (arguments.format == "table") + "\n".join(said), file=sys.stderr)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.worst < 0:
        raise InputError(f"--worst must be 0 or more, found {arguments.worst}")


def notes(evaluations: Sequence[Evaluation], inputs: Inputs, arguments: argparse.Namespace) -> list[str]:
    """What a reader of the numbers must know and does not see in them."""
    said = []
    if arguments.format == "csv" or (arguments.per_query and arguments.format != "json"):
        said += [counts(e.name, e.counts) for e in evaluations]
    for e in evaluations:
        if not e.counts.judged_returned:
            said.append(
                f"warning: no document that {e.name} returned was ever judged; the qrels have ids such as "
                f"{', '.join(inputs.qrels.wanted.strings[:3])}: check that both use the same document ids"
            )
    return said


def hints(evaluations: Sequence[Evaluation], inputs: Inputs, most: int) -> list[str]:
    """The worst queries of each run."""
    said = []
    for e in evaluations if most else []:
        worst = e.worst(n=len(e.scores.query_ids))
        alike = [query for query, value in worst if value == worst[0][1]]
        if len(alike) > most:
            some = "; ".join(_query(query, inputs) for query in alike[:most])
            some = f"{len(alike)} queries at {worst[0][1]:.4f}, such as {some}"
        else:
            some = "; ".join(f"{_query(query, inputs)} {value:.4f}" for query, value in worst[:most])
        said += [f"worst by {e.measures[0]} in {e.name}: {some}"] * bool(worst)
    return said


def _query(query_id: str, inputs: Inputs) -> str:
    """A query with the beginning of its text."""
    short = shorten(inputs.texts().get(query_id, ""))
    return f"{query_id} “{short}”" if short else query_id
