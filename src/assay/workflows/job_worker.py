"""The worker of a job: does the work in a process of its own and reports how far it is.

A thread writes the progress, the log and the sign of life once a second. If the job is cancelled, or was
started again elsewhere, it interrupts the work as Ctrl-C does, so that what is finished is kept.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import traceback
from typing import TextIO

from assay.core.errors import AssayError, StoreError, describe_exception
from assay.store.jobs import Job, Jobs
from assay.store.store import Store
from assay.workflows.job_work import WORK
from assay.workflows.store_location import store_url

_BEAT_SECONDS = 1.0


class JobReport:
    """The progress and the log of a job, written by a thread."""

    def __init__(self, jobs: Jobs, job: Job) -> None:
        self.jobs, self.job = jobs, job
        self._values: dict[str, int | str | None] = {}
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def progress(self, done: int | None = None, total: int | None = None, phase: str = "") -> None:
        """Say how far the work is; the rest stays as it was."""
        values = {"done": done, "total": total, "phase": phase or None}
        with self._lock:
            self._values |= {name: value for name, value in values.items() if value is not None}

    def finish(self) -> None:
        """Say that all of the work is done."""
        with self._lock:
            if "total" in self._values:
                self._values["done"] = self._values["total"]

    def write(self, line: str) -> None:
        """Add a line to the log."""
        with self._lock:
            self._lines.append(line)

    def __enter__(self) -> JobReport:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._flush()

    def _beat(self) -> None:
        while not self._end.wait(_BEAT_SECONDS):
            try:
                may_go_on = self._flush()
            except StoreError:  # the database does not answer now: try again
                continue
            if not may_go_on:
                os.kill(os.getpid(), signal.SIGINT)
                self._end.wait(10 * _BEAT_SECONDS)  # time to put the finished parts away

    def _flush(self) -> bool:
        with self._lock:
            values, lines = dict(self._values), self._lines[:]
        if lines:
            self.jobs.write_lines(self.job, lines)
            with self._lock:
                del self._lines[: len(lines)]
        return self.jobs.report(self.job, **values)


class _LogStream(io.TextIOBase):
    """A stream whose lines go to the log of a job: what a system or a library prints."""

    def __init__(self, report: JobReport) -> None:
        self._report, self._rest = report, ""

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def write(self, text: str) -> int:
        """Pass whole lines on."""
        *lines, self._rest = (self._rest + text).replace("\r", "\n").split("\n")
        for line in lines:
            if line.strip():
                self._report.write(line)
        return len(text)


def work(job_id: str, url: str | None = None) -> None:
    """Do the work of a job and write how it ended."""
    with Store(store_url(url)) as store:
        jobs = Jobs(store.database)
        job = jobs.get(job_id)
        if not jobs.start(job):
            return
        state, error, location = "done", "", ""
        try:
            with JobReport(jobs, job) as report, _logged(report):
                location = WORK[job.kind](job.request, report, store_url(url))
                report.finish()
        except KeyboardInterrupt:
            state = "cancelled"
        except AssayError as problem:
            state, error = "failed", str(problem)
        except Exception as problem:
            state, error = "failed", describe_exception(problem)
            jobs.write_lines(job, traceback.format_exc().splitlines())
        jobs.end(job, state, error=error, location=location)


@contextlib.contextmanager
def _logged(report: JobReport):  # type: ignore[no-untyped-def]
    """Send what is printed to the log."""
    stream: TextIO = _LogStream(report)  # type: ignore[assignment]
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield


def main() -> None:
    """Do the job whose id is the argument."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process of the background may ignore it
    work(sys.argv[1])


if __name__ == "__main__":
    main()
