"""An engine in a process of its own: a crash, a hang or a memory eater ends the process and no more."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.core.errors import AssayError, EngineError, InputError
from assay.core.vectors import Vectors
from assay.indexes.hosting.processes import end, held, marked, threads_of
from assay.indexes.hosting.timing import Timed
from assay.indexes.hosting.worker import Built, Described
from assay.indexes.index import Setup

_SOURCES = str(Path(__file__).parents[3])
_START = (  # a file in this folder may be named as a library is
    "import sys; sys.path[:] = [*filter(None, sys.path), {sources!r}]; "
    "from assay.indexes.hosting.worker import main; main({fd})"
)
_PAUSE = 0.05  # seconds between two looks at a process
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS",
    "LANCE_CPU_THREADS", "VECLIB_MAXIMUM_THREADS", "TOKIO_WORKER_THREADS",
)  # fmt: skip


class Process:
    """A process that answers one question after another, watched from outside."""

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
            raise InputError(f"there is no interpreter {python}: name one in which the engine is installed")
        self.mark = uuid.uuid4().hex
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [
                python or sys.executable,
                "-c",
                _START.format(sources=_SOURCES, fd=theirs.fileno()),
            ],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env=_environment(threads, self.mark),
            start_new_session=True,  # Ctrl-C is for whoever runs the sweep
        )
        _pin(self._process.pid, cpus or processors(threads))
        theirs.close()
        self._channel = Connection(ours.detach())
        self._family: tuple[float, list[int]] = (0.0, [])
        self._before = 0  # bytes of the log that were printed before the trial
        self._asked: list[str] = []  # questions that were not answered yet

    def pin(self, cpus: tuple[int, ...]) -> None:
        """Let the process, and those that it started, run on these processors only."""
        for pid in marked(self.mark, self._process.pid):
            for thread in threads_of(pid):
                with suppress(ProcessLookupError):
                    _pin(thread, cpus)

    def ask(self, name: str, *arguments: Any) -> Any:
        """Have something done and wait for the answer."""
        self.tell(name, *arguments)
        return self.answer(name)

    def tell(self, name: str, *arguments: Any) -> None:
        """Have something done, without waiting."""
        self._asked.append(name)
        try:
            self._channel.send((name, arguments))
        except OSError:
            raise self._ended(self._asked[0]) from None

    def answer(self, name: str) -> Any:
        """The answer to what was told."""
        begin = time.monotonic()
        while not self._channel.poll(_PAUSE):
            self._watch(name, time.monotonic() - begin)
        try:
            status, value = self._channel.recv()
        except (EOFError, OSError):
            raise self._ended(name) from None
        del self._asked[0]
        if status == "failed":
            raise _refusal(*value)
        return value

    def _watch(self, name: str, seconds: float) -> None:
        if self.timeout is not None and seconds > self.timeout:
            self.kill()
            raise EngineError(f"{name} did not end within {self.timeout:g} s")
        size = held(self.family()) if self.memory is not None else None
        if size is not None and self.memory is not None and size > self.memory:
            self.kill()
            taken, allowed = (f"{bytes_ / 2**20:,.0f} MB" for bytes_ in (size, self.memory))
            raise EngineError(f"{name} took {taken} of memory, and {allowed} are allowed")

    def family(self) -> list[int]:
        """The process and those it started; looked for anew once a second."""
        at, found = self._family
        if time.monotonic() - at > 1:
            found = marked(self.mark, self._process.pid)
            self._family = (time.monotonic(), found)
        return found

    def _ended(self, name: str) -> EngineError:
        """Why the process is gone."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        said = self.words()
        self.kill()
        return EngineError(
            f"the process ended during {name} ({_reason(code)})" + (f": {said}" if said else "")
        )

    @property
    def alive(self) -> bool:
        """Whether the process still answers."""
        return not self._channel.closed and self._process.poll() is None

    def turn(self) -> None:
        """Begin a trial: what was printed before is not its reason to fail."""
        self._before = os.fstat(self.log.fileno()).st_size

    def words(self, most: int = 300) -> str:
        """The last that the engine printed."""
        try:
            size = self.log.seek(0, os.SEEK_END)
            self.log.seek(max(self._before, size - 4000))
            lines = self.log.read().decode(errors="replace").strip().splitlines()
        except ValueError:  # closed
            return ""
        return " ".join(" ".join(lines[-3:]).split())[-most:]

    def kill(self) -> None:
        """End the process and every one that it started."""
        self._process.kill()  # not by its number, which another may have when it is gone
        end(pid for pid in marked(self.mark, self._process.pid) if pid != self._process.pid)
        self._process.wait()
        self._channel.close()
        self.log.close()

    def close(self) -> None:
        """Let the engine close, then end what is left; one that is busy is not waited for."""
        try:
            if self.alive and not self._asked:
                self.timeout = min(self.timeout or 20, 20)
                self.ask("close")
        except AssayError:
            pass
        finally:
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Hosted(Process):
    """An index in a process of its own.

    >>> import numpy as np
    >>> from assay.core.vectors import Held
    >>> Hosted("no.such", {}, metric="l2", d=2)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    assay.core.errors.InputError: there is no engine 'no.such'; there are …
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
        place = Path(folder or self._scratch.name)  # type: ignore[union-attr]
        try:
            self.described: Described = self.ask("describe", engine)
            if metric not in self.described.metrics:
                known = ", ".join(self.described.metrics)
                raise InputError(f"{engine} has no metric {metric}; it has {known}")
            self.ask("open", engine, build or {}, Setup(metric, d, threads, place.resolve()))
        except BaseException:
            self.close()
            raise

    def build(self, base: Vectors) -> Built:
        """Build the index of the vectors and save it."""
        made: Built = self.ask("build", base)
        return made

    def load(self) -> None:
        """Take up the index that was saved in the folder."""
        self.ask("load")

    def search(
        self, queries: Vectors, k: int, search: dict[str, Any] | None = None, mode: str = "batch"
    ) -> Timed:
        """Search in one `batch`, or for one query after another (`single`)."""
        self.ask("set_search", search or {})
        return self.timed(queries, k, mode)

    def timed(self, queries: Vectors, k: int, mode: str = "batch") -> Timed:
        """Search as the last `set_search` says."""
        if mode == "single":
            self.ask("ready", queries, np.arange(len(queries)), k)
        made: Timed = self.ask(mode) if mode == "single" else self.ask(mode, queries, k)
        return made

    def kill(self) -> None:
        """End the process and forget what it kept."""
        super().kill()
        if self._scratch is not None:
            self._scratch.cleanup()


def _environment(threads: int, mark: str) -> dict[str, str]:
    return {
        **os.environ,
        **dict.fromkeys(_THREADS, str(threads)),
        "ASSAY_HOSTED": mark,
        "PYTHONUNBUFFERED": "1",
    }


def processors(threads: int, number: int = 0) -> tuple[int, ...]:
    """As many processors as threads, from the end: the first is busy with everything else.

    Processes with other numbers get others, as far as there are any.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    there = sorted(os.sched_getaffinity(0), reverse=True)
    return tuple(there[(number * threads + i) % len(there)] for i in range(min(threads, len(there))))


def _pin(pid: int, cpus: tuple[int, ...]) -> None:
    if cpus:
        os.sched_setaffinity(pid, cpus)


def _refusal(kind: str, message: str, code: int | None) -> AssayError:
    """What went wrong in the process, as an error of this one."""
    if kind == "EngineError":
        return EngineError(message)
    return InputError(message) if code is not None else EngineError(f"{kind}: {message}")


def _reason(code: int | None) -> str:
    if code is None:
        return "it stopped answering"
    if code < 0:
        import signal

        return f"killed by {signal.Signals(-code).name}"
    return f"exit {code}"
