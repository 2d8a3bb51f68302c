"""The processes of an engine: their memory and how to kill them.

A database may start servers that detach from their parent, so processes are identified by a variable in their
environment.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def marked_processes(mark: str, first: int) -> list[int]:
    """Return the ids of the first process and of all others with the mark in their environment."""
    if not mark or not _PROC.is_dir():
        return [first]
    variable = f"ASSAY_HOSTED={mark}".encode()
    return [first, *(pid for pid in _all_process_ids() if pid != first and variable in _environment(pid))]


def thread_ids(pid: int) -> list[int]:
    """Return the thread ids of a process, or its own id if the system does not list them."""
    try:
        return [int(name) for name in os.listdir(_PROC / str(pid) / "task")]
    except OSError:
        return [pid]


def pin_process(pid: int, cpus: Sequence[int]) -> None:
    """Restrict all threads of a process, if there are processors given; new threads inherit this."""
    for thread in thread_ids(pid) if cpus else ():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(thread, cpus)


def limit_processors(count: int) -> None:
    """Restrict this process to the last `count` of its processors, on systems that support this."""
    if hasattr(os, "sched_setaffinity"):
        pin_process(os.getpid(), sorted(os.sched_getaffinity(0))[-count:])


def _all_process_ids() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdecimal()]


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def private_bytes(pids: Iterable[int]) -> int | None:
    """Return the private bytes of processes plus their shared bytes counted once, or None if unknown."""
    sizes = [pair for pid in pids if (pair := _process_bytes(pid)) is not None]
    return sum(private for private, _ in sizes) + max(shared for _, shared in sizes) if sizes else None


def _process_bytes(pid: int) -> tuple[int, int] | None:
    """Return the private bytes of a process and those that it may share, without mapped files."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines if line.startswith(("RssAnon", "RssShmem")))
    private, shared = (int(sizes.get(name, "0 kB").split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))
    return private, shared


def kill_processes(pids: Iterable[int]) -> None:
    """Kill processes."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
