"""Why questions are answered wrongly, as words and a section."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.rag.answers import ANSWERED, Answer
from assay.rag.failures import (
    CAUSES,
    DECLINED,
    MISREAD,
    NO_REPLY,
    NOT_RETRIEVED,
    SEARCH_FAILED,
    FailedQuestion,
    count_causes,
    failure_cause,
)
from assay.rag.study import RagStudy
from assay.views.sections import Section

CAUSE_WORDS = {
    NOT_RETRIEVED: "no passage has the answer",
    MISREAD: "a passage has the answer, the reply is another",
    DECLINED: "a passage has the answer, the model declined",
    SEARCH_FAILED: "the search returned an error",
    NO_REPLY: "no reply that could be used",
}


def describe_failure(failed: FailedQuestion) -> str:
    """Return where a question fails: with the indexes alone, or with exact search, too."""
    if failed.with_exact is None:
        return f"wrong with {failed.wrong} of {failed.asked}"
    if failed.with_exact:
        return (
            f"wrong with {failed.wrong} of {failed.asked} and with exact search, "
            f"where {CAUSE_WORDS[failed.with_exact]}"
        )
    return f"wrong with {failed.wrong} of {failed.asked}, right with exact search"


def describe_answer(answer: Answer, correctness: str) -> str:
    """Return whether an answer is right and what it rests on, or why it is wrong."""
    cause = failure_cause(answer, correctness)
    if cause == NOT_RETRIEVED and not answer.hops:
        return "wrong: no document was read"
    if cause:
        problem = f" ({answer.problem})" if answer.problem else ""
        return f"wrong: {CAUSE_WORDS[cause]}{problem}"
    if answer.correctness(correctness) is None:
        return f"not judged: {answer.problem or answer.status}"
    return f"right, resting on {answer.basis}" if answer.basis and answer.status == ANSWERED else "right"


def mark_answers(text: str, accepted: Sequence[str]) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is an accepted answer.

    >>> mark_answers("Port 8080 is open", ["8080"])
    [('Port ', False), ('8080', True), (' is open', False)]
    """
    words = sorted(filter(None, accepted), key=len, reverse=True)
    if not words:
        return [(text, False)]
    pieces = re.split(f"(?<!\\w)({'|'.join(map(re.escape, words))})(?!\\w)", text, flags=re.IGNORECASE)
    return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]


def cause_section(study: RagStudy) -> Section:
    """Return how many questions of each configuration are wrong, by cause."""
    head = ["configuration", *CAUSES]
    rows = [[name, *(str(n) for n in counts.values())] for name, counts in count_causes(study).items()]
    notes = [f"{cause}: {words}" for cause, words in CAUSE_WORDS.items()]
    return Section("why questions are answered wrongly", notes, head, rows)
