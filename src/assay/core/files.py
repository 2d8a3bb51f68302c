"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import StoreError

_ERROR_NUMBER = re.compile(r"\(os error (\d+)\)|errno = (\d+)")


def disk_error(error: Exception) -> str | None:
    """Return the operating system's message of a failed write, also if a library wraps it in its own error.

    >>> disk_error(RuntimeError("parquet: underlying IO error: No space left on device (os error 28)"))
    'No space left on device'
    """
    match = _ERROR_NUMBER.search(str(error))
    if match:
        return os.strerror(int(match[1] or match[2]))
    return error.strerror or str(error) if isinstance(error, OSError) else None


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces the target if no error occurs and is removed otherwise."""
    partial = target.with_name(f".{os.urandom(16).hex()}.part")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def write_atomically(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces `path` once it is complete and on the disk."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(target) as partial:
            yield partial
            with open(partial, "rb+") as file:
                os.fsync(file.fileno())
        _sync_folder(target.parent)
    except Exception as error:
        reason = disk_error(error)
        if reason is None:
            raise
        raise StoreError(f"nothing was saved: {target} cannot be written ({reason})") from None


def _sync_folder(folder: Path) -> None:
    """Make sure that the name of a new file is on the disk, too."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
