"""The log of a shadow: whole lines, no secrets, and no caller that waits for the disk."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from assay.core.errors import InputError, StoreError
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.records import MAX_HITS, CallAnswer, Exchange
from tests.rollout.mirrors import lines

FOUND = CallAnswer(1.5, ["a", "b"])


def exchange(query: str = "vpn", answer: CallAnswer = FOUND) -> Exchange:
    return Exchange(query, answer, answer)


def test_a_line_that_a_killed_process_left_incomplete_stays_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"application": "ass')
    log = ShadowLog(path)
    log.put(exchange())
    log.close()
    first, *rest = path.read_text().splitlines()
    assert first == '{"application": "ass'
    assert [json.loads(line)["application"] for line in rest] == ["assay-shadow"] * 3


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    log = ShadowLog(tmp_path / "s.jsonl")
    with pytest.raises(InputError, match=r"another process writes this log.*\{pid\}"):
        ShadowLog(tmp_path / "s.jsonl")
    log.close()


def test_each_process_of_a_service_can_have_a_file(tmp_path: Path) -> None:
    log = ShadowLog(tmp_path / "s-{pid}.jsonl")
    log.close()
    assert log.path.name.removeprefix("s-").removesuffix(".jsonl").isdecimal()


def test_a_folder_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        ShadowLog("/proc/none/s.jsonl")


def test_a_full_disk_loses_exchanges_whole_and_says_so(small_disk: Path) -> None:
    log = ShadowLog(small_disk / "s.jsonl")
    long = CallAnswer(1.0, ["x" * 500] * MAX_HITS)
    for _ in range(4):
        log.put(exchange(answer=long))
    log.close()
    counts = log.counts.to_dict()
    assert (counts["logged"], counts["log_dropped"]) == (2, 2)
    assert log.error
    assert log.path.read_bytes().endswith(b"\n")
    written = lines(log.path)
    assert [len(row["query_response_hit_ids"]) for row in written[:2]] == [MAX_HITS] * 2


def test_secrets_are_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", "abcdef123456")
    log = ShadowLog(tmp_path / "s.jsonl")
    failed = CallAnswer(1.0, None, "connection", "https://me:hush@host/?key=abcdef123456 refused")
    log.put(Exchange("abcdef123456", failed, failed, request="GET /abcdef123456"))
    log.close()
    text = log.path.read_text()
    assert "abcdef123456" not in text
    assert "hush" not in text
    assert "${SEARCH_API_KEY}" in text


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    log = ShadowLog(tmp_path / "s.jsonl")
    log.close()
    assert log.path.stat().st_mode & 0o077 == 0


def test_a_process_that_is_killed_loses_no_complete_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    program = dedent(f"""
        import os, signal, time
        from assay.rollout.shadow.log import ShadowLog
        from assay.rollout.shadow.records import CallAnswer, Exchange
        log = ShadowLog({str(path)!r})
        answer = CallAnswer(1.0, ["a"])
        for number in range(50):
            log.put(Exchange(str(number), answer, answer))
        while log.counts.to_dict()["logged"] < 50:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    subprocess.run([sys.executable, "-c", program], check=False)
    assert [row["user_query"] for row in lines(path)][::2] == [str(number) for number in range(50)]
