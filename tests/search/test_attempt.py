"""One attempt to ask a query: what is an answer, what is an error, and no secrets in it."""

import re
import time
from pathlib import Path

import pytest

from assay.remote.errors import RemoteError
from assay.search import run_queries as runs
from assay.search.attempt import check_answer
from assay.search.run_queries import RunOptions, run_queries
from assay.search.searcher import Answer, Query, Stage
from tests.search.searchers import NOW, Scripted, failing_at, make_queries, plain_answer


def test_an_answer_after_the_timeout_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_TIMEOUT_GRACE_NS", 60_000_000_000)

    def does(query: Query, number: int) -> Answer:
        time.sleep(2.1 if query.id == "q1" else 0)
        return plain_answer(query)

    results = run_queries(Scripted(does), make_queries(2), RunOptions(timeout=2))
    assert results.errors["timeout"] == 1
    assert "only after" in results.failures["q1"].reason


def test_a_reason_that_is_not_valid_text_is_repaired() -> None:
    results = run_queries(Scripted(failing_at(RemoteError("failed", "half \ud800"))), make_queries(3), NOW)
    assert results.failures["q1"].reason == "half ?"


@pytest.mark.parametrize("error", [ValueError("no http://me:secret@host"), SystemExit(3), KeyError("x")])
def test_any_other_exception_is_a_failed_query_with_its_message(error: BaseException) -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            raise error
        return plain_answer(query)

    results = run_queries(Scripted(does), make_queries(4), NOW)
    assert results.failures["q1"].kind == "failed"
    assert re.match(rf"\S*test_attempt.py:\d+: {type(error).__name__}: ", results.failures["q1"].reason)
    assert "secret" not in results.failures["q1"].reason
    assert len(results.answers) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (["d1"], "expected an Answer, found list"),
        (Answer([("a", float("nan"))]), "found 'a' and nan"),
        (Answer([(7, 1.0)]), "found 7 and 1.0"),  # type: ignore[list-item]
        (Answer([("", 1.0)]), "found '' and 1.0"),
        (Answer([("a", 2.0), ("b\ud800", 1.0)]), "found '\\ud800' in one"),
        (Answer([("a\0", 1.0)]), "found '\\x00' in one"),
        (Answer(["doc"]), "pairs of an id and a score"),  # type: ignore[list-item]
        (Answer([("a", 2.0), ("b", 1.0), ("a", 1.0)]), "'a' appears twice"),
        (Answer([], (Stage("bm25", [("a", 2.0), ("a", 1.0)], 1),)), "'a' appears twice"),
    ],
)
def test_an_answer_that_cannot_be_scored_is_malformed(answer: Answer, reason: str) -> None:
    results = run_queries(Scripted(lambda query, number: answer), make_queries(1), NOW)
    assert results.failures["q0"].kind == "malformed"
    assert reason in results.failures["q0"].reason


def test_scores_of_any_number_type_become_floats() -> None:
    import numpy as np

    results = Answer([("a", np.float32(0.5)), ("b", 0)])  # type: ignore[list-item]
    assert check_answer(results, 5).documents == [("a", 0.5), ("b", 0.0)]


def leaks(query: Query, number: int) -> Answer:
    """Fail with the secret in the message, once across the position where messages are cut."""
    secret = "very-secret-1207"
    if query.id == "q0":
        raise SystemExit(f"bye {secret}")
    raise RemoteError("malformed", "x" * 292 + secret if query.id == "q1" else f"no JSON: Bearer {secret}")


def test_no_secret_is_stored_with_any_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", "very-secret-1207")
    results = run_queries(Scripted(leaks), make_queries(3), NOW, tmp_path)
    assert results.journal is not None
    stored = results.journal.read_text() + str(results.to_dict())
    assert "very-sec" not in stored
    assert results.failures["q0"].reason.endswith(": SystemExit: bye ${ASSAY_TEST_KEY}")


def test_variables_of_the_configuration_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_TENANT", "acme-7")  # its name is not that of a secret
    searcher = Scripted(failing_at(RemoteError("failed", "who is acme-7?")))
    monkeypatch.setattr(searcher, "configuration", lambda: {"tenant": "${ASSAY_TEST_TENANT}"})
    assert run_queries(searcher, make_queries(3), NOW).failures["q1"].reason == "who is ${ASSAY_TEST_TENANT}?"
