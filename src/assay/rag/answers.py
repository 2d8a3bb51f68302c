"""Answers of a language model with what they rest on, and how each is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.models.reply_journal import RecordedReply
from assay.rag.answer_scores import contains_answer, is_exact_match, is_refusal, token_f1
from assay.rag.questions import Question

ANSWERED, REFUSED, FAILED, NOT_ASKED = "answered", "refused", "failed", "not asked"
DOCUMENTS, INTERNAL, BOTH, NEITHER = "documents", "internal knowledge", "both", "neither"
CORRECTNESS = ("contained", "exact", "f1", "judge")


@dataclass(frozen=True)
class Hop:
    """One search for a question, and what it returned."""

    query: str
    doc_ids: tuple[str, ...]
    recall: float | None = None  # against exact search for the same query
    relevant: int | None = None  # relevant documents among them; None: no judgments
    has_answer: bool = False  # whether a document has an accepted answer
    failure: str = ""  # why there is no result
    milliseconds: float | None = None

    @property
    def is_failed(self) -> bool:
        """Whether it brought nothing to answer from: it failed, or has no relevant document."""
        if self.failure:
            return True
        return not self.relevant if self.relevant is not None else not self.has_answer

    def to_dict(self) -> dict[str, Any]:
        """Return the hop as plain data."""
        return {**vars(self), "doc_ids": list(self.doc_ids), "is_failed": self.is_failed}


@dataclass(frozen=True)
class Answer:
    """The answer to one question with one context."""

    question_id: str
    configuration: str
    hops: tuple[Hop, ...] = ()
    text: str = ""
    status: str = NOT_ASKED
    problem: str = ""  # why there is no answer
    recall: float | None = None  # mean of the hops
    exact: float | None = None
    f1: float | None = None
    contained: float | None = None
    judged: float | None = None  # by a language model; None: not judged, or no label
    evidence: str = ""  # what the judge said
    supported: float | None = None  # share of the answer's statements that the documents support
    basis: str = ""  # DOCUMENTS, INTERNAL, BOTH or NEITHER, of a correct answer
    relevant_recall: float | None = None
    context_precision: float | None = None
    retries: int = 0  # searches after a failed one
    bad_calls: int = 0  # calls of tools that could not be understood
    turns: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def failed_hops(self) -> int:
        """How many searches brought nothing to answer from."""
        return sum(hop.is_failed for hop in self.hops)

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """The documents of all hops, each once."""
        return tuple(dict.fromkeys(doc_id for hop in self.hops for doc_id in hop.doc_ids))

    def correctness(self, by: str) -> float | None:
        """Return how correct it is by one of CORRECTNESS; None if it was not asked or has no label."""
        if self.status == NOT_ASKED:
            return None
        return {"contained": self.contained, "exact": self.exact, "f1": self.f1, "judge": self.judged}[by]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return {**vars(self), "hops": [hop.to_dict() for hop in self.hops], "failed_hops": self.failed_hops}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Answer:
        """Return the answer of plain data."""
        hops = tuple(_hop(hop) for hop in value["hops"])
        return cls(**{name: entry for name, entry in value.items() if name != "failed_hops"} | {"hops": hops})


def _hop(value: Mapping[str, Any]) -> Hop:
    own = {name: entry for name, entry in value.items() if name != "is_failed"}
    return Hop(**{**own, "doc_ids": tuple(value["doc_ids"])})


@dataclass(frozen=True)
class ReplyCost:
    """What the replies for one answer cost together."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, replies: Sequence[RecordedReply]) -> ReplyCost:
        """Return the sums over replies."""
        return cls(
            sum(recorded.reply.prompt_tokens for recorded in replies),
            sum(recorded.reply.completion_tokens for recorded in replies),
            sum(recorded.reply.cost for recorded in replies),
            sum(recorded.seconds for recorded in replies),
        )


@dataclass(frozen=True)
class DocumentFacts:
    """What is known of the documents: their texts, and which are relevant for each question."""

    texts: Mapping[str, str]
    relevant: Mapping[str, frozenset[str]] | None = None  # None: no judgments
    accepted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the answers of each question

    def hop(
        self,
        question: Question,
        query: str,
        doc_ids: Sequence[str],
        recall: float | None,
        failure: str = "",
        milliseconds: float | None = None,
    ) -> Hop:
        """Return a hop with what its documents are worth."""
        relevant = None if self.relevant is None else self.relevant.get(question.id)
        count = None if relevant is None else len(relevant.intersection(doc_ids))
        has_answer = any(contains_answer(self.texts.get(d, ""), question.answers) for d in doc_ids)
        return Hop(query, tuple(doc_ids), recall, count, has_answer, failure, milliseconds)

    def relevant_recall(self, question_id: str, doc_ids: Sequence[str]) -> float | None:
        """Return the share of the relevant documents that was retrieved: 0 without any document retrieved.

        None if no document is known to be relevant.
        """
        relevant = (self.relevant or {}).get(question_id)
        return len(relevant.intersection(doc_ids)) / len(relevant) if relevant else None

    def context_precision(self, question_id: str, doc_ids: Sequence[str]) -> float | None:
        """Return the mean precision at the ranks of the relevant documents, 0 if there is none among them.

        None if no document was retrieved, or none is known to be relevant.
        """
        relevant = (self.relevant or {}).get(question_id)
        if not relevant or not doc_ids:
            return None
        ranks = [rank for rank, doc_id in enumerate(doc_ids, 1) if doc_id in relevant]
        return sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def read_status(recorded: RecordedReply) -> tuple[str, str]:
    """Return the status of a reply, and the problem of one that is no answer."""
    reply = recorded.reply
    if reply.problem:
        return FAILED, reply.problem
    if reply.refusal or reply.finish_reason in ("content_filter", "refusal"):
        return REFUSED, reply.refusal or f"the server ended the reply: {reply.finish_reason}"
    if not reply.text.strip():
        return FAILED, "the reply is empty"
    if is_refusal(reply.text):
        return REFUSED, ""
    return ANSWERED, "the reply was cut at its highest length" if reply.finish_reason == "length" else ""


class TextScores(NamedTuple):
    """How correct an answer is by its words; None: it was not asked."""

    exact: float | None
    f1: float | None
    contained: float | None


def score_text(text: str, status: str, question: Question) -> TextScores:
    """Return the scores of an answer by its words; an answer that could not be had counts as wrong.

    A refusal is wrong too: a question without an answer helps nobody.
    """
    if status == NOT_ASKED:
        return TextScores(None, None, None)
    if status != ANSWERED:
        return TextScores(0.0, 0.0, 0.0)
    return TextScores(
        float(is_exact_match(text, question.answers)),
        token_f1(text, question.answers),
        float(contains_answer(text, question.answers)),
    )


def answer_basis(has_answer_in_context: bool, is_known: bool | None) -> str:
    """Return what a correct answer rests on.

    `is_known` says whether the model answered the question correctly without documents; None: not asked.

    >>> answer_basis(True, False), answer_basis(True, True), answer_basis(False, False)
    ('documents', 'both', 'neither')
    """
    if has_answer_in_context:
        return BOTH if is_known else DOCUMENTS
    return INTERNAL if is_known else NEITHER
