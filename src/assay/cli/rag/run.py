"""assay rag run: ask a model questions with the results of many searches."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from assay.cli import print_notes
from assay.cli.language_models import add_model_options, model_request, watch_requests
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.cli.progress import note_when_interrupted
from assay.core.errors import InputError
from assay.rag.answers import CORRECTNESS
from assay.rag.asking import RagEstimate
from assay.rag.prompts import BEST_LAST, ORDERS
from assay.views.rag import FORMATS, describe_rag_estimate, render_study
from assay.workflows.language_models import ModelRequest
from assay.workflows.rag_run import MODES, RagResult, RagRunRequest, run_rag
from assay.workflows.rag_searches import SearchRequest
from assay.workflows.settings import PROJECT_FILE

EXAMPLES = """  assay rag run --questions questions.jsonl \
--endpoint http://127.0.0.1:8080/v1 --model smollm2-135m -o study.json
  assay rag run --run hnsw.run --run ivf.run --exact exact.run --questions questions.jsonl \
--documents corpus.jsonl --endpoint http://127.0.0.1:8080/v1 --model smollm2-135m -o study.json
  assay rag run --mode agentic --system hnsw --system ivf --questions questions.jsonl \
--endpoint https://api.example.com/v1 --key-env API_KEY --model large --price-in 0.5 \
--price-out 1.5 --budget 20
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    _add_search_options(part)
    part.add_argument("--mode", choices=MODES, default="naive", help="default: naive")
    part.add_argument("-k", type=int, metavar="K", help="documents of a search (default: 10; of an agent: 5)")
    _add_answer_options(part)
    add_model_options(part)
    part.add_argument("-o", "--out", metavar="FILE", help="where the study is written, as JSON")
    part.add_argument("--save", metavar="NAME", help="keep the study in the store, for the page /rag")
    add_store(part)
    part.add_argument("--estimate", action="store_true", help="say what the study will cost, and ask nothing")
    add_format(part, FORMATS)


def _add_search_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--project", default=PROJECT_FILE, metavar="FILE", help="default: assay.toml")
    part.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="NAME",
        help="a system of the project; may be repeated (default: all)",
    )
    part.add_argument(
        "--run",
        dest="runs",
        action="append",
        default=[],
        metavar="RUN",
        help="a run file in place of systems; may be repeated",
    )
    part.add_argument(
        "--exact",
        metavar="NAME",
        help="the system, or the run file, of exact search (default: that of the first index)",
    )
    part.add_argument(
        "--questions", metavar="FILE", help="queries with a column answers (default: those of the project)"
    )
    part.add_argument("--documents", metavar="FILE", help="default: those of the project")
    part.add_argument("--qrels", metavar="FILE", help="which documents are relevant (default: the project's)")


def _add_answer_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--correct",
        choices=CORRECTNESS,
        default="contained",
        help="an answer is correct if it contains an accepted one, is one, by F1, or by the judge "
        "(default: contained)",
    )
    part.add_argument("--judge-model", metavar="NAME", help="a model that judges the answers")
    part.add_argument(
        "--judge-endpoint", metavar="URL", help="where the judge is (default: the same endpoint)"
    )
    part.add_argument(
        "--neighbours",
        metavar="LIST",
        help="how many true neighbours are left in contexts that the others were removed from, such as "
        "0,1,2,5,10; none: no such contexts (default: seven levels and 0)",
    )
    part.add_argument("--sample", type=int, metavar="N", help="ask only so many of the questions")
    part.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the sample and of the removed neighbours"
    )
    part.add_argument(
        "--max-turns", type=int, default=10, metavar="N", help="of an agent, for a question (default: 10)"
    )
    part.add_argument("--max-tokens", type=int, metavar="N", help="of a reply (default: 48; an agent: 128)")
    part.add_argument(
        "--max-characters", type=int, default=1200, metavar="N", help="of a passage (default: 1200)"
    )
    part.add_argument(
        "--order",
        choices=ORDERS,
        default=BEST_LAST,
        help="of the passages in the prompt (default: best-last, next to the question)",
    )
    part.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="level of the intervals (default: 0.95)"
    )


def _run(arguments: argparse.Namespace) -> int:
    request = _request(arguments)
    with note_when_interrupted(arguments.replies, "replies"), watch_requests() as watch:
        result = run_rag(request, watch, _announce)
    if result.study is None:
        show_result(result, arguments.format, lambda style: describe_rag_estimate(result.estimate))
        return 0
    study = result.study
    show_result(result, arguments.format, lambda style: render_study(study, style))
    _print_places(result)
    return result.exit_code


def _announce(estimate: RagEstimate) -> None:
    print(describe_rag_estimate(estimate), file=sys.stderr)


def _print_places(result: RagResult) -> None:
    notes = [f"the study is in {result.out}"] if result.out else []
    if saved := result.saved:
        notes.append(f"saved {saved.name} as {saved.id} in {saved.store}")
    spent = result.spent
    if spent is not None and spent.stopped_by:
        notes.append(f"stopped by {spent.stopped_by}: the same command goes on from here")
    print_notes([*notes, f"every reply is in {result.replies}"], is_after_table=True)


def _request(arguments: argparse.Namespace) -> RagRunRequest:
    model = model_request(arguments)
    return RagRunRequest(
        model=model,
        searches=SearchRequest(
            project=arguments.project,
            systems=arguments.system,
            runs=arguments.runs,
            exact=arguments.exact,
            questions=arguments.questions,
            documents=arguments.documents,
            qrels=arguments.qrels,
        ),
        mode=arguments.mode,
        k=arguments.k,
        correctness=arguments.correct,
        judge=_judge(arguments, model),
        removals=_counts(arguments.neighbours),
        questions=arguments.sample,
        seed=arguments.seed,
        max_turns=arguments.max_turns,
        max_tokens=arguments.max_tokens,
        max_characters=arguments.max_characters,
        order=arguments.order,
        level=arguments.level,
        out=arguments.out,
        save=arguments.save,
        store=arguments.store,
        is_estimate_only=arguments.estimate,
    )


def _judge(arguments: argparse.Namespace, model: ModelRequest) -> ModelRequest | None:
    if arguments.judge_model is None:
        if arguments.judge_endpoint is not None:
            raise InputError("--judge-endpoint needs --judge-model")
        return None
    endpoint = arguments.judge_endpoint or model.endpoint
    return replace(model, endpoint=endpoint, model=arguments.judge_model)


def _counts(text: str | None) -> list[int] | None:
    """Return the numbers of a list; None if none was given.

    >>> _counts("0, 5,10"), _counts("none"), _counts(None)
    ([0, 5, 10], [], None)
    """
    if text is None:
        return None
    if text == "none":
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--neighbours expects numbers such as 0,2,5,10, or none; found {text!r}") from None


SUBCOMMANDS = {"run": Subcommand(_run, _add_options, "ask a model questions with the results of searches")}
