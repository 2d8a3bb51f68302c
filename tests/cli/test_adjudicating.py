"""One person at a terminal decides the pairs on which judges differ."""

import os
import pty
import signal
import sys
import time
from pathlib import Path
from select import select

from assay.datasets.judgment_files import read_judgments

ASSAY = str(Path(sys.executable).with_name("assay"))
LABELS = "query_id,doc_id,ann,bob\nq1,a,0,2\nq1,b,1,2\n"


def read_until(terminal: int, text: str) -> str:
    """Return what is shown until a text has come."""
    shown, deadline = "", time.monotonic() + 60
    while text not in shown:
        assert time.monotonic() < deadline, shown
        if select([terminal], [], [], 1)[0]:
            try:
                shown += os.read(terminal, 65536).decode()
            except OSError:  # the command has ended
                raise AssertionError(shown) from None
    return shown


def test_a_key_decides_at_once_and_ctrl_c_keeps_the_decision(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(LABELS)
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where the tests run
        os.execv(ASSAY, [ASSAY, "judge", "adjudicate", "labels.csv", "--by", "dee", "-o", "decisions.jsonl"])
    assert "grades: " in read_until(terminal, "> ")
    os.write(terminal, b"2")
    assert "1 left, 1 decided by you" in read_until(terminal, "quit\r\n> ")
    os.write(terminal, b"\x03")
    read_until(terminal, "1 decision is saved in decisions.jsonl; the same command goes on")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert code == 130
    assert read_judgments(tmp_path / "decisions.jsonl").grades.tolist() == [2]
