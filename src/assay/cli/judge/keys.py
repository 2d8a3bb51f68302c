"""The keys of a rater: single keys of a terminal, or the lines of standard input."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

_END = "\x04"  # Ctrl-D


class Key(NamedTuple):
    """A key, and the words after it on its line."""

    key: str  # empty: the input has ended
    words: str = ""


class KeySource(Protocol):
    """Where the keys of a rater come from."""

    def read_key(self, prompt: str) -> Key:
        """Return the next key."""
        ...

    def read_line(self, prompt: str) -> str:
        """Return the next line."""
        ...


class LineKeys:
    """Keys as lines: the first word is the key, the others belong to it."""

    def read_key(self, prompt: str) -> Key:
        """Return the key of the next line that is not empty."""
        for line in iter(_read_line, ""):
            if line.strip():
                key, _, words = line.strip().partition(" ")
                return Key(key, words.strip())
        return Key("")

    def read_line(self, prompt: str) -> str:
        """Return the next line."""
        return _read_line().strip()


class TerminalKeys:
    """Single keys of a terminal, which is left as it was."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._settings: list[Any] = []

    @contextmanager
    def session(self) -> Iterator[TerminalKeys]:
        """Read single keys until the end; a signal that ends the program does not skip the end."""
        import termios

        self._settings = termios.tcgetattr(self._descriptor)
        before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            self._read_single_keys()
            yield self
        finally:
            self._restore()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _read_single_keys(self) -> None:
        import tty

        tty.setcbreak(self._descriptor)

    def _restore(self) -> None:
        import termios

        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)

    def read_key(self, prompt: str) -> Key:
        """Return the next key; keys that were pressed before the pair was shown do not count."""
        import termios

        termios.tcflush(self._descriptor, termios.TCIFLUSH)
        print(prompt, end="", flush=True)
        while True:
            _allow_interruption()
            data = os.read(self._descriptor, 64)
            if not data or data == _END.encode():
                print()
                return Key("")
            if (len(data) == 1 and data.isalnum()) or data in (b"?", b"-"):
                print(data.decode())
                return Key(data.decode())  # longer data is an arrow key or pasted text

    def read_line(self, prompt: str) -> str:
        """Return a line that is typed and edited as usual."""
        self._restore()
        try:
            print(prompt, end="", flush=True)
            return _read_line().strip()
        finally:
            self._read_single_keys()


def _read_line() -> str:
    _allow_interruption()
    return sys.stdin.readline()


def _allow_interruption() -> None:
    """Let Ctrl-C interrupt a read: Polars installs a handler after which a read goes on."""
    signal.siginterrupt(signal.SIGINT, True)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


@contextmanager
def open_keys() -> Iterator[KeySource]:
    """The keys of the terminal if standard input and output are one, else the lines of standard input."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        with TerminalKeys().session() as keys:
            yield keys
    else:
        yield LineKeys()
