"""Searches by a command: one process for each query, or one that is kept."""

import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from assay.search import Query, Searcher, SearchError
from assay.search.registry import (
    build_searcher,
)
from tests.search.searches import SECRET, failure_of


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", SECRET)


def command(*words: str, lines: bool = False) -> Searcher:
    return build_searcher("command", "c", {"command": list(words), "lines": lines})


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("program", "kind", "words"),
    [
        (
            "import sys; sys.stdin.readline(); sys.exit('the index is broken')",
            "failed",
            "1: the index is broken",
        ),
        ("input(); print('[1, 2')", "malformed", "no JSON"),
        ("input(); print('{\"a\": 1}')", "malformed", "expected a list of documents"),
        ("import os; input(); os.system('sleep 60')", "timeout", "did not answer in time"),
        ("input(); print('1' * 10_000_001)", "too large", "more than 10,000,000 bytes"),
        (
            "import os; input(); print(os.environ['ASSAY_TEST_KEY'], file=__import__('sys').stderr); 1/0",
            "failed",
            "",
        ),
    ],
)
def test_each_failure_of_a_command_has_its_kind(lines: bool, program: str, kind: str, words: str) -> None:
    limit = 2 if kind == "timeout" else 30
    error = failure_of(command(sys.executable, "-S", "-c", program, lines=lines), timeout=limit)
    assert (error.kind, error.is_transient) == (kind, kind == "timeout")
    assert words in error.reason


def test_a_late_command_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"sleep 61 & echo $! >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"
    for limit in (2, 10, 30):  # until the process has started its child
        assert failure_of(command("sh", "-c", script), timeout=limit).kind == "timeout"
        if (tmp_path / "pid").exists():
            break
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    until = time.monotonic() + 30
    while not has_ended(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert has_ended(child)


@pytest.mark.parametrize("lines", [False, True])
def test_closing_kills_an_active_command_with_its_children(lines: bool, tmp_path: Path) -> None:
    script = f"sleep 61 & echo $! >{tmp_path}/$$; mv {tmp_path}/$$ {tmp_path}/pid; wait"
    searcher, errors = command("sh", "-c", script, lines=lines), list[SearchError]()
    asking = [
        Thread(target=lambda: errors.append(failure_of(searcher, timeout=60)), daemon=True) for _ in range(3)
    ]
    for thread in asking:  # with lines, two threads wait for the first
        thread.start()
    until = time.monotonic() + 30
    while not (tmp_path / "pid").exists() and time.monotonic() < until:
        time.sleep(0.01)
    searcher.close()
    for thread in asking:
        thread.join(30)
    assert [(error.kind, error.is_transient) for error in errors] == [("failed", False)] * 3
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    while not has_ended(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert has_ended(child)


def has_ended(process: Path) -> bool:
    """Return whether a process has exited, even if its exit code was not read yet."""
    try:
        return process.read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_missing_command_is_named() -> None:
    assert "no-such-program cannot be started" in failure_of(command("no-such-program")).reason


def test_the_query_is_an_argument_of_a_command_without_a_shell() -> None:
    documents = build_searcher("command", "c", {"command": "printf '%s\\t2\\n%s\\t1\\n' {query} {id}-{k}"})
    query = Query("q9", "$(id); `ls` | it's")
    assert documents.ask(query, 5).documents == [("$(id); `ls` | it's", 2.0), ("q9-5", 1.0)]


def test_a_kept_process_is_started_once_and_again_after_a_failure() -> None:
    program = "import os\nwhile True: print('[%d]' % os.getpid() if 'die' not in input() else '', flush=True)"
    documents = command(sys.executable, "-S", "-c", program, lines=True)
    first, second = (documents.ask(Query("q", "how"), 1, 60).documents for _ in range(2))
    with pytest.raises(SearchError, match="malformed"):
        documents.ask(Query("q", "die"), 1, 60)
    third = documents.ask(Query("q", "how"), 1, 60).documents
    documents.close()
    assert first == second != third
