"""A command that searches: one process for each query, or one that answers line by line."""

from __future__ import annotations

import json
import math
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

from assay.core.errors import ConfigurationError
from assay.core.secrets import hidden
from assay.search.searcher import SearchError
from assay.search.systems.callable import rows
from assay.search.systems.service import MOST
from assay.search.systems.system import Found, System, shown
from assay.search.systems.templates import filled

_LAST = 300  # characters of what it printed to stderr


class Command(System):
    """A command without a shell; `{query}`, `{k}`, `{id}` and columns are put in its words.

    It is run in `folder`, so paths in it are from there on.

    Each query is also a line of JSON on its input (`id`, `query`, `k`, columns). What it prints is JSON (ids,
    pairs of id and score, dicts with both), or a line for each document: its id, a tab, its score. With
    `lines` one process lives on, is asked one query at a time, and answers each line by one line of JSON.
    """

    def __init__(
        self, name: str, *, command: str | list[str], lines: bool = False, folder: str = "."
    ) -> None:
        super().__init__(name, {"command": command, "lines": lines})
        self._words = shlex.split(command) if isinstance(command, str) else list(command)
        if not self._words:
            raise ConfigurationError({"command": "expected a command, found none"})
        self._template = None if lines else self._words
        self._lines, self._folder, self._lock = lines, folder, threading.Lock()
        self._kept: _Process | None = None
        self._alive: set[_Process] = set()
        self._closed = False

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """What the command prints."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        line = json.dumps(dict(values), default=str).encode() + b"\n"
        return rows(json.loads(self._next(line, end)) if self._lines else self._once(line, values, end))

    def _once(self, line: bytes, values: Mapping[str, Any], end: float) -> Any:
        with tempfile.TemporaryFile() as asked:
            asked.write(line)
            asked.seek(0)
            process = self._started([str(word) for word in filled(self._words, values)], asked)
        try:
            return _read(process.rest(end))
        finally:
            self._kill(process)

    def _next(self, line: bytes, end: float) -> bytes:
        if not self._lock.acquire(timeout=-1 if math.isinf(end) else max(0.0, end - time.monotonic())):
            raise SearchError("timeout", "the process is busy with the query before", again=True)
        try:
            self._kept = self._kept or self._started(self._words, subprocess.PIPE)
            self._kept.write(line, end)
            return _checked(self._kept.line(end))
        except BaseException:
            self._end()  # what it still answers would be taken for the next answer
            raise
        finally:
            self._lock.release()

    def _end(self) -> None:
        if self._kept:
            self._kill(self._kept)
            self._kept = None

    def _started(self, words: list[str], given: IO[bytes] | int) -> _Process:
        process = _Process(words, given, self._folder)
        self._alive.add(process)
        if self._closed:  # only now: `close` ends what is there, and this may have come too late for it
            self._kill(process)
            raise SearchError("failed", f"{self.name} was closed before the query was asked")
        return process

    def _kill(self, process: _Process) -> None:
        self._alive.discard(process)
        process.kill()

    def close(self) -> None:
        """End every process, also those of queries that are under way, and start no other."""
        self._closed = True
        for process in list(self._alive):
            process.end()  # whoever waits for it holds the lock, and lets go now
        with self._lock:
            self._end()


def _read(printed: bytes) -> Any:
    """What a command printed: JSON, or a line for each document."""
    text = printed.decode(errors="replace").strip()
    if text[:1] in ("[", "{"):
        return json.loads(_checked(printed))
    return [_document(line) for line in text.splitlines()]


def _document(line: str) -> tuple[str, float | None]:
    key, tab, score = line.strip().partition("\t")
    try:
        return key, float(score) if tab else None
    except ValueError:
        raise SearchError("malformed", f"expected an id, a tab and a score, found {shown(line)!r}") from None


def _text(printed: bytes | bytearray) -> str:
    return shown(printed.decode(errors="replace"))


def _checked(printed: bytes) -> bytes:
    try:
        json.loads(printed)
    except ValueError as error:
        raise SearchError("malformed", f"the command printed no JSON ({error}): {_text(printed)!r}") from None
    return printed


class _Process:
    """A process in a group of its own, whose output is waited for until a moment."""

    def __init__(self, words: list[str], given: IO[bytes] | int, folder: str | None) -> None:
        self._words, self._errors = words, tempfile.TemporaryFile()  # noqa: SIM115  # closed by kill
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._errors.close()
            raise SearchError("failed", f"{words[0]} cannot be started: {error}") from None

    def write(self, line: bytes, end: float) -> None:
        """Write a line to it, in pieces where it reads slowly."""
        assert self._process.stdin is not None
        to = self._process.stdin.fileno()
        os.set_blocking(to, False)
        while line:
            self._wait(to, selectors.EVENT_WRITE, end)
            try:
                line = line[os.write(to, line) :]
            except BrokenPipeError:
                raise self._ended(end) from None

    def line(self, end: float) -> bytes:
        """The next line that it prints."""
        found = bytearray()
        while b"\n" not in found:
            piece = self._piece(end, len(found))
            if not piece:
                raise self._ended(end)
            found += piece
        if found.index(b"\n") != len(found) - 1:
            raise SearchError("malformed", f"expected one line, found more: {_text(found)!r}")
        return bytes(found)

    def rest(self, end: float) -> bytes:
        """All that it prints until it ends."""
        found = bytearray()
        while piece := self._piece(end, len(found)):
            found += piece
        if self._code(end):
            raise self._ended(end)
        return bytes(found)

    def _piece(self, end: float, before: int) -> bytes:
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        self._wait(out, selectors.EVENT_READ, end)
        piece = os.read(out, 1 << 16)
        if before + len(piece) > MOST:
            raise SearchError("too large", f"{self._words[0]} printed more than {MOST:,} bytes")
        return piece

    def _wait(self, file: int, event: int, end: float) -> None:
        with selectors.DefaultSelector() as look:
            look.register(file, event)
            if not look.select(None if math.isinf(end) else max(0.0, end - time.monotonic())):
                raise self._late()

    def _code(self, end: float) -> int:
        try:
            return self._process.wait(None if math.isinf(end) else max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._late() from None

    def _late(self) -> SearchError:
        return SearchError("timeout", f"{self._words[0]} did not answer in time{self._said()}", again=True)

    def _ended(self, end: float) -> SearchError:
        return SearchError("failed", f"{self._words[0]} ended with {self._code(end)}{self._said()}")

    def _said(self) -> str:
        """The last that it printed to stderr."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4 * _LAST))
        words = hidden(" ".join(self._errors.read().decode(errors="replace").split()))[-_LAST:]
        return f": {words}" if words else ""

    def end(self) -> None:
        """End it with all that it started, where it has not ended; from any thread."""
        if self._process.returncode is None:  # nobody else can have its number
            with suppress(PermissionError, ProcessLookupError):  # all have ended already
                os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it, and close what it was asked by; only who asked it may do that."""
        self.end()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):
                if file:
                    file.close()
