"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import StoreError

_NUMBER = re.compile(r"\(os error (\d+)\)|errno = (\d+)")


def disk_error(error: Exception) -> str | None:
    """What the system said when something could not be written, also where a library tells it in its words.

    >>> disk_error(RuntimeError("parquet: underlying IO error: No space left on device (os error 28)"))
    'No space left on device'
    """
    found = _NUMBER.search(str(error))
    if found:
        return os.strerror(int(found[1] or found[2]))
    return error.strerror or str(error) if isinstance(error, OSError) else None


@contextmanager
def put_in_place(path: str | Path) -> Iterator[Path]:
    """A file beside to be written, which takes its place once it is whole and on the disk."""
    place = Path(path)
    beside = place.with_name(f".{uuid.uuid4().hex}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, place)
        _sync(place.parent)
    except Exception as error:
        said = disk_error(error)
        if said is None:
            raise
        raise StoreError(f"nothing was saved: {place} cannot be written ({said})") from None
    finally:
        beside.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make sure that the name of a new file is on the disk too."""
    if os.name == "posix":
        place = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(place)
        finally:
            os.close(place)
