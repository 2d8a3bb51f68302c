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
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt, redact
from assay.search.searchers.callable import parse_documents
from assay.search.searchers.configured import ConfiguredSearcher, ReturnedDocuments
from assay.search.searchers.service import MAX_RESPONSE_BYTES
from assay.search.searchers.templates import fill_template

_MAX_STDERR_LENGTH = 300  # characters of standard error that are shown


class CommandSearcher(ConfiguredSearcher):
    """Runs a command without a shell; its arguments contain `{query}`, `{k}`, `{id}` and columns.

    It is run in `folder`. Each query is also a line of JSON on its standard input (`id`, `query`, `k`,
    columns). It prints JSON (ids, pairs of id and score, dicts with both), or a line for each document:
    its id, a tab, its score. With `lines` one process is kept, receives one query at a time, and answers
    each line by one line of JSON.
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
        self._line_process: _Process | None = None
        self._processes: set[_Process] = set()
        self._is_closed = False

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the documents that the command prints."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        line = json.dumps(dict(values), default=str).encode() + b"\n"
        if self._lines:
            return parse_documents(json.loads(self._next_line(line, end)))
        return parse_documents(self._run_once(line, values, end))

    def _run_once(self, line: bytes, values: Mapping[str, Any], end: float) -> Any:
        with tempfile.TemporaryFile() as input_file:
            input_file.write(line)
            input_file.seek(0)
            process = self._start([str(word) for word in fill_template(self._words, values)], input_file)
        try:
            return _parse_output(process.read_all(end))
        finally:
            self._kill(process)

    def _next_line(self, line: bytes, end: float) -> bytes:
        seconds = _seconds_left(end)
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            raise RemoteError("timeout", "the process is busy with another query", is_transient=True)
        try:
            self._line_process = self._line_process or self._start(self._words, subprocess.PIPE)
            self._line_process.write(line, end)
            return _check_json(self._line_process.read_line(end))
        except BaseException:
            self._end_line_process()  # the rest of its output would be read as the next answer
            raise
        finally:
            self._lock.release()

    def _end_line_process(self) -> None:
        if self._line_process:
            self._kill(self._line_process)
            self._line_process = None

    def _start(self, words: list[str], stdin: IO[bytes] | int) -> _Process:
        process = _Process(words, stdin, self._folder)
        self._processes.add(process)
        if self._is_closed:  # checked last: `close` may have run before the process was added
            self._kill(process)
            raise RemoteError("failed", f"{self.name} was closed before the query was asked")
        return process

    def _kill(self, process: _Process) -> None:
        self._processes.discard(process)
        process.kill()

    def close(self) -> None:
        """Kill every process, including those of active queries, and start no other."""
        self._is_closed = True
        for process in list(self._processes):
            process.end()  # the thread that waits for it holds the lock, and releases it now
        with self._lock:
            self._end_line_process()


def _parse_output(output: bytes) -> Any:
    """Return what a command printed: JSON, or a line for each document."""
    text = output.decode(errors="replace").strip()
    if text[:1] in ("[", "{"):
        return json.loads(_check_json(output))
    return [_document(line) for line in text.splitlines()]


def _document(line: str) -> tuple[str, float | None]:
    key, tab, score = line.strip().partition("\t")
    try:
        if not tab and " " in key:
            raise ValueError("a sentence, not an id")
        return key, float(score) if tab else None
    except ValueError:
        reason = f"expected an id, a tab and a score, found {excerpt(line)!r}"
        raise RemoteError("malformed", reason) from None


def _excerpt(output: bytes | bytearray) -> str:
    return excerpt(output.decode(errors="replace"))


def _check_json(output: bytes) -> bytes:
    try:
        json.loads(output)
    except ValueError as error:
        reason = f"the command printed no JSON ({error}): {_excerpt(output)!r}"
        raise RemoteError("malformed", reason) from None
    return output


def _seconds_left(end: float) -> float | None:
    return None if math.isinf(end) else max(0.0, end - time.monotonic())


class _Process:
    """A process in its own process group; `end` is the deadline of each method."""

    def __init__(self, words: list[str], stdin: IO[bytes] | int, folder: str | None) -> None:
        self._words, self._errors = words, tempfile.TemporaryFile()  # noqa: SIM115  # closed by kill
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._errors.close()
            raise RemoteError("failed", f"{words[0]} cannot be started: {error}") from None

    def write(self, line: bytes, end: float) -> None:
        """Write a line to its standard input, in pieces if it reads slowly."""
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        os.set_blocking(descriptor, False)
        while line:
            self._wait(descriptor, selectors.EVENT_WRITE, end)
            try:
                line = line[os.write(descriptor, line) :]
            except BrokenPipeError:
                raise self._exit_error(end) from None

    def read_line(self, end: float) -> bytes:
        """Return the next line that it prints."""
        output = bytearray()
        while b"\n" not in output:
            piece = self._read_piece(end, len(output))
            if not piece:
                raise self._exit_error(end)
            output += piece
        if output.index(b"\n") != len(output) - 1:
            raise RemoteError("malformed", f"expected one line, found more: {_excerpt(output)!r}")
        return bytes(output)

    def read_all(self, end: float) -> bytes:
        """Return all that it prints until it exits."""
        output = bytearray()
        while piece := self._read_piece(end, len(output)):
            output += piece
        if self._exit_code(end):
            raise self._exit_error(end)
        return bytes(output)

    def _read_piece(self, end: float, size: int) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        self._wait(descriptor, selectors.EVENT_READ, end)
        piece = os.read(descriptor, 1 << 16)
        if size + len(piece) > MAX_RESPONSE_BYTES:
            raise RemoteError("too large", f"{self._words[0]} printed more than {MAX_RESPONSE_BYTES:,} bytes")
        return piece

    def _wait(self, file: int, event: int, end: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(file, event)
            if not selector.select(_seconds_left(end)):
                raise self._timeout_error()

    def _exit_code(self, end: float) -> int:
        try:
            return self._process.wait(_seconds_left(end))
        except subprocess.TimeoutExpired:
            raise self._timeout_error() from None

    def _timeout_error(self) -> RemoteError:
        reason = f"{self._words[0]} did not answer in time{self._stderr_excerpt()}"
        return RemoteError("timeout", reason, is_transient=True)

    def _exit_error(self, end: float) -> RemoteError:
        reason = f"{self._words[0]} exited with {self._exit_code(end)}{self._stderr_excerpt()}"
        return RemoteError("failed", reason)

    def _stderr_excerpt(self) -> str:
        """Return the end of its standard error."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4 * _MAX_STDERR_LENGTH))
        words = redact(" ".join(self._errors.read().decode(errors="replace").split()))[-_MAX_STDERR_LENGTH:]
        return f": {words}" if words else ""

    def end(self) -> None:
        """Kill the process group if the process has not exited; may be called from any thread."""
        if self._process.returncode is None:  # so its id cannot belong to another process
            with suppress(PermissionError, ProcessLookupError):  # all have exited already
                os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the process and close its files; only the thread that uses it may do that."""
        self.end()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):
                if file:
                    file.close()
