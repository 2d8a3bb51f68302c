"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import StoreError


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
    except OSError as error:
        raise StoreError(
            f"nothing was saved: {place} cannot be written ({error.strerror or error})"
        ) from None
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
