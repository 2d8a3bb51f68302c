"""assay dataset: sample queries, pool the documents to judge, split an evaluation set."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from assay.cli.inputs import add_file_options, add_score_order, score_order
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.errors import InputError
from assay.judging.families import DEFAULT_SIMILARITY
from assay.judging.sampling import ALLOCATIONS
from assay.views import FORMATS
from assay.views.pools import render_pool
from assay.views.samples import render_plan, render_sample
from assay.views.splits import render_split
from assay.workflows import dataset_pool
from assay.workflows.dataset_pool import DEFAULT_DEPTH, DEFAULT_RATE, PoolRequest, PoolResult, pool_runs
from assay.workflows.dataset_sample import METHODS, PrecisionRequest, SampleRequest, sample_queries
from assay.workflows.dataset_split import SplitRequest, split_dataset
from assay.workflows.inputs import TableFiles

EXAMPLES = """  assay dataset sample log.csv -n 300 --method frequency -o sample/
  assay dataset sample queries.jsonl -n 200 --method stratified --by category --near-duplicates 0.7 -o sample/
  assay dataset sample log.csv -n 300 --method proportional --columns text=term -o sample/
  assay dataset sample queries.jsonl -n 50 --method hard --scores scores.csv -m nDCG@10 -o hard/
  assay dataset sample --plan --pilot scores.csv -m nDCG@10 --width 0.05 --difference 0.02
  assay dataset pool bm25.run dense.run --depth 10 --queries sample/queries.jsonl -o pool.jsonl
  assay dataset pool runs/*.run --depth 100 --method stratified --budget 2000 -o pool.jsonl
  assay dataset pool runs/*.run --depth 50 --method bandit --budget 200 --qrels labels.qrels -o next.jsonl
  assay dataset split folder/ --by family --shares 0.8 0.2 -o parts/
  assay dataset split dataset:shop --by time --shares 0.7 0.15 0.15 --seed 1 -o parts/
"""


def _add_sample_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "source",
        metavar="QUERIES",
        nargs="?",
        help="a query table, a folder with queries, dataset:NAME, or a log: one row for each issued query",
    )
    part.add_argument("-n", type=int, metavar="N", help="how many families of queries to draw")
    part.add_argument(
        "--method",
        default="uniform",
        metavar="METHOD",
        help="uniform: each family with the same probability; frequency: strata head, torso and tail; "
        "stratified: strata of --by; proportional: by frequency; hard: queries with low scores; "
        f"zero-results: queries without results (default: uniform; one of {', '.join(METHODS)})",
    )
    part.add_argument("--by", action="append", default=[], metavar="COLUMN", help="the column of the strata")
    part.add_argument(
        "--allocation", choices=ALLOCATIONS, default="equal", help="of N among strata (default: equal)"
    )
    part.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    part.add_argument("-o", "--output", metavar="FOLDER", help="the folder to write the sample to")
    _add_family_options(part)
    _add_hard_options(part)
    _add_precision_options(part)
    add_columns(part, "query_id, text, frequency, results or at")
    part.add_argument(
        "--from",
        dest="source_format",
        choices=("ubi",),
        help="QUERIES is a log of UBI events; JSON lines of them are recognised",
    )
    add_store(part)
    add_format(part, FORMATS)


def add_columns(part: argparse.ArgumentParser, names: str) -> None:
    """Add the option that names the columns of a file."""
    part.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help=f"which column is {names}; may be repeated",
    )


def _add_family_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--near-duplicates",
        type=float,
        default=DEFAULT_SIMILARITY,
        metavar="S",
        help="queries whose texts are this similar are one family: Jaccard similarity of three-character "
        f"shingles, or cosine with --encoder; 0: only equal texts (default: {DEFAULT_SIMILARITY})",
    )
    part.add_argument(
        "--encoder", metavar="KIND", help="find near-duplicates by embeddings: wordllama, model2vec, openai…"
    )
    part.add_argument(
        "--encoder-setting",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the encoder; may be repeated",
    )


def _add_hard_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--scores", metavar="FILE", help="hard: scores of queries, as `assay eval --per-query --format csv`"
    )
    part.add_argument(
        "--run",
        dest="run_file",  # `run` is the function of the subcommand
        metavar="FILE",
        help="hard: a run whose best score of a query is low; zero-results: a run that lacks the query",
    )
    part.add_argument(
        "--below", type=float, metavar="X", help="hard: the highest score (default: the lower quartile)"
    )


def _add_precision_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--plan", action="store_true", help="only say how many queries a precision needs")
    part.add_argument("--variance", type=float, metavar="V", help="of the scores of one system")
    part.add_argument("--pilot", metavar="FILE", help="scores of queries to take the variance from")
    part.add_argument(
        "-m", "--measure", metavar="MEASURE", help="the column of --pilot and --scores (default: the first)"
    )
    part.add_argument(
        "--width", type=float, action="append", metavar="W", help="a wanted width of the interval of a mean"
    )
    part.add_argument(
        "--difference", type=float, action="append", metavar="D", help="a difference to be detected"
    )
    part.add_argument("--level", type=float, default=0.95, metavar="L", help="(default: 0.95)")
    part.add_argument("--power", type=float, default=0.8, metavar="P", help="(default: 0.8)")


def _precision(arguments: argparse.Namespace) -> PrecisionRequest:
    targets: dict[str, Any] = {}
    if arguments.width or arguments.difference:
        targets = {"widths": arguments.width or (), "differences": arguments.difference or ()}
    return PrecisionRequest(
        variance=arguments.variance,
        pilot=arguments.pilot,
        measure=arguments.measure,
        level=arguments.level,
        power=arguments.power,
        **targets,
    )


def _sample(arguments: argparse.Namespace) -> int:
    precision = _precision(arguments)
    if arguments.plan:
        plan = precision.plan(arguments.n)
        show_result(plan, arguments.format, lambda style: render_plan(plan, style))
        return 0
    if arguments.source is None or arguments.n is None:
        raise InputError("expected QUERIES and -n N, or --plan to see how many queries are needed")
    result = sample_queries(_sample_request(arguments, precision))
    show_result(
        result,
        arguments.format,
        lambda style: render_sample(result.counts, result.population, result.strata, result.plan, style),
    )
    if problems := result.counts["problems"]:
        listing = f"assay judge clicks {arguments.source} --problems FILE"
        print(f"{problems:,} records of the log are irregular: {listing} lists them", file=sys.stderr)
    note = "nothing was written: -o FOLDER writes the sample" if result.folder is None else None
    print(note or f"{result.folder}: queries.jsonl, recipe.json", file=sys.stderr)
    return 0


def _sample_request(arguments: argparse.Namespace, precision: PrecisionRequest) -> SampleRequest:
    names = (
        "source",
        "n",
        "output",
        "method",
        "by",
        "allocation",
        "seed",
        "encoder",
        "scores",
        "below",
    )
    return SampleRequest(
        **{name: getattr(arguments, name) for name in names},
        run=arguments.run_file,
        near_duplicates=arguments.near_duplicates or None,
        encoder_settings={
            k: _json_or_text(v) for k, v in pairs(arguments.encoder_setting, "encoder-setting")
        },
        columns=dict(pairs(arguments.columns, "columns")),
        is_ubi=arguments.source_format == "ubi",
        store=arguments.store,
        precision=precision,
    )


def pairs(options: Sequence[str], name: str) -> list[tuple[str, str]]:
    """Return the names and values of options of the form NAME=VALUE.

    >>> pairs(["text=term"], "columns")
    [('text', 'term')]
    """
    parts = [option.partition("=") for option in options]
    wrong = next((option for option, part in zip(options, parts, strict=True) if not all(part)), None)
    if wrong is not None:
        raise InputError(f"--{name} expects NAME=VALUE, found {wrong!r}")
    return [(key, value) for key, _, value in parts]


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _add_pool_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "runs", metavar="RUN", nargs="+", help="the results of a search, or experiment:NAME of the store"
    )
    part.add_argument(
        "--depth",
        type=int,
        default=DEFAULT_DEPTH,
        metavar="K",
        help=f"the documents of each run that may be judged (default: {DEFAULT_DEPTH})",
    )
    part.add_argument("--queries", metavar="FILE", help="the queries to pool (default: all of the runs)")
    part.add_argument("--qrels", metavar="FILE", help="the labels that exist: these pairs are left out")
    part.add_argument(
        "--method",
        default="depth",
        metavar="METHOD",
        help="depth: all pairs; stratified: a random sample with known probabilities; move-to-front, bandit "
        "and difference: the next step, given the labels so far; difference asks what would change the "
        f"order of systems most (default: depth; one of {', '.join(dataset_pool.METHODS)})",
    )
    part.add_argument(
        "--budget", type=int, metavar="N", help="pairs to judge; with depth, the largest depth that it pays"
    )
    _add_pool_output_options(part)


def _add_pool_output_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("-o", "--output", metavar="FILE", help="the pool, .jsonl or .csv")
    part.add_argument("--with-ranks", action="store_true", help="write the rank in every run, too: not blind")
    part.add_argument("-k", "--cutoff", type=int, default=10, metavar="K", help="of Judged@k (default: 10)")
    part.add_argument(
        "--pairs-per-hour",
        type=float,
        default=DEFAULT_RATE,
        metavar="N",
        help=f"how many pairs are judged in an hour (default: {DEFAULT_RATE:g})",
    )
    part.add_argument(
        "--rel", type=int, default=1, metavar="G", help="the lowest relevant grade (default: 1)"
    )
    part.add_argument("--seed", type=int, default=0, metavar="N", help="of the order and draws (default: 0)")
    part.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="the name of a run, in order"
    )
    add_file_options(part)
    add_score_order(part)
    add_store(part)
    add_format(part, FORMATS)


def _pool(arguments: argparse.Namespace) -> int:
    names = ("qrels", "runs", "queries", "columns", "formats")
    files = TableFiles(**{name: getattr(arguments, name) for name in names}, names=arguments.name)
    options = ("depth", "method", "budget", "output", "with_ranks", "cutoff", "rel", "seed", "store")
    request = PoolRequest(
        files=files,
        rate=arguments.pairs_per_hour,
        order=score_order(arguments),
        **{name: getattr(arguments, name) for name in options},
    )
    result = pool_runs(request)
    show_result(result, arguments.format, lambda style: _render_pool(result, style))
    note = "nothing was written: -o FILE writes the pool"
    if result.output is not None:
        note = f"{result.output}: {len(result.pool.rows):,} pairs; {dataset_pool.recipe_path(result.output)}"
    print(note, file=sys.stderr)
    return 0


def _render_pool(result: PoolResult, style: str) -> str:
    return render_pool(
        result.method,
        result.recipe["counts"],
        result.recipe["depth"],
        result.hours,
        result.rate,
        result.cutoff,
        result.depths,
        result.runs,
        style,
    )


def _add_split_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("source", metavar="DATASET", help="qrels, a folder with queries, or dataset:NAME")
    part.add_argument("--queries", metavar="FILE", help="the queries, if DATASET has none")
    part.add_argument(
        "--by",
        required=True,
        metavar="COLUMN",
        help="family: families at random; time: earlier and later queries; or a column whose values stay "
        "together. Families are never divided",
    )
    part.add_argument(
        "--shares", type=float, nargs="+", required=True, metavar="S", help="of the parts, such as 0.8 0.2"
    )
    part.add_argument(
        "--names", nargs="+", default=[], metavar="NAME", help="of the parts (default: train and test)"
    )
    part.add_argument("--time-column", metavar="COLUMN", help="the times (default: at, timestamp, date…)")
    part.add_argument(
        "--slice",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column to count by; may be repeated (default: those with few values)",
    )
    part.add_argument(
        "--near-duplicates",
        type=float,
        default=DEFAULT_SIMILARITY,
        metavar="S",
        help=f"as in `dataset sample` (default: {DEFAULT_SIMILARITY})",
    )
    part.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    part.add_argument(
        "-o", "--output", metavar="FOLDER", help="the folder that gets one folder for each part"
    )
    add_store(part)
    add_format(part, FORMATS)


def _split(arguments: argparse.Namespace) -> int:
    names = ("source", "queries", "by", "shares", "names", "time_column", "seed", "output", "store")
    request = SplitRequest(
        **{name: getattr(arguments, name) for name in names},
        slices=arguments.slice,
        near_duplicates=arguments.near_duplicates or None,
    )
    result = split_dataset(request)
    show_result(
        result,
        arguments.format,
        lambda style: render_split(result.parts, result.labels, request.by, style),
    )
    note = "nothing was written: -o FOLDER writes the parts"
    if result.output is not None:
        note = f"{result.output}: {', '.join(part.name for part in result.parts)}"
    print(note, file=sys.stderr)
    return 0


SUBCOMMANDS = {
    "sample": Subcommand(
        _sample,
        _add_sample_options,
        "draw queries with known probabilities, and say how many a precision needs",
    ),
    "pool": Subcommand(_pool, _add_pool_options, "choose the pairs to judge from the top of several runs"),
    "split": Subcommand(_split, _add_split_options, "divide an evaluation set by family, time or a column"),
}
