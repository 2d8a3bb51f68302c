"""`assay dataset generate-queries`: written by a model, reviewed by a person, then an evaluation set."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli import call
from assay.datasets import read_collection
from tests.chat_doubles import ChatDouble, chat_double
from tests.local_models import SMALL, served_small_model


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"doc_id": f"d{i}", "title": f"Title {i}", "text": f"The text of document {i}."} for i in range(4)
    ]
    Path("documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_queries(message: str) -> str:
    """Two queries of the document's own, and one that all documents share."""
    number = message.strip()[-2]
    return json.dumps({"queries": [f"what is {number}", f"where is {number}?", "How do I start?"]})


def generate(
    server: ChatDouble, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, Any]]:
    model = ["--endpoint", server.url, "--model", "m", "--format", "json", "-o", "generated.jsonl"]
    code = call(["dataset", "generate-queries", "documents.jsonl", *model, *options])
    output = capsys.readouterr()
    assert output.out, output.err
    return code, json.loads(output.out)


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("generated.jsonl").read_text().splitlines()]


def review(monkeypatch: pytest.MonkeyPatch, *keys: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
    command = ["dataset", "generate-queries", "documents.jsonl", "--review", "generated.jsonl"]
    return call([*command, "--reviewer", "ann"])


def test_queries_wait_for_review_and_duplicates_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double(answer=write_queries) as server:
        code, result = generate(server, capsys)
    assert (code, result["queries"], result["duplicates"]) == (0, 9, 3)
    assert {row["status"] for row in rows()} == {"to review"}
    assert result["statuses"]["to review"] == 9


def test_queries_that_exist_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    Path("known.jsonl").write_text(json.dumps({"query_id": "q", "text": "What is 2"}) + "\n")
    with chat_double(answer=write_queries) as server:
        _, result = generate(server, capsys, "--known", "known.jsonl")
    assert result["queries"] == 8


def test_a_second_call_pays_nothing_and_keeps_reviews(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_double(answer=write_queries) as server:
        generate(server, capsys)
        assert review(monkeypatch, "a", "r", "e where do I begin", "q") == 0
        capsys.readouterr()
        before = rows()
        _, result = generate(server, capsys)
        assert set(server.billed.values()) == {1}
    assert rows() == before
    assert result["statuses"] == {"to review": 6, "accepted": 1, "edited": 1, "rejected": 1}


def test_only_reviewed_queries_become_an_evaluation_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    export = ["dataset", "generate-queries", "documents.jsonl", "--reviewed", "generated.jsonl", "-o", "set"]
    with chat_double(answer=write_queries) as server:
        generate(server, capsys)
    assert call(export) == 3
    assert "no query was accepted or edited yet" in capsys.readouterr().err
    assert review(monkeypatch, "a", "r", "e where do I begin", "l") == 0
    assert call(export) == 0
    collection = read_collection("set")
    assert collection.queries is not None
    assert collection.qrels is not None
    assert collection.documents is not None
    assert collection.queries.columns["text"] == ["what is 0", "where do I begin"]
    assert sorted(d for docs in collection.qrels.to_dict().values() for d in docs) == ["d0", "d0"]
    assert [row.get("reviewer") for row in rows()[:4]] == ["ann", "ann", "ann", None]
    assert rows()[2]["generated_text"] == "How do I start?"


def test_each_decision_is_kept_if_the_review_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_double(answer=write_queries) as server:
        generate(server, capsys)
    review(monkeypatch, "x", "a")  # an unknown key, one decision, and the end of the input
    assert "expected one of these keys, found 'x'" in capsys.readouterr().err
    assert [row["status"] for row in rows()].count("accepted") == 1


def test_replies_without_queries_give_none(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double("prose", "refuse", "page", answer=write_queries) as server:
        _, result = generate(server, capsys, "--workers", "1")
    assert (result["unreadable"], result["queries"]) == (3, 3)


def test_a_sample_of_documents_and_a_budget_limit_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double(answer=write_queries) as server:
        _, sample = generate(server, capsys, "--limit", "2", "--seed", "1")
        code, result = generate(server, capsys, "--price-in", "1", "--price-out", "1", "--budget", "0.00022")
    assert sample["documents"] == 2
    assert (code, result["stopped_by"], result["missing"]) == (3, "budget", 2)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "expected also --endpoint, --model, --out"),
        (["--reviewed", "x.jsonl"], "give -o FOLDER"),
        (["--review", "x.jsonl"], "x.jsonl"),
    ],
)
def test_wrong_use_says_what_is_expected(
    options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["dataset", "generate-queries", "documents.jsonl", *options]) == 2
    assert problem in capsys.readouterr().err


def test_a_damaged_file_of_queries_is_refused_by_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("generated.jsonl").write_text('{"query_id": "g", "text": "t", "doc_id": "d", "status": "fine"}\n')
    command = ["dataset", "generate-queries", "documents.jsonl", "--review", "generated.jsonl"]
    assert call(command) == 2
    assert "generated.jsonl:1: expected query_id, text, doc_id and a status" in capsys.readouterr().err


def test_the_small_real_model_writes_queries_for_review(capsys: pytest.CaptureFixture[str]) -> None:
    with served_small_model() as (url, reason):
        if not url:
            pytest.skip(reason)
        model = ["--endpoint", url, "--model", SMALL, "-o", "generated.jsonl", "--workers", "1"]
        options = ["--limit", "1", "--per-document", "1", "--format", "json"]
        assert call(["dataset", "generate-queries", "documents.jsonl", *model, *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["queries"] + result["unreadable"] == 1
    assert result["statuses"]["accepted"] == 0
