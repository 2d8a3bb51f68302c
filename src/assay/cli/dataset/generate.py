"""assay dataset generate-queries: queries by a language model, reviewed by a person."""

from __future__ import annotations

import argparse
import sys

from assay.cli import print_notes
from assay.cli.language_models import add_model_options, model_request, watch_requests
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format
from assay.cli.progress import note_when_interrupted
from assay.core.errors import InputError
from assay.judging.llm.generated_queries import GeneratedQuery
from assay.views import FORMATS
from assay.views.generate_queries import describe_for_review, generation_notes, render_generated
from assay.workflows.generate_queries import (
    ExportQueriesRequest,
    GeneratedQueries,
    GenerateQueriesRequest,
    ReviewQueriesRequest,
    apply_decision,
    export_reviewed,
    generate_queries,
    review_queries,
)

EXAMPLES = """  assay dataset generate-queries corpus.jsonl --endpoint http://127.0.0.1:8080/v1 --model m \
--per-document 3 -o generated.jsonl
  assay dataset generate-queries corpus.jsonl --review generated.jsonl
  assay dataset generate-queries corpus.jsonl --reviewed generated.jsonl -o evaluation-set/
"""
_KEYS = "a accept, r reject, e TEXT edit, l later, q stop: "


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("documents", metavar="DOCUMENTS", help="the documents to write queries for")
    part.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="the file of the queries to review (JSONL); with --reviewed the folder of the evaluation set",
    )
    part.add_argument(
        "--per-document", type=int, default=3, metavar="N", help="queries for a document (default: 3)"
    )
    part.add_argument("--limit", type=int, metavar="N", help="draw so many documents (default: all)")
    part.add_argument("--seed", type=int, default=0, metavar="N", help="of the drawing (default: 0)")
    part.add_argument(
        "--known", metavar="QUERIES", help="queries that exist: a generated one that is equal is dropped"
    )
    part.add_argument(
        "--max-characters", type=int, metavar="N", help="cut each document after so many characters"
    )
    part.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="of the sampling (default: 0)"
    )
    part.add_argument("--review", metavar="FILE", help="review the queries of a file in the terminal")
    part.add_argument("--reviewer", metavar="NAME", help="who reviews (default: the name of the user)")
    part.add_argument(
        "--reviewed", metavar="FILE", help="make an evaluation set of the accepted and edited queries"
    )
    add_model_options(part, is_required=False)
    add_format(part, FORMATS)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.review:
        return _review(arguments)
    if arguments.reviewed:
        return _export(arguments)
    missing = [f"--{name}" for name in ("endpoint", "model", "out") if not getattr(arguments, name)]
    if missing:
        raise InputError(f"expected also {', '.join(missing)}, or --review FILE, or --reviewed FILE")
    with note_when_interrupted(arguments.replies, "replies"), watch_requests() as watch:
        result = generate_queries(_request(arguments), watch)
    show_result(
        result, arguments.format, lambda style: _render(result, style, arguments.price_in is not None)
    )
    print_notes([f"queries are in {result.out}", f"every reply is in {result.journal}"], is_after_table=True)
    return result.exit_code


def _request(arguments: argparse.Namespace) -> GenerateQueriesRequest:
    return GenerateQueriesRequest(
        model=model_request(arguments),
        documents=arguments.documents,
        out=arguments.out,
        per_document=arguments.per_document,
        limit=arguments.limit,
        known_queries=arguments.known,
        max_characters=arguments.max_characters,
        temperature=arguments.temperature,
        seed=arguments.seed,
    )


def _render(result: GeneratedQueries, style: str, has_prices: bool) -> str:
    assert result.replies is not None
    notes = generation_notes(
        result.replies,
        documents=result.asked,
        dropped=result.dropped,
        unreadable=result.unreadable,
        has_prices=has_prices,
    )
    return render_generated(result.queries, result.counts, notes, style)


def _review(arguments: argparse.Namespace) -> int:
    request = ReviewQueriesRequest(
        path=arguments.review, documents=arguments.documents, reviewer=arguments.reviewer
    )

    def decide(query: GeneratedQuery, document: str, number: int, total: int) -> GeneratedQuery | None:
        print(describe_for_review(query, document, number, total), file=sys.stderr)
        return _read_decision(query, request.reviewer_name)

    result = review_queries(request, decide)
    render = render_generated
    show_result(result, arguments.format, lambda style: render(result.queries, result.counts, [], style))
    return 0


def _read_decision(query: GeneratedQuery, reviewer: str) -> GeneratedQuery | None:
    """Return the query as decided, the same query for later, or None to stop."""
    while True:
        print(_KEYS, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        key, _, words = line.strip().partition(" ")
        if not line or key == "q":
            return None
        if key == "l":
            return query
        answer = {"a": "accept", "r": "reject", "e": words}.get(key, "")
        decided = apply_decision(query, answer, reviewer) if answer else None
        if decided is not None:
            return decided
        print(f"expected one of these keys, found {line.strip()!r}", file=sys.stderr)


def _export(arguments: argparse.Namespace) -> int:
    if not arguments.out:
        raise InputError("--reviewed expects the folder of the evaluation set: give -o FOLDER")
    request = ExportQueriesRequest(path=arguments.reviewed, out=arguments.out, documents=arguments.documents)
    result = export_reviewed(request)
    show_result(result, arguments.format, lambda style: f"{result.queries:,} queries in {result.out}")
    return 0


SUBCOMMANDS = {
    "generate-queries": Subcommand(_run, _add_options, "have a language model write queries, and review them")
}
