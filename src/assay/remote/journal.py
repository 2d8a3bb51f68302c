"""Journals of finished calls: one line of JSON each, so that work that was stopped can continue.

The name of the file contains a digest of its header (what the calls have in common: configuration,
inputs). Another configuration has a file of its own, so nothing must be deleted to try one, and
returning to the first finds its results.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from assay.core.digests import digest_of
from assay.core.errors import FormatError, InputError, StoreError

_encode_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode  # twice as fast
_NOT_IN_FILE_NAMES = r"[^\w.-]+"


class JournalFile:
    """A file of JSON lines after a header; subclasses say what a row means by `_restore`.

    A row is written whole or, if the process is killed, cut off when the file is opened next.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str, header: Mapping[str, Any]) -> None:
        self._header = json.loads(json.dumps({"assay": "journal 1", **header}, sort_keys=True, default=str))
        key = digest_of(_encode_json(self._header).encode())
        self.path = Path(folder) / f"{re.sub(_NOT_IN_FILE_NAMES, '-', name)[:40]}-{key[:16]}.jsonl"
        self._descriptor = -1

    @contextmanager
    def open(self, restart: bool = False) -> Iterator[Self]:
        """Read the journal, or empty it to `restart`, and lock it for writing until it is closed."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise _write_error(self.path, error) from None
        try:
            self._lock()
            if restart:  # only after locking: another process may be writing
                os.ftruncate(self._descriptor, 0)
            self._read()
            yield self
        finally:
            os.close(self._descriptor)

    def append(self, *rows: Mapping[str, Any]) -> None:
        """Write rows; they are in the file even if the process is killed immediately afterwards."""
        lines = "".join(f"{_encode_json(row)}\n" for row in rows).encode()
        try:
            while lines:  # a full disk accepts a part, and refuses the next
                lines = lines[os.write(self._descriptor, lines) :]
        except OSError as error:
            raise _write_error(self.path, error) from None

    def _clear(self) -> None:
        """Forget what was restored, before the file is read."""
        raise NotImplementedError

    def _restore(self, row: dict[str, Any]) -> None:
        """Take in one row of the file."""
        raise NotImplementedError

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{self.path}: another run is writing this journal; wait for it to end, or use another folder"
            ) from None

    def _read(self) -> None:
        content = self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):  # a line that was being written when the process was killed
            os.ftruncate(self._descriptor, len(complete))
        self._clear()
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                self._read_row(json.loads(line), number)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise FormatError(
                    f"is damaged: {error}; delete the file to start again", str(self.path), number
                ) from None
        if not complete:
            self.append(self._header)

    def _read_row(self, row: Any, number: int) -> None:
        if number > 1:
            self._restore(row)
        elif row != self._header:
            raise ValueError("expected the journal of this configuration, found that of another")


class Journal(JournalFile):
    """The finished calls of one configuration: the JSON value of each key.

    >>> import tempfile
    >>> with Journal(tempfile.mkdtemp(), "answers", {"model": "m"}).open() as journal:
    ...     journal.put("q1", {"text": "yes"})
    >>> with journal.open():
    ...     journal.values
    {'q1': {'text': 'yes'}}
    """

    def __init__(self, folder: str | os.PathLike[str], name: str, header: Mapping[str, Any]) -> None:
        super().__init__(folder, name, header)
        self.values: dict[str, Any] = {}  # the last value of each key

    def put(self, key: str, value: Any) -> None:
        """Record the value of a key."""
        self.append({"key": key, "value": value})
        self.values[key] = value

    def _clear(self) -> None:
        self.values = {}

    def _restore(self, row: dict[str, Any]) -> None:
        self.values[row["key"]] = row["value"]


def _write_error(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be written ({error.strerror or error}); use another folder")
