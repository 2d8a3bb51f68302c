"""assay judge llm: have a language model judge pairs, and hold its labels against those of people."""

from __future__ import annotations

import argparse
import sys

from assay.cli import print_notes
from assay.cli.language_models import add_model_options, model_request, watch_requests
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_intervals
from assay.cli.progress import note_when_interrupted
from assay.core.errors import InputError
from assay.judging.llm.judge_pairs import WorkEstimate
from assay.views import FORMATS
from assay.views.llm_judge import describe_estimate, render_llm_labels, render_worth
from assay.workflows.llm_judge import (
    JudgeLLMRequest,
    LLMJudgement,
    WorthRequest,
    judge_with_llm,
    measure_label_worth,
)

EXAMPLES = """  assay judge llm --pairs pool.jsonl --queries queries.jsonl --documents corpus.jsonl \
--endpoint http://127.0.0.1:8080/v1 --model qwen2.5-coder-1.5b -o labels.jsonl
  assay judge llm --pairs pool.jsonl --queries queries.jsonl --documents corpus.jsonl \
--endpoint https://api.example.com/v1 --key-env API_KEY --model large --price-in 0.5 --price-out 1.5 \
--budget 20 -o labels.jsonl
  assay judge llm --pairs pool.jsonl --queries queries.jsonl --documents corpus.jsonl \
--endpoint http://127.0.0.1:8080/v1 --model large --qrels human.txt --run a.run --require kappa=0.4
  assay judge llm --labels labels.jsonl --qrels human.txt --run a.run --run b.run
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--pairs", metavar="FILE", help="the pairs to judge: a pool, or judgments")
    part.add_argument("--queries", metavar="FILE", help="the texts of the queries")
    part.add_argument("--documents", metavar="FILE", help="the texts of the documents")
    part.add_argument(
        "--labels", metavar="FILE", help="labels of a model that exist: ask nothing, and compare with --qrels"
    )
    part.add_argument(
        "-o", "--out", metavar="FILE", help="where the labels are written (JSONL, CSV, Parquet)"
    )
    add_model_options(part, is_required=False)
    _add_prompt_options(part)
    _add_worth_options(part)
    add_intervals(part)
    add_format(part, FORMATS)


def _add_prompt_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--grades", default="0-3", metavar="0-N", help="the scale: 0-1 to 0-4 (default: 0-3)")
    part.add_argument(
        "--fields",
        default="title,text",
        metavar="NAMES",
        help="the columns of a document that the model reads (default: title,text)",
    )
    part.add_argument(
        "--max-characters", type=int, metavar="N", help="cut each document after so many characters"
    )
    part.add_argument(
        "--draws",
        type=int,
        default=1,
        metavar="N",
        help="ask for each pair so often; the label is the median, and the draws show how consistent the "
        "model is (default: 1)",
    )
    part.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="of the sampling (default: 0)"
    )
    part.add_argument("--max-tokens", type=int, default=24, metavar="N", help="of a reply (default: 24)")
    part.add_argument("--sampling-seed", type=int, metavar="N", help="the seed that is sent to the model")
    part.add_argument(
        "--retry-unreadable", action="store_true", help="ask again for pairs whose reply gave no label"
    )
    part.add_argument("--estimate", action="store_true", help="say what the work will cost, and ask nothing")


def _add_worth_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--qrels", metavar="FILE", help="labels of people to hold those of the model against")
    part.add_argument(
        "--run",
        dest="runs",
        action="append",
        default=[],
        metavar="RUN",
        help="a run to score by both labels, for the order of systems; may be repeated",
    )
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        metavar="MEASURE",
        help="a measure for the order of systems; may be repeated (default: nDCG@10)",
    )
    part.add_argument("--top", type=int, default=5, metavar="N", help="how many top systems (default: 5)")
    part.add_argument(
        "--by", action="append", default=[], metavar="COLUMN", help="slice by a column of the queries"
    )
    part.add_argument(
        "--judged-models",
        default="",
        metavar="NAMES",
        help="the models in the judged systems: a warning is printed if one is of the judge's family",
    )
    part.add_argument(
        "--config", action="append", default=[], metavar="FILE", help="the configuration of each run"
    )
    part.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="FIGURE=THRESHOLD",
        help="the judge may gate only if this is shown: kappa, kappa_linear, kappa_quadratic, agreement, "
        "ac1, tau or tau_top at least, bias or unlabelled at most; may be repeated; exit code 1 otherwise",
    )


def _judge(arguments: argparse.Namespace) -> int:
    if arguments.labels:
        return _compare(arguments)
    request = _request(arguments)
    with note_when_interrupted(arguments.replies, "replies"), watch_requests() as watch:
        result = judge_with_llm(request, watch, _announce)
    if arguments.estimate:
        show_result(result, arguments.format, lambda style: describe_estimate(result.estimate))
        return 0
    show_result(result, arguments.format, lambda style: _render(result, style))
    _print_places(result)
    return result.exit_code


def _compare(arguments: argparse.Namespace) -> int:
    result = measure_label_worth(
        arguments.labels, _worth_request(arguments), arguments.queries, arguments.documents
    )
    show_result(result, arguments.format, lambda style: render_worth(result.worth, result.verdict, style))
    return result.exit_code


def _announce(estimate: WorkEstimate) -> None:
    print(describe_estimate(estimate), file=sys.stderr)


def _render(result: LLMJudgement, style: str) -> str:
    assert result.labels is not None
    return render_llm_labels(result.labels, result.worth, result.verdict, style)


def _print_places(result: LLMJudgement) -> None:
    notes = [f"labels are in {result.out}"] if result.out else []
    notes.append(f"every reply is in {result.replies}")
    print_notes([*notes, *filter(None, [result.worth_problem])], is_after_table=True)


def _request(arguments: argparse.Namespace) -> JudgeLLMRequest:
    names = ("pairs", "queries", "documents", "endpoint", "model")
    missing = [f"--{name}" for name in names if not getattr(arguments, name)]
    if missing:
        raise InputError(f"expected also {', '.join(missing)} (or --labels and --qrels to compare labels)")
    parameters = {"max_tokens": arguments.max_tokens, "temperature": arguments.temperature}
    return JudgeLLMRequest(
        model=model_request(arguments),
        pairs=arguments.pairs,
        queries=arguments.queries,
        documents=arguments.documents,
        grades=arguments.grades,
        fields=_names(arguments.fields),
        max_characters=arguments.max_characters,
        draws=arguments.draws,
        parameters={**parameters, "seed": arguments.sampling_seed},
        retry_unreadable=arguments.retry_unreadable,
        is_estimate_only=arguments.estimate,
        out=arguments.out,
        worth=_worth_request(arguments),
    )


def _worth_request(arguments: argparse.Namespace) -> WorthRequest:
    return WorthRequest(
        qrels=arguments.qrels,
        runs=arguments.runs,
        measures=arguments.measure or ("nDCG@10",),
        by=arguments.by,
        judged_models=_names(arguments.judged_models),
        configurations=arguments.config,
        require=arguments.require,
        top=arguments.top,
        level=arguments.level,
        seed=arguments.seed,
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


SUBCOMMANDS = {"llm": Subcommand(_judge, _add_options, "have a language model judge pairs")}
