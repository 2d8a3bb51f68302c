"""Have a language model write queries for documents, review them, and make them an evaluation set."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from assay.core.errors import FormatError, InputError
from assay.core.files import write_atomically
from assay.core.tables import Documents
from assay.datasets import Collection, read, write
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import format_line, read_rows
from assay.judging.llm.generated_queries import (
    EDITED,
    STATUSES,
    TO_REVIEW,
    GeneratedQuery,
    count_statuses,
    drop_duplicates,
    merge_reviews,
    reviewed_tables,
)
from assay.judging.llm.query_prompt import most_reply_tokens, query_messages, query_schema, read_queries
from assay.models.ask_all import AskWatch, Replies, ask_all
from assay.models.language_model import ReplyParameters
from assay.models.reply_journal import Request
from assay.workflows.language_models import ModelRequest, open_journal

_MOST_QUERIES = 10  # for one document


@dataclass(frozen=True, kw_only=True)
class GenerateQueriesRequest:
    """The documents to write queries for, the model, and the file of the queries."""

    model: ModelRequest
    documents: str
    out: str
    per_document: int = 3
    limit: int | None = None  # how many documents, drawn by the seed
    known_queries: str | None = None  # a query that is in this table is dropped
    max_characters: int | None = None
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.per_document <= _MOST_QUERIES:
            raise InputError(f"--per-document expects 1 to {_MOST_QUERIES}, found {self.per_document}")
        if self.limit is not None and self.limit < 1:
            raise InputError(f"--limit expects at least 1, found {self.limit}")


@dataclass(frozen=True)
class GeneratedQueries:
    """The queries in a file, and what the last generation did."""

    queries: Sequence[GeneratedQuery]
    out: str
    replies: Replies | None = None
    journal: Path | None = None
    asked: int = 0  # documents
    dropped: int = 0  # duplicates
    unreadable: int = 0  # replies without queries
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """How many documents have no reply."""
        return self.asked - len(self.replies.replies) if self.replies else 0

    @property
    def exit_code(self) -> int:
        """3 if documents have no reply, else 0."""
        return 3 if self.missing else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data, as `assay dataset generate-queries --format json` prints them."""
        data: dict[str, Any] = {"output": self.out, "queries": len(self.queries), "statuses": self.counts}
        if self.replies is None:
            return data
        spent = {
            name: getattr(self.replies, name)
            for name in (
                "cost",
                "total_cost",
                "possible_cost",
                "prompt_tokens",
                "completion_tokens",
                "reused",
            )
        }
        return {
            **data,
            "documents": self.asked,
            "missing": self.missing,
            "unreadable": self.unreadable,
            "duplicates": self.dropped,
            "replies": str(self.journal),
            "spent": spent,
            "stopped_by": self.replies.stopped_by,
        }


def generate_queries(request: GenerateQueriesRequest, watch: AskWatch | None = None) -> GeneratedQueries:
    """Write queries for documents that have none yet, and add them to the file, to be reviewed."""
    documents = read(request.documents, "documents")
    known = read(request.known_queries, "queries").columns["text"] if request.known_queries else []
    earlier = read_generated(request.out) if Path(request.out).exists() else []
    chosen = _choose(documents, request)
    model = request.model.load()
    requests = {doc_id: _request(documents, doc_id, request) for doc_id in chosen}
    with open_journal(model, request.model) as journal:
        replies = ask_all(model, requests.values(), journal, request.model.options(), watch)
    written, unreadable = [], 0
    for doc_id, asked in requests.items():
        recorded = replies.replies.get(asked.key)
        texts = read_queries(recorded.reply, request.per_document) if recorded else []
        unreadable += recorded is not None and not texts
        written += [GeneratedQuery.write(text, doc_id, request.model.model) for text in texts]
    unique, dropped = drop_duplicates(written, known)
    queries = merge_reviews(unique, earlier)
    write_generated(queries, request.out)
    return GeneratedQueries(
        queries,
        request.out,
        replies,
        journal.path,
        asked=len(requests),
        dropped=dropped,
        unreadable=unreadable,
        counts=count_statuses(queries),
    )


def _choose(documents: Documents, request: GenerateQueriesRequest) -> list[str]:
    """Return the documents with a text, in order; if there is a limit, so many drawn by the seed."""
    texts = documents.texts()
    ids = [doc_id for doc_id in documents.ids if texts[doc_id].strip()]
    if request.limit is None or request.limit >= len(ids):
        return ids
    drawn = set(Random(request.seed).sample(ids, request.limit))
    return [doc_id for doc_id in ids if doc_id in drawn]


def _request(documents: Documents, doc_id: str, request: GenerateQueriesRequest) -> Request:
    parts = (documents.columns[name] for name in ("title", "text") if name in documents.columns)
    row = documents.row_by_id[doc_id]
    text = "\n".join(str(part[row]) for part in parts if part[row])[: request.max_characters]
    count = request.per_document
    parameters = ReplyParameters(max_tokens=most_reply_tokens(count), temperature=request.temperature)
    return Request(query_messages(text, count), parameters, query_schema(count))


def read_generated(path: str) -> list[GeneratedQuery]:
    """Return the generated queries of a JSONL file."""
    names = GeneratedQuery._fields
    queries = []
    for number, row in read_rows(InputFile(path)):
        values = {name: str(row.get(name) or "") for name in names}
        status = values["status"] or TO_REVIEW
        if status not in STATUSES or not all(values[name] for name in ("query_id", "text", "doc_id")):
            raise FormatError(
                "expected query_id, text, doc_id and a status of "
                f"{', '.join(STATUSES)}; found {', '.join(f'{k}: {v}' for k, v in row.items())[:200]}",
                path,
                number,
            )
        queries.append(GeneratedQuery(**{**values, "status": status}))
    return queries


def write_generated(queries: Sequence[GeneratedQuery], path: str) -> None:
    """Write generated queries, one on a line, completely or not at all."""
    lines = b"".join(format_line(query.to_dict(), path) for query in queries)
    with write_atomically(path) as partial:
        partial.write_bytes(lines)


Decision = Callable[[GeneratedQuery, str, int, int], GeneratedQuery | None]


@dataclass(frozen=True, kw_only=True)
class ReviewQueriesRequest:
    """The file of generated queries to review; with the documents, their texts are shown."""

    path: str
    documents: str | None = None
    reviewer: str | None = None

    @property
    def reviewer_name(self) -> str:
        """The reviewer, or the name of the user of this process."""
        return self.reviewer or getpass.getuser()


def review_queries(request: ReviewQueriesRequest, decide: Decision) -> GeneratedQueries:
    """Ask a person about each query to review; each decision is in the file before the next is asked.

    `decide` gets a query, the text of its document, and how many are decided of how many; it returns the
    reviewed query, the same query to leave it for later, or None to stop.
    """
    queries = read_generated(request.path)
    texts = read(request.documents, "documents").texts() if request.documents else {}
    waiting = [row for row, query in enumerate(queries) if query.status == TO_REVIEW]
    for number, row in enumerate(waiting):
        decided = decide(queries[row], texts.get(queries[row].doc_id, ""), number, len(waiting))
        if decided is None:
            break
        if decided != queries[row]:
            queries[row] = decided
            write_generated(queries, request.path)
    return GeneratedQueries(queries, request.path, counts=count_statuses(queries))


def apply_decision(query: GeneratedQuery, answer: str, reviewer: str) -> GeneratedQuery | None:
    """Return the query after `accept`, `reject` or another text for it; None if nothing was decided."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    if answer == "accept":
        return query.accept(reviewer, at)
    if answer == "reject":
        return query.reject(reviewer, at)
    return query.edit(answer, reviewer, at) if answer.strip() else None


@dataclass(frozen=True, kw_only=True)
class ExportQueriesRequest:
    """The reviewed file and the folder of the evaluation set."""

    path: str
    out: str
    documents: str | None = None


@dataclass(frozen=True)
class ExportedQueries:
    """The evaluation set of reviewed queries."""

    out: str
    queries: int
    labels: int
    counts: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return what was written as plain data."""
        return {
            "output": self.out,
            "queries": self.queries,
            "labels": self.labels,
            "statuses": self.counts,
            "edited": self.counts[EDITED],
        }


def export_reviewed(request: ExportQueriesRequest) -> ExportedQueries:
    """Write the accepted and edited queries with their documents as relevant: a BEIR folder."""
    generated = read_generated(request.path)
    queries, qrels = reviewed_tables(generated)
    documents = read(request.documents, "documents") if request.documents else None
    write(Collection(queries, qrels, documents), request.out, format="beir")
    return ExportedQueries(request.out, len(queries), len(qrels), count_statuses(generated))
