"""Measures of context and answers, where their claims are true and where they are not."""

from assay.rag.answers import ANSWERED, FAILED, REFUSED, Answer, Hop
from assay.rag.measure_checks import CONTEXT_RECALL, FAITHFULNESS, REFUSAL, MeasureCheck, check_measures


def _answer(row: int, has_answer: bool, **values: object) -> Answer:
    hop = Hop("query", ("page",), has_answer=has_answer)
    return Answer(f"q{row}", "hnsw", (hop,), **{"status": ANSWERED, **values})  # type: ignore[arg-type]


def _checks(answers: list[Answer]) -> dict[str, MeasureCheck]:
    return {check.measure: check for check in check_measures(answers)}


def test_a_measure_that_says_what_it_claims_is_separated() -> None:
    rows = [_answer(n, n % 2 == 0, relevant_recall=float(n % 2 == 0)) for n in range(40)]
    check = _checks(rows)[CONTEXT_RECALL]
    assert (check.where_true.value, check.where_false.value, check.is_separated) == (1.0, 0.0, True)


def test_a_measure_that_is_the_same_everywhere_is_not_separated() -> None:
    rows = [_answer(n, n % 2 == 0, contained=1.0, supported=1.0) for n in range(40)]
    check = _checks(rows)[FAITHFULNESS]
    assert (check.where_true.value, check.where_false.value, check.is_separated) == (1.0, 1.0, False)


def test_a_wrong_answer_with_its_passage_says_nothing_of_faithfulness() -> None:
    check = _checks([_answer(1, True, contained=0.0, supported=1.0)])[FAITHFULNESS]
    assert (check.where_true.n, check.where_false.n, check.is_separated) == (0, 0, None)


def test_refusals_are_held_against_passages_without_the_answer() -> None:
    rows = [_answer(n, n % 2 == 0, status=ANSWERED if n % 2 == 0 else REFUSED) for n in range(40)]
    check = _checks(rows)[REFUSAL]
    assert (check.where_true.value, check.where_false.value) == (1.0, 0.0)


def test_questions_weigh_the_same_however_often_they_were_answered() -> None:
    rows = [_answer(1, True, relevant_recall=1.0)] * 9 + [_answer(2, True, relevant_recall=0.0)]
    check = _checks(rows)[CONTEXT_RECALL]
    assert (check.where_true.value, check.where_true.n) == (0.5, 2)


def test_what_has_no_reply_or_no_search_is_left_out() -> None:
    rows = [_answer(1, False, status=FAILED), Answer("q2", "hnsw", status=ANSWERED, relevant_recall=1.0)]
    assert all(not (check.where_true.n or check.where_false.n) for check in check_measures(rows))
