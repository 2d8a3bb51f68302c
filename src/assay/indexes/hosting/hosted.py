"""An engine in its own process, so that a crash, a hang or excessive memory ends that process only."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.processes import kill_processes, marked_processes, pin_process, private_bytes
from assay.core.timing import TimedAnswers
from assay.core.vectors import Vectors
from assay.indexes.hosting.worker import BuildResult, EngineDescription
from assay.indexes.index import Setup

_SOURCE_FOLDER = str(Path(__file__).parents[3])
_START_COMMAND = (  # without the current folder, where a file may have the name of a library
    "import sys; sys.path[:] = [*filter(None, sys.path), {sources!r}]; "
    "from assay.indexes.hosting.worker import main; main({fd})"
)
_POLL_SECONDS = 0.05  # seconds between two checks of a process
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS",
    "LANCE_CPU_THREADS", "VECLIB_MAXIMUM_THREADS", "TOKIO_WORKER_THREADS",
)  # fmt: skip


class EngineProcess:
    """A process that answers one request after another, within limits of time and memory."""

    def __init__(
        self,
        *,
        threads: int = 1,
        python: str | None = None,
        memory: int | None = None,
        timeout: float | None = None,
        cpus: tuple[int, ...] | None = None,
    ) -> None:
        self.memory, self.timeout = memory, timeout
        interpreter = shutil.which(python or sys.executable)
        if interpreter is None:
            raise InputError(
                f"there is no Python interpreter {python}: name one in which the engine is installed"
            )
        self.mark = uuid.uuid4().hex
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        parent_end, child_end = socket.socketpair()
        self._process = subprocess.Popen(
            [
                python or sys.executable,
                "-c",
                _START_COMMAND.format(sources=_SOURCE_FOLDER, fd=child_end.fileno()),
            ],
            pass_fds=[child_end.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env=_environment(threads, self.mark),
            start_new_session=True,  # so that Ctrl-C reaches only the process that runs the sweep
        )
        _pin(self._process.pid, cpus or choose_cpus(threads))
        child_end.close()
        self._channel = Connection(parent_end.detach())
        self._cached_pids: tuple[float, list[int]] = (0.0, [])
        self._log_start = 0  # bytes of the log that were printed before the current trial
        self._pending: list[str] = []  # requests that have not been answered yet

    def pin(self, cpus: tuple[int, ...]) -> None:
        """Restrict the process and those that it started to these processors."""
        for pid in marked_processes(self.mark, self._process.pid):
            pin_process(pid, cpus)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker and return its result."""
        self.send(name, *arguments)
        return self.receive(name)

    def send(self, name: str, *arguments: Any) -> None:
        """Send a call to the worker without waiting for its result."""
        self._pending.append(name)
        try:
            self._channel.send((name, arguments))
        except OSError:
            raise self._exit_error(self._pending[0]) from None

    def receive(self, name: str) -> Any:
        """Return the result of the oldest call that was sent."""
        begin = time.monotonic()
        while not self._channel.poll(_POLL_SECONDS):
            self._check_limits(name, time.monotonic() - begin)
        try:
            status, value = self._channel.recv()
        except (EOFError, OSError):
            raise self._exit_error(name) from None
        del self._pending[0]
        if status == "failed":
            raise _to_error(*value)
        return value

    def _check_limits(self, name: str, seconds: float) -> None:
        if self.timeout is not None and seconds > self.timeout:
            self.kill()
            raise EngineError(f"{name} did not finish within {self.timeout:g} s")
        size = private_bytes(self.process_ids()) if self.memory is not None else None
        if size is not None and self.memory is not None and size > self.memory:
            self.kill()
            used_memory, allowed_memory = (f"{bytes_ / 2**20:,.0f} MB" for bytes_ in (size, self.memory))
            raise EngineError(f"{name} used {used_memory} of memory; the limit is {allowed_memory}")

    def process_ids(self) -> list[int]:
        """Return the ids of the process and those it started, at most one second old."""
        checked_at, pids = self._cached_pids
        if time.monotonic() - checked_at > 1:
            pids = marked_processes(self.mark, self._process.pid)
            self._cached_pids = (time.monotonic(), pids)
        return pids

    def _exit_error(self, name: str) -> EngineError:
        """Return an error that says why the process ended."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        output = self.last_output()
        self.kill()
        return EngineError(
            f"the process ended during {name} ({_exit_reason(code)})" + (f": {output}" if output else "")
        )

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs and can be called."""
        return not self._channel.closed and self._process.poll() is None

    def skip_log(self) -> None:
        """Exclude from `last_output` everything printed so far, because it belongs to an earlier trial."""
        self._log_start = os.fstat(self.log.fileno()).st_size

    def last_output(self, max_length: int = 300) -> str:
        """Return the last lines that the engine printed."""
        try:
            size = self.log.seek(0, os.SEEK_END)
            self.log.seek(max(self._log_start, size - 4000))
            lines = self.log.read().decode(errors="replace").strip().splitlines()
        except ValueError:  # closed
            return ""
        return " ".join(" ".join(lines[-3:]).split())[-max_length:]

    def kill(self) -> None:
        """Kill the process and all processes that it started."""
        self._process.kill()  # not by id, which another process may have by now
        kill_processes(
            pid for pid in marked_processes(self.mark, self._process.pid) if pid != self._process.pid
        )
        self._process.wait()
        self._channel.close()
        self.log.close()

    def close(self) -> None:
        """Close the engine, unless it is busy, then kill its processes."""
        try:
            if self.is_alive and not self._pending:
                self.timeout = min(self.timeout or 20, 20)
                self.call("close")
        except AssayError:
            pass
        finally:
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class HostedIndex(EngineProcess):
    """An index in its own process.

    >>> import numpy as np
    >>> from assay.core.vectors import InMemoryVectors
    >>> HostedIndex("no.such", {}, metric="l2", d=2)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    assay.core.errors.InputError: there is no engine 'no.such'; the engines are …
    """

    def __init__(
        self,
        engine: str,
        build: dict[str, Any] | None = None,
        *,
        metric: str,
        d: int,
        threads: int = 1,
        folder: str | os.PathLike[str] | None = None,
        python: str | None = None,
        memory: int | None = None,
        timeout: float | None = None,
        cpus: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(threads=threads, python=python, memory=memory, timeout=timeout, cpus=cpus)
        self.engine = engine
        self._scratch = None if folder else tempfile.TemporaryDirectory()
        index_folder = Path(folder or self._scratch.name)  # type: ignore[union-attr]
        try:
            self.description: EngineDescription = self.call("describe", engine)
            if metric not in self.description.metrics:
                metrics = ", ".join(self.description.metrics)
                raise InputError(f"{engine} does not support the metric {metric}; it supports {metrics}")
            self.call("open", engine, build or {}, Setup(metric, d, threads, index_folder.resolve()))
        except BaseException:
            self.close()
            raise

    def build(self, base: Vectors) -> BuildResult:
        """Build the index of the vectors and save it to its folder."""
        result: BuildResult = self.call("build", base)
        return result

    def load(self) -> None:
        """Load the index that was saved in its folder."""
        self.call("load")

    def search(
        self, queries: Vectors, k: int, search: dict[str, Any] | None = None, mode: str = "batch"
    ) -> TimedAnswers:
        """Search all queries in one call (`batch`) or one query after another (`single`)."""
        self.call("set_search", search or {})
        return self.time_search(queries, k, mode)

    def time_search(self, queries: Vectors, k: int, mode: str = "batch") -> TimedAnswers:
        """Search with the parameters of the last `search` and return the answers with their times."""
        if mode == "single":
            self.call("prepare_requests", queries, np.arange(len(queries)), k)
            answers: TimedAnswers = self.call("search_single")
        else:
            answers = self.call("search_batch", queries, k)
        return answers

    def kill(self) -> None:
        """Kill the process and delete its temporary folder."""
        super().kill()
        if self._scratch is not None:
            self._scratch.cleanup()


def _environment(threads: int, mark: str) -> dict[str, str]:
    return {
        **os.environ,
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        "ASSAY_HOSTED": mark,
        "PYTHONUNBUFFERED": "1",
    }


def choose_cpus(threads: int, number: int = 0) -> tuple[int, ...]:
    """Return as many processors as threads, the last ones first: the first serves other processes too.

    Processes with different numbers get different processors as long as there are enough.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    available = sorted(os.sched_getaffinity(0), reverse=True)
    return tuple(
        available[(number * threads + i) % len(available)] for i in range(min(threads, len(available)))
    )


def _pin(pid: int, cpus: tuple[int, ...]) -> None:
    if cpus:
        os.sched_setaffinity(pid, cpus)


def _to_error(kind: str, message: str, code: int | None) -> AssayError:
    """Return an error that was raised in the process as an error of this one."""
    if kind == "EngineError":
        return EngineError(message)
    return InputError(message) if code is not None else EngineError(f"{kind}: {message}")


def _exit_reason(code: int | None) -> str:
    if code is None:
        return "it stopped responding"
    if code < 0:
        import signal

        return f"killed by {signal.Signals(-code).name}"
    return f"exit {code}"
