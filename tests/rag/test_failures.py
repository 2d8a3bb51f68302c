"""Why questions are answered wrongly."""

import pytest

from assay.models.language_model import Reply
from assay.models.reply_journal import RecordedReply
from assay.rag.answers import ANSWERED, FAILED, NOT_ASKED, REFUSED, Answer, Hop, read_status
from assay.rag.failures import (
    DECLINED,
    MISREAD,
    NO_REPLY,
    NOT_RETRIEVED,
    SEARCH_FAILED,
    count_causes,
    failed_questions,
    failure_cause,
)
from assay.rag.questions import Question
from assay.rag.study import RagStudy

_WITH, _WITHOUT = Hop("q", ("a",), has_answer=True), Hop("q", ("b",))


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Answer("q", "x", (_WITH,), status=ANSWERED, contained=1.0), ""),
        (Answer("q", "x", (_WITH,), status=ANSWERED, contained=0.0), MISREAD),
        (Answer("q", "x", (_WITH,), status=REFUSED, contained=0.0), DECLINED),
        (Answer("q", "x", (_WITHOUT,), status=ANSWERED, contained=0.0), NOT_RETRIEVED),
        (Answer("q", "x", (_WITHOUT,), status=REFUSED, contained=0.0), NOT_RETRIEVED),
        (Answer("q", "x", (_WITHOUT, _WITH), status=ANSWERED, contained=0.0), MISREAD),
        (Answer("q", "x", (_WITH,), status=FAILED, contained=0.0), NO_REPLY),
        (Answer("q", "x", (Hop("q", (), failure="503"),), status=FAILED, contained=0.0), SEARCH_FAILED),
        (Answer("q", "x", (_WITH,), status=NOT_ASKED), ""),
    ],
)
def test_an_answer_is_wrong_for_its_cause(answer: Answer, cause: str) -> None:
    assert failure_cause(answer, "contained") == cause


def _study() -> RagStudy:
    right, wrong = {"status": ANSWERED, "contained": 1.0}, {"status": ANSWERED, "contained": 0.0}
    rows = [("q1", "hnsw", wrong), ("q1", "ivf", right), ("q1", "exact", right)]
    rows += [("q2", "hnsw", wrong), ("q2", "ivf", wrong), ("q2", "exact", wrong)]
    rows += [("q3", "hnsw", right), ("q3", "ivf", right), ("q3", "exact", right)]
    answers = [Answer(key, name, (_WITH,), **values) for key, name, values in rows]  # type: ignore[arg-type]
    questions = [Question(key, "?", ("1",)) for key in ("q1", "q2", "q3")]
    settings = {"mode": "naive", "k": 1, "correctness": "contained"}
    return RagStudy(settings, questions, answers, {"hnsw": "graph", "ivf": "partition", "exact": "exact"})


def test_questions_that_fail_most_come_first_with_what_exact_search_gives() -> None:
    worst, other = failed_questions(_study())
    assert (worst.question.id, worst.wrong, worst.asked, worst.with_exact) == ("q2", 2, 2, MISREAD)
    assert (other.question.id, dict(other.causes), other.with_exact) == ("q1", {"hnsw": MISREAD}, "")


def test_causes_are_counted_for_each_configuration() -> None:
    counts = {name: causes[MISREAD] for name, causes in count_causes(_study()).items()}
    assert counts == {"hnsw": 2, "ivf": 1, "exact": 1}


def test_a_reply_that_was_cut_says_so() -> None:
    cut = RecordedReply(Reply("The code of the pump is 26", "length"), at=0.0, seconds=1.0)
    assert read_status(cut) == (ANSWERED, "the reply was cut at its highest length")
    whole = cut._replace(reply=Reply("The code of the pump is 2618", "stop"))
    assert read_status(whole) == (ANSWERED, "")
