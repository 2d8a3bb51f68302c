"""The processes of an engine: how much memory they hold, and how they are ended.

A database starts servers that leave their parent, so processes are known by a mark in their environment.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def marked(mark: str, first: int) -> list[int]:
    """The first process, and every other that carries the mark."""
    if not mark or not _PROC.is_dir():
        return [first]
    wanted = f"ASSAY_HOSTED={mark}".encode()
    return [first, *(pid for pid in _numbers() if pid != first and wanted in _environment(pid))]


def threads_of(pid: int) -> list[int]:
    """The threads of a process, the process itself where nobody tells."""
    try:
        return [int(name) for name in os.listdir(_PROC / str(pid) / "task")]
    except OSError:
        return [pid]


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdecimal()]


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def held(pids: Iterable[int]) -> int | None:
    """The bytes that processes hold of their own, what they share counted once; None where nobody tells."""
    found = [sizes for pid in pids if (sizes := _own(pid)) is not None]
    return sum(own for own, _ in found) + max(shared for _, shared in found) if found else None


def _own(pid: int) -> tuple[int, int] | None:
    """The bytes of a process that are its own, and those that it may share; mapped files are neither."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines if line.startswith(("RssAnon", "RssShmem")))
    own, shared = (int(sizes.get(name, "0 kB").split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))
    return own, shared


def end(pids: Iterable[int]) -> None:
    """Kill processes, whatever they are doing."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
