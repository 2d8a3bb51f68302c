"""assay shadow: a mirror as a process of its own, and its report."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.cli import call
from assay.rollout.shadow.records import Exchange
from assay.store.store import Store
from assay.workflows.shadow import read_saved_report
from tests.rollout.endpoints import Endpoint, answer, ask, endpoint, hits
from tests.rollout.mirrors import lines, wait_until
from tests.rollout.shadow_logs import exchange, write_log

ROWS = [exchange(f"q{n}", ["a", "b"], ["b", "a"] if n < 3 else ["a", "b"], ["a", "b"]) for n in range(30)]
Shown = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> str:
    return write_log(tmp_path / "shadow.jsonl", ROWS, dropped=2)


def test_the_report_is_printed(log: str, capsys: Shown) -> None:
    assert call(["shadow", "report", log]) == 0
    printed = capsys.readouterr().out
    assert "30 of 30 logged requests compared, for 30 different queries" in printed
    assert "32 requests arrived, 30 were mirrored, 2 dropped; not mirrored: queue full 2" in printed
    assert "10.0 % (2.1 … 26.5) of 30 queries differ by more than that" in printed


@pytest.mark.parametrize(
    ("style", "beginning"),
    [("json", "{"), ("csv", "part,system"), ("md", "## Shadow"), ("html", "<!doctype")],
)
def test_the_report_has_every_format(log: str, capsys: Shown, style: str, beginning: str) -> None:
    assert call(["shadow", "report", log, "--format", style]) == 0
    assert capsys.readouterr().out.lower().startswith(beginning.lower())


def test_a_saved_report_is_found_by_its_name(log: str, tmp_path: Path, capsys: Shown) -> None:
    store = str(tmp_path / "store")
    assert call(["shadow", "report", log, "--save", "new-ranker", "--store", store, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    saved = read_saved_report("new-ranker", store)
    assert saved.body == printed
    assert saved.body["counts"]["compared"] == 30
    assert Store(store).shadow_reports()[0].id == saved.id


def test_judgments_add_measures(log: str, tmp_path: Path, capsys: Shown) -> None:
    (tmp_path / "qrels.txt").write_text("1 0 b 1\n")
    (tmp_path / "queries.jsonl").write_text('{"query_id": "1", "text": "Q1"}\n')
    files = ["--qrels", str(tmp_path / "qrels.txt"), "--queries", str(tmp_path / "queries.jsonl")]
    assert call(["shadow", "report", log, *files, "-m", "RR@10"]) == 0
    assert "RR@10     0.5000     1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["report", "none.jsonl"], "none.jsonl"),
        (["report", "LOG", "--offline", "a", "b"], "--offline expects --save"),
        (["report", "LOG", "--queries", "q.jsonl"], "it expects --qrels"),
        (["report", "LOG", "--k", "0"], "--k must be 1 or more"),
        (["mirror", "--listen", "host"], "--listen expects HOST:PORT"),
        (["mirror", "--sample", "2"], "sample: expected a share"),
        (["mirror", "--log", "/proc/none/x"], "cannot be written"),
    ],
)
def test_wrong_use_is_refused(log: str, capsys: Shown, options: list[str], problem: str) -> None:
    words = [log if word == "LOG" else word for word in options]
    if words[0] == "mirror":
        words[1:1] = [
            "--primary",
            "http://a",
            "--candidate",
            "http://b",
            "--listen",
            "0",
            "--log",
            f"{log}.new",
        ]
    assert call(["shadow", *words]) == 2
    assert problem in capsys.readouterr().err


@contextmanager
def mirror(log: Path, primary: str, candidate: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process of `assay shadow mirror`, and its port."""
    command = [str(Path(sys.executable).with_name("assay")), "shadow", "mirror", "--listen", "127.0.0.1:0"]
    command += ["--primary", primary, "--candidate", candidate, "--log", str(log), "--timeout", "0.3"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, process_group=0) as process:
        assert process.stderr
        address = process.stderr.readline().split()[0]
        yield process, int(address.rpartition(":")[2])
        process.kill()


def answers(path: Path) -> list[str]:
    return [r["query_attributes"]["variant"] for r in lines(path) if "query_attributes" in r]


@contextmanager
def endpoints() -> Iterator[tuple[Endpoint, Endpoint]]:
    with (
        endpoint(lambda server, request, connection: answer(connection, hits("a"))) as primary,
        endpoint(lambda server, request, connection: server.released.wait() and False) as candidate,
    ):
        yield primary, candidate


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_mirror_that_is_stopped_loses_no_request_that_was_mirrored(
    tmp_path: Path, number: int, code: int
) -> None:
    log = tmp_path / "shadow.jsonl"
    with endpoints() as (primary, hung), mirror(log, primary.url, hung.url) as (process, port):
        for place in range(40):
            assert ask(port, f"/search?q={place}")[0] == 200
        os.killpg(process.pid, number)  # as a terminal does
        assert process.stderr
        printed = process.stderr.read()
        assert process.wait() == code
    assert "40 requests, 40 mirrored" in printed
    assert answers(log).count("primary") == 40
    assert lines(log)[-1]["event_attributes"]["counts"]["logged"] == 40


def test_a_mirror_that_is_killed_leaves_a_complete_log(tmp_path: Path) -> None:
    log = tmp_path / "shadow.jsonl"
    with endpoints() as (primary, hung), mirror(log, primary.url, hung.url) as (process, port):
        for number in range(10):
            ask(port, f"/search?q={number}")
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: lines(log) and "event_attributes" in lines(log)[-1])
    found = answers(log)
    assert found.count("candidate") == found.count("primary") >= 9  # the last may not have been mirrored yet


def test_the_records_of_an_exchange_share_its_id() -> None:
    first: Exchange = ROWS[0]
    ids = [record["query_id"] for record in first.to_records()]
    assert ids == [first.id, f"{first.id}-candidate", f"{first.id}-repeat"]
