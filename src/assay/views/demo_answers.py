"""The step of the demo that has a language model answer questions."""

from __future__ import annotations

from assay.rag.contexts import CLOSED_BOOK, EXACT
from assay.rag.failures import failed_questions
from assay.rag.study import RagStudy
from assay.views.demo import DemoStep
from assay.views.numbers import format_percent
from assay.views.rag import render_study
from assay.views.rag_failures import describe_failure

_QUESTION, _COMMAND = "Are answers right?", "assay rag run"


def answer_step(study: RagStudy) -> DemoStep:
    """Return how right the answers of a model are with each index, and without documents."""
    exact = next(c for c in study.configurations if c.name == EXACT)
    without = study.control_accuracy(CLOSED_BOOK)
    n = len(study.questions)
    verdict = (
        "the answers rest on what was retrieved"
        if exact.accuracy.low is not None and without.high is not None and exact.accuracy.low > without.high
        else "too few questions to say that the answers rest on what was retrieved"
    )
    indexes = [
        f"{c.name}: {format_percent(c.accuracy)}, mean recall {c.recall.value or 0:.2f}"
        for c in study.configurations
        if not c.is_control
    ]
    failed = [one for one in failed_questions(study) if one.wrong]
    return DemoStep(
        _QUESTION,
        _COMMAND,
        f"{study.settings['model']} answers {n} questions about a handbook: {format_percent(exact.accuracy)} "
        f"right with the passages of exact search, {format_percent(without)} without",
        verdict,
        [
            f"right with {'; '.join(indexes)}",
            *(f"“{one.question.text}”: {describe_failure(one)}" for one in failed[:1]),
        ],
        render_study(study, "table"),
    )


def no_answer_step(missing: str) -> DemoStep:
    """Return what is left out without the model, and how to get it."""
    return DemoStep(
        _QUESTION,
        _COMMAND,
        f"left out: {missing}",
        "not shown; with it, a small model on this machine answers questions with each index and without",
    )
