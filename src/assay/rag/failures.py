"""Why questions are answered wrongly: the answer was not retrieved, not read, or there is no reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.rag.answers import ANSWERED, REFUSED, Answer
from assay.rag.contexts import EXACT
from assay.rag.questions import Question
from assay.rag.study import RagStudy

NOT_RETRIEVED, MISREAD, DECLINED = "not retrieved", "misread", "declined"
SEARCH_FAILED, NO_REPLY = "search failed", "no reply"
CAUSES = (NOT_RETRIEVED, MISREAD, DECLINED, SEARCH_FAILED, NO_REPLY)
_LEAST_CORRECT = 0.5  # of an F1; every other kind of correctness is 0 or 1


@dataclass(frozen=True)
class FailedQuestion:
    """A question that is answered wrongly with some configuration, and why with each."""

    question: Question
    causes: Mapping[str, str]  # by configuration that it is wrong with
    asked: int  # configurations that it was asked with, without exact search
    with_exact: str | None  # its cause with exact search, empty if it is right there; None: not asked

    @property
    def wrong(self) -> int:
        """How many configurations it is wrong with, without exact search."""
        return len(self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "question": self.question.id,
            "text": self.question.text,
            "answers": list(self.question.answers),
            "asked": self.asked,
            "wrong": self.wrong,
            "causes": dict(self.causes),
            "with_exact": self.with_exact,
        }


def failure_cause(answer: Answer, correctness: str) -> str:
    """Return why an answer is wrong, one of CAUSES; empty if it is right, or was not asked or judged.

    >>> failure_cause(Answer("q", "hnsw", text="9090", status=ANSWERED, contained=0.0), "contained")
    'not retrieved'
    """
    value = answer.correctness(correctness)
    if value is None or value >= _LEAST_CORRECT:
        return ""
    if answer.status not in (ANSWERED, REFUSED):
        return SEARCH_FAILED if any(hop.failure for hop in answer.hops) else NO_REPLY
    if not any(hop.has_answer for hop in answer.hops):
        return NOT_RETRIEVED
    return DECLINED if answer.status == REFUSED else MISREAD


def failed_questions(study: RagStudy) -> list[FailedQuestion]:
    """Return the questions that are wrong with some configuration, the most often wrong first."""
    compared = [c.name for c in study.configurations if not c.is_control]
    exact = study.by_configuration.get(EXACT, {})
    failed = []
    for question in study.questions:
        answers = {name: study.by_configuration[name].get(question.id) for name in compared}
        known = {name: answer for name, answer in answers.items() if answer is not None}
        causes = {name: failure_cause(answer, study.correctness) for name, answer in known.items()}
        wrong = {name: cause for name, cause in causes.items() if cause}
        control = exact.get(question.id)
        with_exact = None if control is None else failure_cause(control, study.correctness)
        if wrong or with_exact:
            failed.append(FailedQuestion(question, wrong, len(known), with_exact))
    return sorted(failed, key=lambda one: -one.wrong)


def count_causes(study: RagStudy) -> dict[str, dict[str, int]]:
    """Return for each configuration how many questions are wrong for each cause."""
    counts = {}
    for configuration in study.configurations:
        answers = study.by_configuration[configuration.name].values()
        found = Counter(failure_cause(answer, study.correctness) for answer in answers)
        counts[configuration.name] = {cause: found[cause] for cause in CAUSES}
    return counts
