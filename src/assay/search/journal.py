"""What a run has finished, one line of JSON a query, so that a run that was stopped goes on where it was.

The file is named by what is asked (the system's configuration, k, the queries), so another configuration
has a file of its own: nothing must be deleted to try one, and going back to the first finds its answers.
How it is asked (threads, rate, timeout) changes no answer; it is written down for each sitting instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from assay.core.digests import digest_of
from assay.core.errors import FormatError, InputError, StoreError
from assay.search.searcher import Answer, Ranked, Stage

_encoded = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode  # twice as fast
_ODD = r"[^\w.-]+"  # has no place in the name of a file


class Failure(NamedTuple):
    """Why a query has no answer: a kind of SearchError, and the words."""

    kind: str
    said: str


class Finished(NamedTuple):
    """A query that was answered, or failed for good."""

    query_id: str
    started: float  # seconds since 1970, at the first attempt
    attempts: int
    waited_ns: int  # what passed before the attempt that counts: failed attempts, and pauses between them
    latency_ns: int | None  # of the attempt that was answered
    answer: Answer | None
    failure: Failure | None = None

    @property
    def ended(self) -> float:
        """Seconds since 1970."""
        return self.started + (self.waited_ns + (self.latency_ns or 0)) / 1e9


class Sitting(NamedTuple):
    """How queries were asked, from one start to the next."""

    began: float  # seconds since 1970
    concurrency: int
    rate: float | None
    timeout: float
    seconds: float = 0.0  # until the last query was finished


class Journal:
    """The file of one run: what is in it, and a place for what is finished next."""

    def __init__(self, folder: str | os.PathLike[str], name: str, about: Mapping[str, Any]) -> None:
        self._about = json.loads(json.dumps({"assay": "journal 1", **about}, sort_keys=True, default=str))
        key = digest_of(_encoded(self._about).encode())
        self.path = Path(folder) / f"{re.sub(_ODD, '-', name)[:40]}-{key[:16]}.jsonl"
        self.finished: dict[str, Finished] = {}  # the last word on each query
        self.sittings: list[Sitting] = []
        self._place = -1

    @contextmanager
    def opened(self, again: bool = False) -> Iterator[Self]:
        """The journal, read (or begun `again`) and ready for more; others are kept out until it is closed."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._place = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        try:
            self._lock()
            if again:  # only now: what another run writes is not ours to drop
                os.ftruncate(self._place, 0)
            self._read()
            yield self
        finally:
            os.close(self._place)

    def sit(self, sitting: Sitting) -> None:
        """Write down how queries are asked from now on."""
        row = sitting._asdict()
        del row["seconds"]  # told by what follows
        self._write({"sitting": row})

    def put(self, *finished: Finished) -> None:
        """Write down queries that are finished; they are there even if the process is killed right after."""
        self._write(*map(_row, finished))

    def _write(self, *rows: Mapping[str, Any]) -> None:
        lines = "".join(f"{_encoded(row)}\n" for row in rows).encode()
        try:
            while lines:  # a full disk takes a part, and refuses the next
                lines = lines[os.write(self._place, lines) :]
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def _lock(self) -> None:
        try:
            fcntl.flock(self._place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{self.path}: another run writes this journal; wait for it, or name another folder"
            ) from None

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # a line that was being written when the run was killed
            os.ftruncate(self._place, len(whole))
        self.finished, self.sittings = {}, []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._take(json.loads(line), number)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise FormatError(
                    f"is damaged: {error}; delete it to ask again", str(self.path), number
                ) from None
        if not whole:
            self._write(self._about)

    def _take(self, row: dict[str, Any], number: int) -> None:
        if number == 1:
            if row != self._about:
                raise ValueError("expected the journal of this configuration, found that of another")
        elif "sitting" in row:
            self.sittings.append(Sitting(**row["sitting"]))
        else:
            done = self.finished[row["query_id"]] = _finished(row)
            last = self.sittings[-1]
            self.sittings[-1] = last._replace(seconds=max(last.seconds, done.ended - last.began))


def _row(done: Finished) -> dict[str, Any]:
    row: dict[str, Any] = {
        "query_id": done.query_id,
        "started": done.started,
        "attempts": done.attempts,
        "waited_ns": done.waited_ns,
    }
    if done.failure:
        return row | done.failure._asdict()
    assert done.answer
    return row | {"latency_ns": done.latency_ns} | done.answer._asdict()


def _finished(row: dict[str, Any]) -> Finished:
    head = row["query_id"], row["started"], row["attempts"], row["waited_ns"]
    if "kind" in row:
        return Finished(*head, None, None, Failure(row["kind"], row["said"]))
    stages = tuple(Stage(name, _ranked(listed), taken) for name, listed, taken in row["stages"])
    answer = Answer(_ranked(row["documents"]), stages, row["tokens"], row["cost"])
    return Finished(*head, row["latency_ns"], answer)


def _ranked(listed: list[list[Any]]) -> Ranked:
    return [(document, score) for document, score in listed]


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be written ({error.strerror or error}); name another folder")
