"""Whether measures of context and answers say what they claim: their means where that is true or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.rag.answers import ANSWERED, REFUSED, Answer
from assay.stats.intervals import Estimate, estimate_mean

CONTEXT_RECALL, CONTEXT_PRECISION = "context recall", "context precision"
FAITHFULNESS, REFUSAL = "faithfulness", "refusal"


@dataclass(frozen=True)
class MeasureCheck:
    """The mean of a measure over answers of which its claim is known to be true, and over the others."""

    measure: str
    where_true: Estimate
    where_false: Estimate

    @property
    def is_separated(self) -> bool | None:
        """Whether the intervals lie apart in the claimed order; None if one of them is not known."""
        if self.where_true.low is None or self.where_false.high is None:
            return None
        return self.where_true.low > self.where_false.high

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        return {
            "measure": self.measure,
            "where_true": self.where_true.to_dict(),
            "where_false": self.where_false.to_dict(),
            "separated": self.is_separated,
        }


def check_measures(answers: Sequence[Answer], level: float = 0.95) -> list[MeasureCheck]:
    """Return each measure with its mean where its claim is true and where it is not.

    Context recall and precision claim that the passages have what is needed: they are held against whether
    an accepted answer stands in one. Faithfulness claims that the passages support the answer: a right answer
    that stands in them against an answer when none has it. A refusal claims that the passages do not have it.
    """
    searched = [answer for answer in answers if answer.hops and answer.status in (ANSWERED, REFUSED)]
    replied = [answer for answer in searched if answer.status == ANSWERED]
    checks = (
        (CONTEXT_RECALL, searched, lambda a: a.relevant_recall, _has_answer),
        (CONTEXT_PRECISION, searched, lambda a: a.context_precision, _has_answer),
        (FAITHFULNESS, replied, lambda a: a.supported, _is_supported),
        (REFUSAL, searched, lambda a: float(a.status == REFUSED), lambda a: not _has_answer(a)),
    )
    return [MeasureCheck(name, *_means(rows, value, claim, level)) for name, rows, value, claim in checks]


def _has_answer(answer: Answer) -> bool:
    return any(hop.has_answer for hop in answer.hops)


def _is_supported(answer: Answer) -> bool | None:
    """Return whether the passages are known to support an answer; None if that is not known."""
    if not _has_answer(answer):
        return False
    return True if answer.contained else None


def _means(
    answers: Sequence[Answer],
    value_of: Callable[[Answer], float | None],
    claim: Callable[[Answer], bool | None],
    level: float,
) -> tuple[Estimate, Estimate]:
    """Return the means where a claim is true and where it is false, of the means of each question."""
    values: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    for answer in answers:
        value, is_true = value_of(answer), claim(answer)
        if value is not None and is_true is not None:
            values[is_true].setdefault(answer.question_id, []).append(value)
    return _estimate(values[True], level), _estimate(values[False], level)


def _estimate(by_question: dict[str, list[float]], level: float) -> Estimate:
    means = np.array([sum(values) / len(values) for values in by_question.values()], np.float64)
    return estimate_mean(means, level, (0.0, 1.0)) if len(means) else Estimate(None, None, None, level, 0)
