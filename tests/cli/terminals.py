"""A terminal for tests: what a person sees of a command that draws on it."""

import os
import pty
import re
import struct
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from select import select

MOVES = re.compile(r"([^\x1b\r\n]*)(\r\n|\r|\x1b\[\d*[AJK]|$)")


class Terminal:
    """A person's terminal, in which a command runs."""

    DRAWN = b"\x1b[J"  # the end of a drawing

    def __init__(self, argv: list[str], lines: int = 24, columns: int = 80) -> None:
        self.size, self.shown, self.ahead = (lines, columns), b"", b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execv(argv[0], argv)

    def until(self, seen: Callable[[list[str]], bool]) -> list[str]:
        """The screen, as soon as something is seen on it, or nothing more is to come.

        It is looked at after each drawing: none is overlooked, and none is half there.
        """
        deadline = time.monotonic() + 300
        while not self._drawn() or not seen(self.screen()):
            assert time.monotonic() < deadline, self.screen()
            if self.DRAWN not in self.ahead and not self._read():
                self.shown, self.ahead = self.shown + self.ahead, b""
                break
        return self.screen()

    def _drawn(self) -> bool:
        """Show the next drawing, if it has come."""
        drawing, end, rest = self.ahead.partition(self.DRAWN)
        if end:
            self.shown, self.ahead = self.shown + drawing + end, rest
        return bool(end)

    def _read(self) -> bool:
        """Whether there may be more to come."""
        try:
            self.ahead += os.read(self.fd, 65536) if select([self.fd], [], [], 1)[0] else b""
        except OSError:  # it has ended
            return False
        return True

    def end(self) -> tuple[int, list[str]]:
        """The exit code, and what is left on the screen."""
        screen = self.until(lambda _: False)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), screen

    def screen(self) -> list[str]:
        """What a person sees, by the few movements that are used; every line must fit."""
        rows, at, column = [""], 0, 0
        for text, move in MOVES.findall(self.shown.decode(errors="replace")):
            rows[at] = rows[at][:column] + text + rows[at][column + len(text) :]
            assert len(rows[at]) < self.size[1], rows[at]
            column = 0 if move.startswith("\r") else column + len(text)
            at += (move == "\r\n") - int(move[2:-1] if move.endswith("A") else 0)
            rows += [""] * (at == len(rows))
            if move.endswith(("K", "J")):
                rows[at] = rows[at][:column]
            if move.endswith("J"):
                del rows[at + 1 :]
        return rows
