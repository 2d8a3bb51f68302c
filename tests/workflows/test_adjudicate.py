"""Decisions about pairs on which judges differ: listed, made key by key, and read from a file."""

import io
import json
from pathlib import Path

import pytest

from assay.cli import call
from assay.core.errors import InputError
from assay.core.tables import Qrels
from assay.datasets import read
from assay.datasets.judgment_files import read_judgments
from assay.workflows.adjudicate import AdjudicateRequest, AdjudicationSession, adjudicate

LABELS = """query_id,doc_id,judge,grade,note
q1,a,ann,2,names the price
q1,a,bob,0,
q1,b,ann,1,
q1,b,bob,1,
q2,a,ann,1,
q2,a,bob,2,
q2,b,ann,0,
q2,b,bob,1,
q2,c,ann,,no text
q2,c,bob,2,
"""
DISPUTES = {("q1", "a"), ("q2", "a"), ("q2", "b")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(LABELS)


def open_session(**options: object) -> AdjudicationSession:
    given = {"judgments": ["labels.csv"], "adjudicator": "dee", "output": "decisions.jsonl", **options}
    session = adjudicate(AdjudicateRequest(**given))  # type: ignore[arg-type]
    assert isinstance(session, AdjudicationSession)
    return session


def press(keys: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(keys))
    return call(["judge", "adjudicate", "labels.csv", "--by", "dee", "-o", "decisions.jsonl", *options])


def saved() -> list[tuple[str, str, float | None]]:
    return read_judgments("decisions.jsonl").frame.select("query_id", "doc_id", "grade").rows()


def test_disagreements_are_listed_the_widest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", "adjudicate", "labels.csv", "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["counts"] == {"judged_twice": 4, "disputes": 3, "decided": 0, "remaining": 3}
    first = result["disputes"][0]
    assert (first["query_id"], first["grades"], first["spread"]) == ("q1", {"ann": 2, "bob": 0}, 2)
    assert (first["is_decided"], first["decision"]) == (False, None)
    call(["judge", "adjudicate", "labels.csv", "--least-difference", "2"])
    assert "1 of 4 pairs with two labels or more are disputed" in capsys.readouterr().out


def test_the_order_follows_from_the_seed_and_not_from_the_file() -> None:
    orders = [open_session(seed=seed).disputes.blind_order() for seed in range(8)]
    assert {frozenset(order) for order in orders} == {frozenset(DISPUTES)}
    assert len({tuple(order) for order in orders}) > 1
    lines = LABELS.splitlines()
    Path("labels.csv").write_text("\n".join([lines[0], *lines[:0:-1]]))
    assert open_session(seed=3).disputes.blind_order() == orders[3]


def test_every_decision_is_on_the_disk_before_the_next_pair() -> None:
    session = open_session()
    first = session.adjudication.current
    assert first is not None
    session.decide(2.0, "right")
    row = read_judgments("decisions.jsonl").frame.row(0, named=True)
    assert (row["query_id"], row["judge"], row["grade"]) == (first.query_id, "adjudicator dee", 2)
    assert (row["note"], row["source"]) == ("right", "adjudicate, seed 0")
    assert row["at"] is not None


def test_a_session_goes_on_where_the_last_one_ended() -> None:
    session = open_session()
    session.decide(1.0)
    again = open_session()
    assert (again.adjudication.remaining, again.adjudication.own_decisions) == (2, 1)
    assert again.undo()
    assert again.adjudication.remaining == 3
    assert not Path("decisions.jsonl").exists()
    assert not again.undo()


def test_keys_decide_skip_undo_and_quit(monkeypatch: pytest.MonkeyPatch) -> None:
    order = open_session().disputes.blind_order()
    assert press("2 good\nx\nu\ns\nc broken\nq\n", monkeypatch) == 0
    assert saved() == [(*order[1], None)]
    assert press("0\n1\n1\n", monkeypatch, "--qrels", "qrels.txt") == 0
    assert saved() == [(*order[1], None), (*order[0], 0), (*order[2], 1)]
    grades = {("q1", "b"): 1.0, ("q2", "c"): 2.0, order[0]: 0.0, order[2]: 1.0}
    nested: dict[str, dict[str, float]] = {"q1": {}, "q2": {}}
    for (query, doc), grade in grades.items():
        nested[query][doc] = grade
    assert read("qrels.txt", "qrels") == Qrels(nested)
    recipe = json.loads(Path("qrels.recipe.json").read_text())["labels"]
    assert (recipe["fallback"], recipe["adjudicators"]) == ("unanimous", ["adjudicator dee"])


def test_the_screen_shows_texts_and_grades_without_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("queries.jsonl").write_text(
        '{"query_id": "q1", "text": "price?"}\n{"query_id": "q2", "text": "vpn?"}\n'
    )
    Path("docs.jsonl").write_text(
        '{"doc_id": "a", "text": "It costs 3."}\n{"doc_id": "b", "text": "\\u001b[2J"}\n'
    )
    texts = ["--queries", "queries.jsonl", "--documents", "docs.jsonl"]
    press("s\ns\ns\nq\n", monkeypatch, *texts)
    screen = capsys.readouterr().err
    assert "query: price?\n\ndocument: It costs 3.\n\ngrades: 0 × 1, 2 × 1\nnote: names the price" in screen
    assert "bob" not in screen
    assert "\x1b" not in screen
    press("s\ns\ns\nq\n", monkeypatch, *texts, "--hide-grades")
    assert "grades:" not in capsys.readouterr().err


def test_decisions_of_a_file_become_those_of_the_adjudicator() -> None:
    Path("decided.qrels").write_text("q1 0 a 2\n")
    request = AdjudicateRequest(
        judgments=["labels.csv"],
        adjudicator="dee",
        output="decisions.csv",
        decisions="decided.qrels",
        qrels="qrels.txt",
        fallback="",
    )
    result = adjudicate(request)
    assert result.to_dict()["counts"] == {"judged_twice": 4, "disputes": 3, "decided": 1, "remaining": 2}  # type: ignore[union-attr]
    assert read_judgments("decisions.csv").judges == ["adjudicator dee"]
    assert read("qrels.txt", "qrels") == Qrels({"q1": {"a": 2}})
    with pytest.raises(
        InputError, match=r"decisions.csv has a decision about document 'a' of query 'q1' already"
    ):
        adjudicate(request)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("q9 0 a 2\n", "document 'a' of query 'q9', which no judge labelled"),
        ("query_id,doc_id,ann,bob\nq1,a,1,2\n", "expected decisions of one person, found 2 judges: ann, bob"),
    ],
)
def test_decisions_that_cannot_be_used_are_refused(content: str, problem: str) -> None:
    Path("decided").write_text(content)
    request = AdjudicateRequest(
        judgments=["labels.csv"], adjudicator="dee", output="d.csv", decisions="decided"
    )
    with pytest.raises(InputError, match=problem):
        adjudicate(request)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--by", "dee"], "--by NAME needs -o FILE"),
        (["-o", "d.jsonl"], "need --by NAME: the person who decides"),
        (["--by", "dee", "-o", "d.txt"], "-o expects a file name with .jsonl"),
        (["--by", " ", "-o", "d.csv"], "expected the name of the person who decides, found none"),
        (["--grades", "0;1", "--by", "dee", "-o", "d.csv"], "--grades expects numbers separated by commas"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["judge", "adjudicate", "labels.csv", *options]) == 2
    assert problem in capsys.readouterr().err


def test_a_file_that_another_program_changed_is_not_overwritten() -> None:
    first, second = open_session(), open_session()
    first.decide(1.0)
    with pytest.raises(InputError, match=r"decisions\.jsonl was changed by another program"):
        second.decide(2.0)
    assert [grade for *_, grade in saved()] == [1.0]


@pytest.mark.parametrize("style", ["csv", "md", "html", "latex"])
def test_every_format_has_the_decisions(
    style: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    press("2\nc broken\nq\n", monkeypatch, "--format", style)
    assert "cannot be rated" in capsys.readouterr().out


def test_labels_of_adjudicators_alone_have_no_disputes() -> None:
    Path("labels.csv").write_text("query_id,doc_id,judge,grade\nq,d,adjudicator a,1\n")
    with pytest.raises(InputError, match="found only those of adjudicators"):
        adjudicate(AdjudicateRequest(judgments=["labels.csv"]))


def test_the_labels_are_neither_decisions_nor_replaced_by_the_qrels() -> None:
    for options in ({"output": "labels.csv"}, {"qrels": "labels.csv"}):
        with pytest.raises(InputError, match=r"labels.csv is also read, and would be lost"):
            open_session(**options)


def test_a_negative_number_of_disputes_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", "adjudicate", "labels.csv", "--limit", "-1"]) == 2
    assert "--limit must be 0 or more, found -1" in capsys.readouterr().err
