"""The splits that a service obeys, as a signed document that `assay rollout` writes.

A document that is not signed with the key, or that is older than one already seen, is refused, and the last
good one stays in force. The module needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.rollout.assignment import Slot, TrafficSplit

_FIELDS = ("name", "coverage", "arms", "salt", "holdout", "holdout_salt", "overrides", "everyone")
_SHORTEST_KEY = 16


class RefusedDocumentError(ValueError):
    """A document of splits that is not signed with the key, is older than the last, or is not one."""


@dataclass(frozen=True)
class ServedSplits:
    """The splits in force, numbered: a later document has a larger sequence."""

    sequence: int
    splits: Mapping[str, TrafficSplit] = field(default_factory=dict)

    def sign(self, key: str) -> str:
        """Return the document, signed."""
        payload = json.dumps(
            {"sequence": self.sequence, "splits": [_split_fields(split) for split in self.splits.values()]},
            ensure_ascii=False,
            sort_keys=True,
        )
        return json.dumps({"payload": payload, "signature": _signature(payload, key)}, ensure_ascii=False)

    @classmethod
    def of(cls, sequence: int, splits: Sequence[TrafficSplit]) -> ServedSplits:
        """Return the splits by their names."""
        return cls(sequence, {split.name: split for split in splits})

    @classmethod
    def verify(cls, document: str | bytes, key: str, newer_than: int = -1) -> ServedSplits:
        """Return the splits of a signed document.

        >>> document = ServedSplits.of(7, [TrafficSplit("new-ranker")]).sign("a key of 16 letters")
        >>> ServedSplits.verify(document, "another key of 16 letters")
        Traceback (most recent call last):
            ...
        assay.rollout.served_splits.RefusedDocumentError: the splits are not signed with this key
        """
        try:
            outer = json.loads(document)
            payload, signature = outer["payload"], outer["signature"]
            is_signed = hmac.compare_digest(_signature(payload, key), signature)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RefusedDocumentError("expected a signed document of splits, found something else") from None
        if not is_signed:
            raise RefusedDocumentError("the splits are not signed with this key")
        fields = json.loads(payload)
        if fields["sequence"] < newer_than:
            raise RefusedDocumentError(
                f"expected splits from number {newer_than} on, found number {fields['sequence']}"
            )
        return cls.of(fields["sequence"], [_split(entry) for entry in fields["splits"]])

    def write(self, path: str | os.PathLike[str], key: str) -> None:
        """Write the document so that a reader sees the old one or the new one, never a part."""
        write_whole(Path(path), self.sign(key))


class SplitSource:
    """The splits in force, read again when their file changes; safe to use from several threads.

    The file is looked at once in `refresh_seconds`, so a rollback is obeyed within that time. The largest
    sequence seen is kept beside the file if that can be written: an old file is refused after a restart too.
    """

    def __init__(self, path: str | os.PathLike[str], key: str, refresh_seconds: float = 1.0) -> None:
        _check_key(key)
        self.path = Path(path)
        self.problem = ""  # why the file was refused; empty: it was not
        self._key = key
        self._refresh_seconds = refresh_seconds
        self._mark: tuple[int, int, int] | None = None
        self._next_look = 0.0
        self._lock = threading.Lock()
        self._served = ServedSplits(self._last_sequence())
        self._read()  # before the first requests, which may come at once in several threads

    def split(self, name: str) -> TrafficSplit | None:
        """Return the split of an experiment; None: there is none, and all units are shown the same."""
        if time.monotonic() >= self._next_look:
            self.refresh()
        return self._served.splits.get(name)

    @property
    def sequence(self) -> int:
        """The number of the document in force; -1 without one."""
        return self._served.sequence

    def refresh(self) -> None:
        """Read the file if it has changed; one thread reads, the others go on with what there is."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._next_look = time.monotonic() + self._refresh_seconds
            self._read()
        finally:
            self._lock.release()

    def _read(self) -> None:
        try:
            status = os.stat(self.path)
            mark = (status.st_mtime_ns, status.st_size, status.st_ino)
            if mark == self._mark:
                return
            self._served = ServedSplits.verify(self.path.read_bytes(), self._key, self._served.sequence)
            self._mark, self.problem = mark, ""
        except FileNotFoundError:
            self.problem = f"{self.path}: there is no such file; the last splits stay in force"
        except (OSError, ValueError) as error:
            self.problem = f"{self.path}: {error}; the last splits stay in force"
        else:
            self._keep_sequence()

    @property
    def _sequence_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.sequence")

    def _last_sequence(self) -> int:
        try:
            return int(self._sequence_path.read_text())
        except (OSError, ValueError):
            return -1

    def _keep_sequence(self) -> None:
        with contextlib.suppress(OSError):  # of a folder that cannot be written
            write_whole(self._sequence_path, str(self.sequence))


def write_whole(path: Path, text: str) -> None:
    """Replace a file by a text, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _signature(payload: str, key: str) -> str:
    _check_key(key)
    return hmac.new(key.encode(), payload.encode(), hashlib.sha256).hexdigest()


def _check_key(key: str) -> None:
    if len(key) < _SHORTEST_KEY:
        raise ValueError(f"the key: expected at least {_SHORTEST_KEY} characters, found {len(key)}")


def _split_fields(split: TrafficSplit) -> dict[str, Any]:
    fields = {name: getattr(split, name) for name in _FIELDS}
    return {**fields, "slot": list(split.slot) if split.slot else None}


def _split(fields: Mapping[str, Any]) -> TrafficSplit:
    slot = Slot(*fields["slot"]) if fields.get("slot") else None
    values = {name: fields[name] for name in _FIELDS if name in fields}
    return TrafficSplit(**{**values, "arms": tuple(fields["arms"]), "slot": slot})
