"""Raters at a terminal and in scripts, and the commands around them."""

import json
import os
import pty
import signal
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from select import select

import pytest

from assay.cli import call
from assay.workflows.annotation import project_judgments

Captured = pytest.CaptureFixture[str]
TEXT = "\n".join(f"line {number}" for number in range(60))
ASSAY = str(Path(sys.executable).with_name("assay"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with three pairs to judge and one gold pair."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_STORE", "store")
    Path("pool.csv").write_text("query_id,doc_id\nq1,a\nq1,b\nq1,c\n")
    Path("gold.csv").write_text("query_id,doc_id,grade,note\nq1,g,2,it names the button\n")
    Path("guide.txt").write_text("Judge the text only.\n")
    Path("queries.jsonl").write_text(json.dumps({"query_id": "q1", "text": "reset vpn"}))
    texts = {"a": TEXT, "b": "press \x1b[2J reset", "c": "", "g": "the button"}
    Path("docs.jsonl").write_text(
        "\n".join(json.dumps({"doc_id": doc, "text": text}) for doc, text in texts.items())
    )


def create(*more: str) -> None:
    files = ["--pairs", "pool.csv", "--queries", "queries.jsonl", "--documents", "docs.jsonl"]
    assert call(["judge", "create", "shop", *files, "--grades", "0 no", "1 partly", "2 yes", *more]) == 0


def work(monkeypatch: pytest.MonkeyPatch, lines: str, rater: str = "ann") -> int:
    monkeypatch.setattr(sys, "stdin", StringIO(lines))
    return call(["judge", "work", "shop", "--rater", rater])


def grades() -> list[float | None]:
    values: list[float | None] = project_judgments("shop").frame["grade"].to_list()
    return values


def test_keys_are_read_line_by_line_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    create()
    assert work(monkeypatch, "2\nu\n1 a note\nc\ncut off\n0\n") == 0
    out = capsys.readouterr().out
    assert "reset vpn" in out
    assert "0 no · 1 partly · 2 yes" in out
    assert "you have judged or skipped every pair that is left" in out
    assert grades() == [1.0, None, 0.0]
    assert project_judgments("shop").frame["note"].to_list() == ["a note", "cut off", ""]


def test_the_end_of_the_input_and_q_leave_the_pair_to_others(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    create("--per-pair", "1")
    assert work(monkeypatch, "1\n") == 0
    assert work(monkeypatch, "q\n") == 0
    assert work(monkeypatch, "2\n2\n", "bob") == 0
    assert "all pairs have their judgments" in capsys.readouterr().out
    assert sorted(filter(None, grades())) == [1.0, 2.0, 2.0]


def test_a_key_that_means_nothing_shows_the_keys(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create()
    assert work(monkeypatch, "9\nu\n\nq\n") == 0
    out = capsys.readouterr().out
    assert "there is no key '9'" in out
    assert "ann has done nothing in project shop that can be undone" in out


def test_texts_do_not_control_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create()
    work(monkeypatch, "0\n0\n0\n")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "(this document has no text)" in out
    assert "line 59" in out


def test_guidelines_come_first_and_on_request(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create("--guidelines", "guide.txt")
    work(monkeypatch, "g\np\n")
    out = capsys.readouterr().out
    assert out.count("Judge the text only.") == 2
    assert "0 labels by you, 0 of 6 in all" in out


def test_training_shows_the_known_grade(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create("--gold", "gold.csv", "--training", "1")
    work(monkeypatch, "0\nq\n")
    out = capsys.readouterr().out
    assert "training pair, not counted" in out
    assert "training: the known grade is 2 yes, not 0 no: it names the button" in out


def test_a_paused_rater_reads_why_and_is_let_go_on(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create("--gold", "gold.csv", "--gold-every", "2", "--gold-least", "1")
    assert work(monkeypatch, "0\n0\n0\n0\n") == 2
    problem = "you are paused: 0 of your 1 answers to questions with a known grade were right"
    assert problem in capsys.readouterr().out
    assert call(["judge", "status", "shop"]) == 0
    assert "assay judge resume shop --rater NAME" in capsys.readouterr().out
    assert call(["judge", "resume", "shop", "--rater", "ann"]) == 0
    assert work(monkeypatch, "0\n0\n0\n") == 0


def test_status_and_projects_in_every_format(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create()
    work(monkeypatch, "0\nq\n")
    capsys.readouterr()
    for style in ("table", "csv", "md", "html", "latex"):
        for command in (["status", "shop"], ["projects"]):
            assert call(["judge", *command, "--format", style]) == 0
            assert "shop" in capsys.readouterr().out or style == "csv"
    assert call(["judge", "status", "shop", "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["labels"], status["wanted"], status["raters"][0]["gold"]["n"]) == (1, 6, 0)


def test_a_project_is_exported_imported_and_closed(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    create()
    work(monkeypatch, "2\n1\n0\n")
    assert call(["judge", "export", "shop", "-o", "labels.csv"]) == 0
    assert "3 labels of 3 pairs by 1 rater written to labels.csv" in capsys.readouterr().err
    Path("other.csv").write_text("query_id,doc_id,judge,grade\nq1,a,bob,0\nq1,x,bob,0\n")
    assert call(["judge", "import", "shop", "other.csv"]) == 0
    assert "left out: the pair is not in the project      1  q1 x" in capsys.readouterr().out
    assert call(["judge", "close", "shop"]) == 0
    assert work(monkeypatch, "1\n", "bob") == 2
    assert call(["judge", "close", "shop", "--reopen"]) == 0
    assert work(monkeypatch, "q\n", "bob") == 0


def test_wrong_use_is_exit_code_2(capsys: Captured) -> None:
    create()
    assert call(["judge", "work", "shpo", "--rater", "ann"]) == 2
    assert "there is no project 'shpo'" in capsys.readouterr().err
    assert call(["judge", "work", "shop"]) == 2
    assert call(["judge", "export", "shop", "-o", "labels.csv"]) == 2
    assert "has no label yet" in capsys.readouterr().err
    assert call(["judge", "resume", "shop", "--rater", "zoe"]) == 2
    assert "project shop has no rater 'zoe'; there are none" in capsys.readouterr().err


def test_the_first_command_of_raters_names_the_store(capsys: Captured) -> None:
    create("--store", "other store")
    assert "judge work shop --rater NAME --store 'other store'" in capsys.readouterr().err


class Person:
    """A rater at a terminal."""

    def __init__(self) -> None:
        self.seen = ""
        self.keyboard, screen = pty.openpty()
        self.before = termios.tcgetattr(screen)
        self.pid = os.fork()
        if not self.pid:
            os.login_tty(screen)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where the tests run
            os.execv(ASSAY, [ASSAY, "judge", "work", "shop", "--rater", "ann"])
        self.screen = screen

    def until(self, text: str) -> None:
        """Read the screen until a text has come after what was read before."""
        read, deadline = "", time.monotonic() + 60
        while text not in read:
            assert time.monotonic() < deadline, self.seen + read
            if select([self.keyboard], [], [], 1)[0]:
                read += os.read(self.keyboard, 65536).decode()
        self.seen += read

    def press(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def end(self) -> int:
        """The exit code; the terminal is as it was before."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert termios.tcgetattr(self.screen) == self.before
        return code


@pytest.fixture
def person() -> Iterator[Person]:
    create("--seed", "1")
    person = Person()
    yield person
    with suppress(ProcessLookupError):
        os.kill(person.pid, signal.SIGKILL)
    os.close(person.keyboard)
    os.close(person.screen)


def test_single_keys_judge_at_a_terminal_and_ctrl_c_leaves_it_sane(person: Person) -> None:
    person.until("> ")
    person.press("2")
    person.until("> ")
    person.press("c")
    person.until("go back) ")
    person.press("cut off\r")
    person.until("> ")
    person.press("\x1b[A")  # an arrow key means nothing
    person.press("\x03")
    person.until("all labels are saved; the same command goes on")
    assert person.end() == 130
    assert grades() == [2.0, None]
    assert "more lines: m shows them" in person.seen


def test_a_terminal_is_sane_after_a_signal_that_ends_the_command(person: Person) -> None:
    person.until("> ")
    os.kill(person.pid, signal.SIGTERM)
    assert person.end() == 128 + signal.SIGTERM


def test_a_missing_store_says_what_makes_one(capsys: Captured) -> None:
    assert call(["judge", "status", "shop", "--store", "none"]) == 2
    assert "there is no store at none" in (err := capsys.readouterr().err)
    assert "make a project with `assay judge create`" in err
