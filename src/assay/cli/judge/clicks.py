"""assay judge clicks and off-policy: click models, relevance of pairs, inverse propensities."""

from __future__ import annotations

import argparse
import sys

from assay.cli import print_notes
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format
from assay.views.clicks import FORMATS, refusal_notes, render_clicks, render_off_policy
from assay.workflows.clicks import DEFAULT_RULE, MODEL_NAMES, ClicksRequest, FitSettings, judge_clicks
from assay.workflows.off_policy import DEFAULT_LEAST, OffPolicyRequest, value_policy

EXAMPLES = """  assay judge clicks events.ndjson --model pbm -o clicks.csv --minimum-impressions 20
  assay judge clicks train.jsonl --held-out test.jsonl --model all
  assay judge clicks log.zip --queries queries.jsonl --qrels qrels.txt --grade-rule thresholds:0.1,0.3,0.6
  assay judge clicks events.parquet --model dwell --dwell 30 --problems problems.csv
  assay judge off-policy log.csv --target uniform
  assay judge off-policy pages.jsonl --run new.run --examination fit.json --gain DCG@10
"""
_UNDECIDED = 3


def _add_click_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "pages",
        metavar="PAGES",
        nargs="+",
        help='UBI events (JSON lines, JSON, CSV, Parquet, ZIP, folders), or JSON lines {"query_id": …, '
        '"documents": […], "clicks": [0, 1, …]}',
    )
    part.add_argument(
        "--model",
        choices=MODEL_NAMES,
        default="pbm",
        help="the click model (default: pbm); `all` compares them and takes the one that predicts best",
    )
    part.add_argument("--held-out", metavar="FILE", help="pages to measure predictions on")
    part.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the relevance and grade of pairs (CSV, TSV, "
        "JSONL, Parquet), which can be read as judgments",
    )
    _add_table_options(part)
    _add_fit_options(part)
    add_format(part, FORMATS)


def _add_table_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--grade-rule",
        default=DEFAULT_RULE,
        metavar="RULE",
        help=f"thresholds:A,B,… of the relevance, or quantiles:A,B,… of pairs (default: {DEFAULT_RULE})",
    )
    part.add_argument(
        "--minimum-impressions",
        type=int,
        default=1,
        metavar="N",
        help="leave out pairs with fewer impressions (default: 1)",
    )
    part.add_argument("--qrels", metavar="FILE", help="human labels to compare with")
    part.add_argument(
        "--relevant-from",
        type=float,
        default=1.0,
        metavar="GRADE",
        help="the least human grade that is relevant (default: 1)",
    )
    part.add_argument(
        "--queries", metavar="FILE", help="the query table: gives query texts of events their ids"
    )
    part.add_argument(
        "--problems", metavar="FILE", help="write every irregularity of the log with its place (CSV)"
    )


def _add_fit_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--click-action",
        action="append",
        metavar="NAME",
        help="an event that counts as a click; may be repeated (default: click)",
    )
    part.add_argument("--ranks", type=int, metavar="N", help="use only the first N documents of a page")
    part.add_argument(
        "--dwell",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="how long a satisfied click lasts, for --model dwell (default: 30)",
    )
    part.add_argument(
        "--prior-mean",
        type=float,
        default=0.5,
        metavar="P",
        help="the chance that estimates are drawn toward (default: 0.5)",
    )
    part.add_argument(
        "--prior-weight",
        type=float,
        default=2.0,
        metavar="N",
        help="how many impressions the prior counts as (default: 2)",
    )
    part.add_argument(
        "--first-rank-examined",
        action="store_true",
        help="scale pbm and ubm so that rank 1 is always examined; clicks determine only ratios",
    )
    part.add_argument(
        "--iterations", type=int, default=50, metavar="N", help="iterations of EM (default: 50)"
    )
    part.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    part.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the share of pages that --model all holds out (default: 0)",
    )


def _clicks(arguments: argparse.Namespace) -> int:
    settings = FitSettings(
        prior_mean=arguments.prior_mean,
        prior_weight=arguments.prior_weight,
        iterations=arguments.iterations,
        dwell_seconds=arguments.dwell,
        level=arguments.level,
        is_first_examined=arguments.first_rank_examined,
    )
    result = judge_clicks(
        ClicksRequest(
            pages=arguments.pages,
            model=arguments.model,
            settings=settings,
            held_out=arguments.held_out,
            output=arguments.output,
            problems_output=arguments.problems,
            grade_rule=arguments.grade_rule,
            minimum_impressions=arguments.minimum_impressions,
            qrels=arguments.qrels,
            relevant_from=arguments.relevant_from,
            queries=arguments.queries,
            click_actions=arguments.click_action or ("click",),
            ranks=arguments.ranks,
            seed=arguments.seed,
        )
    )
    show_result(result, arguments.format, lambda style: render_clicks(result, style))
    if result.output and result.table is not None:
        print(f"wrote {len(result.table.frame):,} pairs to {result.output}", file=sys.stderr)
    return 0


def _add_off_policy_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "log",
        metavar="LOG",
        help="a table with a reward and the propensity of the logged choice, or result pages (with --run)",
    )
    part.add_argument(
        "--target",
        metavar="COLUMN",
        default="uniform",
        help="the column with the propensity of the policy to value, or `uniform` (default)",
    )
    part.add_argument(
        "--actions",
        type=int,
        metavar="N",
        help="how many choices a uniform policy has (default: those of the log)",
    )
    part.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="the columns of reward, propensity and action, such as reward=click",
    )
    part.add_argument("--run", dest="ranking", metavar="RUN", help="the ranking to value, for result pages")
    part.add_argument(
        "--examination", metavar="FILE", help="the JSON of `assay judge clicks --model pbm`, for result pages"
    )
    part.add_argument(
        "--gain",
        default="clicks",
        metavar="GAIN",
        help="what to estimate for a run: clicks per page, or DCG@K (default: clicks)",
    )
    part.add_argument(
        "--least-effective-n",
        type=float,
        default=DEFAULT_LEAST,
        metavar="N",
        help=f"refuse an estimate below this effective sample size (default: {DEFAULT_LEAST:g})",
    )
    part.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    add_format(part, FORMATS)


def _off_policy(arguments: argparse.Namespace) -> int:
    value = value_policy(
        OffPolicyRequest(
            log=arguments.log,
            target=arguments.target,
            actions=arguments.actions,
            columns=arguments.columns,
            run=arguments.ranking,
            examination=arguments.examination,
            gain=arguments.gain,
            least_effective_n=arguments.least_effective_n,
            level=arguments.level,
        )
    )
    show_result(value, arguments.format, lambda style: render_off_policy(value, style))
    if arguments.format in ("json", "csv"):
        print_notes(refusal_notes(value))
    return 0 if value.is_supported else _UNDECIDED


SUBCOMMANDS = {
    "clicks": Subcommand(_clicks, _add_click_options, "fit a click model and turn clicks into judgments"),
    "off-policy": Subcommand(
        _off_policy, _add_off_policy_options, "estimate from logged clicks what another policy would earn"
    ),
}
