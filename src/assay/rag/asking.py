"""Ask a model all questions of a study with given contexts: equal requests are asked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.models.ask_all import Replies
from assay.models.language_model import Message, ReplyParameters
from assay.models.reply_journal import Request
from assay.rag.answers import (
    FAILED,
    NOT_ASKED,
    Answer,
    DocumentFacts,
    Hop,
    ReplyCost,
    read_status,
    score_text,
)
from assay.rag.contexts import CLOSED_BOOK, PLACEHOLDERS, Context
from assay.rag.prompts import AnswerPrompt, Passage
from assay.rag.questions import Question

Ask = Callable[[Sequence[Request]], Replies]


class RagEstimate(NamedTuple):
    """How many requests a study makes, and what they will cost about and at most; None without prices.

    The requests of an agent and of a judge depend on replies: of them, only the highest number is known.
    """

    requests: int
    known: int  # that have a reply already
    cost: float | None
    highest_cost: float | None
    most_agent_requests: int = 0
    most_judge_requests: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return self._asdict()


@dataclass(frozen=True)
class Asking:
    """How questions are put to the model."""

    prompt: AnswerPrompt
    parameters: ReplyParameters
    facts: DocumentFacts

    def request(self, question: Question, context: Context) -> Request:
        """Return the request that asks a question with a context."""
        return Request(self._messages(question, context), self.parameters)

    def _messages(self, question: Question, context: Context) -> tuple[Message, ...]:
        if context.configuration == CLOSED_BOOK:
            return self.prompt.without_passages(question.text)
        if context.configuration == PLACEHOLDERS:
            return self.prompt.with_placeholders(question.text, len(context.doc_ids))
        passages = [Passage(doc_id, self.facts.texts.get(doc_id, "")) for doc_id in context.doc_ids]
        return self.prompt.with_passages(question.text, passages)


def control_contexts(questions: Sequence[Question], k: int) -> list[Context]:
    """Return the contexts that show what the model knew: none at all, and k placeholders."""
    alone = [Context(question.id, CLOSED_BOOK, ()) for question in questions]
    return [*alone, *(Context(question.id, PLACEHOLDERS, ("",) * k) for question in questions)]


def ask_contexts(
    asking: Asking, questions: Mapping[str, Question], contexts: Sequence[Context], ask: Ask
) -> list[Answer]:
    """Return the answer to each question with each of its contexts, in their order.

    A question whose search failed is not asked, and counts as a wrong answer of that configuration.
    """
    requests = [
        None if context.failure else asking.request(questions[context.question_id], context)
        for context in contexts
    ]
    replies = ask([request for request in requests if request is not None])
    return [
        _answer(asking, questions[context.question_id], context, request, replies)
        for context, request in zip(contexts, requests, strict=True)
    ]


def _answer(
    asking: Asking, question: Question, context: Context, request: Request | None, replies: Replies
) -> Answer:
    facts = asking.facts
    documents = () if context.configuration == PLACEHOLDERS else context.doc_ids
    hops: tuple[Hop, ...] = ()
    if context.configuration not in (CLOSED_BOOK, PLACEHOLDERS):
        found = (documents, context.recall, context.failure, context.milliseconds)
        hops = (facts.hop(question, question.text, *found),)
    text, status, problem, cost = _read(request, context, replies)
    return Answer(
        question.id,
        context.configuration,
        hops,
        text,
        status,
        problem,
        context.recall,
        *score_text(text, status, question),
        relevant_recall=facts.relevant_recall(question.id, documents) if hops else None,
        context_precision=facts.context_precision(question.id, documents) if hops else None,
        **vars(cost),
    )


def _read(request: Request | None, context: Context, replies: Replies) -> tuple[str, str, str, ReplyCost]:
    """Return the text, the status, the problem and the cost of the reply to a request."""
    if request is None:
        return "", FAILED, f"the search failed: {context.failure}", ReplyCost()
    recorded = replies.replies.get(request.key)
    if recorded is None:
        failure = replies.failures.get(request.key)
        return "", FAILED if failure else NOT_ASKED, str(failure or replies.stopped_by), ReplyCost()
    status, problem = read_status(recorded)
    return recorded.reply.text.strip(), status, problem, ReplyCost.of([recorded])
