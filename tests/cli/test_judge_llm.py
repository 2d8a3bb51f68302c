"""`assay judge llm` against a double of an endpoint, and with the small real model."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli import call
from assay.datasets.judgment_files import read_judgments
from assay.workflows.language_models import ModelRequest, open_journal
from tests.chat_doubles import ChatDouble, chat_double
from tests.local_models import ASSAY, SMALL, served_small_model

PRICES = ("--price-in", "1", "--price-out", "1")
REPLY_COST = 110 / 1e6
COUNT = 12


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve pairs of a query and a document; people gave every other pair a 1."""
    monkeypatch.chdir(tmp_path)
    rows = range(COUNT)
    queries = [{"query_id": f"q{i}", "text": f"word{i} here", "kind": "ab"[i % 2]} for i in rows]
    documents = [{"doc_id": f"d{i}", "text": f"word{i}" if i % 2 else "other"} for i in rows]
    pool = [{"query_id": f"q{i}", "doc_id": f"d{i}", "inclusion_probability": 0.5} for i in rows]
    for name, table in (("queries", queries), ("documents", documents), ("pool", pool)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    Path("human.txt").write_text("".join(f"q{i} 0 d{i} {i % 2}\n" for i in rows))


def command(url: str, *options: str) -> list[str]:
    tables = ["--pairs", "pool.jsonl", "--queries", "queries.jsonl", "--documents", "documents.jsonl"]
    model = ["--endpoint", url, "--model", "m", "--workers", "2"]
    return ["judge", "llm", *tables, *model, "-o", "labels.jsonl", *options]


def judge(
    server: ChatDouble, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, Any]]:
    code = call([*command(server.url, *options), "--format", "json"])
    output = capsys.readouterr()
    assert output.out, output.err
    return code, json.loads(output.out)


def test_labels_evidence_and_cost_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        code, result = judge(server, capsys, *PRICES, "--qrels", "human.txt", "--by", "kind")
    labels = result["labels"]
    assert (code, labels["labelled"], labels["missing"]) == (0, COUNT, 0)
    assert labels["spent"]["cost"] == pytest.approx(COUNT * REPLY_COST)
    assert labels["parameters_sent"] == [
        {"model": "m", "max_tokens": 24, "temperature": 0.0, "structured": True, "answered_by": "double-1"}
    ]
    assert result["worth"]["kappa"]["value"] == 1
    assert [part["slice"] for part in result["worth"]["slices"]] == ["a", "b"]
    judgments = read_judgments("labels.jsonl")
    assert (judgments.judges, len(judgments)) == (["m"], COUNT)
    replies = [json.loads(line) for line in Path(result["replies"]).read_text().splitlines()]
    assert sum("reply" in row for row in replies) == COUNT


def test_a_second_call_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        judge(server, capsys, *PRICES)
        first = Path("labels.jsonl").read_bytes()
        _, result = judge(server, capsys, *PRICES)
        assert set(server.billed.values()) == {1}
    assert (result["labels"]["spent"]["cost"], result["labels"]["spent"]["reused"]) == (0, COUNT)
    assert Path("labels.jsonl").read_bytes() == first


def test_replies_without_one_grade_and_refusals_are_no_labels(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double("prose", "high", "empty", "refuse", "sorry", "page", "hollow") as server:
        code, result = judge(server, capsys, *PRICES)
        assert sum(server.billed.values()) == COUNT
        judge(server, capsys, *PRICES)
        assert sum(server.billed.values()) == COUNT
    labels = result["labels"]
    assert (code, labels["labelled"], labels["unreadable"], labels["refused"]) == (0, COUNT - 7, 5, 2)
    frame = read_judgments("labels.jsonl").frame
    assert frame["grade"].null_count() == 7
    assert all(frame.filter(frame["grade"].is_null())["note"].str.contains("unreadable|refused"))


def test_replies_without_a_label_are_asked_for_again_if_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double("prose") as server:
        judge(server, capsys)
        code, result = judge(server, capsys, "--retry-unreadable")
    assert (code, result["labels"]["unreadable"], result["labels"]["spent"]["requests"]) == (0, 0, 1)


def test_limits_errors_and_cuts_are_survived(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double("429:0", "cut", "503", "cut") as server:
        code, result = judge(server, capsys, *PRICES)
    spent = result["labels"]["spent"]
    assert (code, result["labels"]["labelled"]) == (0, COUNT)
    assert spent["cost"] == pytest.approx(COUNT * REPLY_COST)
    assert 0 < spent["possible_cost"] < 0.01  # of the two cut replies


def test_an_endpoint_that_is_gone_ends_the_work_and_the_next_call_continues(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with chat_double(*["", ""], *["500"] * 20) as server:
        code, result = judge(server, capsys, "--retries", "0")
        assert (code, result["labels"]["labelled"]) == (3, 2)
        assert "500" in result["labels"]["stopped_by"]
        server.faults.clear()
        code, result = judge(server, capsys)
        assert set(server.billed.values()) == {1}
    assert (code, result["labels"]["labelled"], result["labels"]["spent"]["reused"]) == (0, COUNT, 2)


def test_the_budget_ends_the_work_before_it_is_exceeded(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        _, result = judge(server, capsys, *PRICES, "--estimate")
        budget = result["estimate"]["highest_cost"] / COUNT + 5 * REPLY_COST
        code, result = judge(server, capsys, *PRICES, "--budget", str(budget))
        assert sum(server.billed.values()) * REPLY_COST <= budget
    assert (code, result["labels"]["stopped_by"]) == (3, "budget")
    assert 0 < result["labels"]["labelled"] < COUNT


def test_an_estimate_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        code, result = judge(server, capsys, *PRICES, "--estimate", "--draws", "2")
        assert not server.bodies
    estimate = result["estimate"]
    assert (code, estimate["requests"]) == (0, 2 * COUNT)
    assert 0 < estimate["cost"] < estimate["highest_cost"]


def test_draws_show_how_consistent_the_model_is(capsys: pytest.CaptureFixture[str]) -> None:
    replies = iter(["1", "1", "3"] * COUNT)
    with chat_double(answer=lambda message: next(replies)) as server:
        _, result = judge(server, capsys, "--draws", "3", "--workers", "1")
    consistency = result["labels"]["self_consistency"]
    assert consistency["value"] == pytest.approx(1 / 3)
    assert result["labels"]["grades"]["1"] == COUNT
    assert read_judgments("labels.jsonl").frame["note"][0] == "draws 1, 1, 3"


def test_a_judge_may_gate_only_if_it_meets_the_thresholds(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        good = judge(server, capsys, "--qrels", "human.txt", "--require", "kappa=0.4")
    with chat_double(answer=lambda message: '{"grade": 0}') as server:
        options = ("--replies", "others", "--qrels", "human.txt", "--require", "kappa=0.4")
        bad = judge(server, capsys, *options)
    assert (good[0], good[1]["requirements"]["may_gate"]) == (0, True)
    assert (bad[0], bad[1]["requirements"]["may_gate"]) == (1, False)


def test_a_judged_model_of_the_same_family_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        options = ["--model", "qwen2.5-7b", "--qrels", "human.txt", "--judged-models", "bm25,Qwen3-Reranker"]
        assert call(command(server.url, *options)) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "the judge and the judged model Qwen3-Reranker are of one family (Qwen)" in output


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--grades", "1-9"], "grades: expected one of 0-1"),
        (["--fields", "body"], "the documents have none of body"),
        (["--pairs", "human.txt", "--documents", "queries.jsonl"], "queries.jsonl"),
        (["--budget", "1"], "--budget needs prices"),
        (["--require", "kappa=0.4"], "give --qrels"),
        (["--qrels", "human.txt", "--require", "kapa=0.4"], "did you mean kappa"),
        (["--draws", "0"], "--draws expects at least 1"),
        (["--rate", "0"], "--rate expects a number above 0"),
        (["--timeout", "nan"], "--timeout expects a number above 0"),
        (["--retries", "-1"], "--retries expects at least 0"),
        (["--workers", "0"], "workers: expected at least 1"),
        (["--price-in", "-1"], "price_prompt: must be 0 or more"),
        (["--endpoint", "ftp://x"], "--endpoint: expected https://HOST/v1"),
        (["--key-env", "NOT_SET"], "the environment variable NOT_SET is not set"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_asked(
    options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_double() as server:
        assert call(command(server.url, *options)) == 2
        assert not server.bodies
    assert problem in capsys.readouterr().err


def start(url: str, *options: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.Popen(
        [ASSAY, *command(url, *options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def wait_for_replies(server: ChatDouble, count: int) -> None:
    end = time.monotonic() + 60
    while sum(server.billed.values()) < count:
        assert time.monotonic() < end, "no replies"
        time.sleep(0.005)


def test_after_a_kill_at_most_one_reply_of_each_worker_is_paid_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with chat_double(seconds=0.05) as server:
        process = start(server.url, *PRICES)
        wait_for_replies(server, 4)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        code, result = judge(server, capsys, *PRICES)
        twice = sum(count - 1 for count in server.billed.values())
    assert (code, result["labels"]["labelled"]) == (0, COUNT)
    assert set(server.billed.values()) <= {1, 2}
    assert twice <= result["labels"]["spent"]["unanswered"] <= 2
    spent = result["labels"]["spent"]
    assert spent["total_cost"] + spent["possible_cost"] >= sum(server.billed.values()) * REPLY_COST


def test_ctrl_c_keeps_every_reply_that_was_paid(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double(seconds=0.1) as server:
        process = start(server.url, *PRICES)
        wait_for_replies(server, 3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "replies are stored in llm-replies: the same command continues" in errors
        code, result = judge(server, capsys, *PRICES)
        assert set(server.billed.values()) == {1}
    assert (code, result["labels"]["labelled"]) == (0, COUNT)
    assert result["labels"]["spent"]["possible_cost"] == 0


def test_two_processes_do_not_pay_for_the_same_replies(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_double() as server:
        model = ModelRequest(endpoint=server.url, model="m")
        with open_journal(model.load(), model):
            assert call(command(server.url)) == 2
        assert not server.bodies
    assert "another run is writing this journal" in capsys.readouterr().err


@pytest.fixture(scope="module")
def small_model_url() -> Iterator[str]:
    with served_small_model() as (url, reason):
        if not url:
            pytest.skip(reason)
        yield url


def test_the_small_real_model_judges_and_the_report_says_how_badly(
    small_model_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = Path("pool.jsonl").read_text().splitlines()
    Path("few.jsonl").write_text("\n".join(pool[:4]))
    options = ["--pairs", "few.jsonl", "--model", SMALL, "--workers", "1", "--max-tokens", "12"]
    options += ["--qrels", "human.txt", "--require", "kappa=0.4"]
    assert call(command(small_model_url, *options)) == 1
    output = " ".join(capsys.readouterr().out.split())
    assert "4 requests in" in output
    assert "the judge must not gate" in output
    assert "no better than chance" in output or "κ is undefined" in output


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_paid(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pool = Path("pool.jsonl").read_text()
    cases = {
        "labels.doc": "format cannot be told",
        "pool.jsonl": "would be lost",
        "no/labels.csv": "no folder",
    }
    with chat_double() as server:
        for output, problem in cases.items():
            assert call([*command(server.url), "-o", output]) == 2
            assert problem in capsys.readouterr().err
        assert not server.bodies
    assert Path("pool.jsonl").read_text() == pool


@pytest.mark.parametrize(
    ("url", "options", "problem"),
    [
        ("nonsense", (), "--endpoint: expected https://HOST/v1, found 'nonsense'"),
        ("http://127.0.0.1:9/v1", ("--key-env", "NO_SUCH_KEY"), "--key-env: the environment variable"),
        ("http://127.0.0.1:9/v1", (*PRICES, "--budget", "-4"), "--budget expects 0 or more, found -4"),
    ],
)
def test_wrong_settings_of_an_endpoint_are_named_as_on_the_command_line(
    capsys: pytest.CaptureFixture[str], url: str, options: tuple[str, ...], problem: str
) -> None:
    assert call(command(url, *options)) == 2
    assert problem in capsys.readouterr().err
