"""Where records are sent: a file of JSON lines, or a server over HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from assay.core.errors import InputError
from assay.online.telemetry.records import Record
from assay.remote.errors import RemoteError
from assay.remote.http import HttpClient, compact_json
from assay.remote.retry import RetryPolicy, call_with_retries

_NDJSON = "application/x-ndjson"
_FORMS = ("lines", "list", "bulk")
DEFAULT_RETRIES = RetryPolicy(retries=4, backoff=0.5, longest=30.0)


class Sink(Protocol):
    """Receives batches of records, one at a time."""

    def write(self, records: Sequence[Record]) -> int:
        """Write records and return how many were refused; any error if all of them were."""
        ...

    def close(self) -> None:
        """Release what the sink holds."""
        ...


class FileSink:
    """Appends records to a file of JSON lines, which may be moved away while it is written (logrotate).

    Each batch is one write at the end of the file, so that several processes may write to one file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: int | None = None
        self._is_torn = False  # whether the last line may lack its end

    def write(self, records: Sequence[Record]) -> int:
        """Append records; OSError if the file cannot be written."""
        file = self._open()
        data = b"".join(record.line + b"\n" for record in records)
        data = b"\n" + data if self._is_torn else data
        self._is_torn = True
        while data:
            data = data[os.write(file, data) :]
        self._is_torn = False
        return 0

    def _open(self) -> int:
        """Return the file, opened again if it was moved or removed."""
        if self._file is not None and self._is_moved(self._file):
            self.close()
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            size = os.fstat(self._file).st_size
            self._is_torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"
        return self._file

    def _is_moved(self, file: int) -> bool:
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(file))
        except FileNotFoundError:
            return True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class HttpSink:
    """Posts batches of records to a URL, and repeats calls after transient failures.

    `form` is how a batch is written: `lines` (JSON lines), `list` (a JSON list), or `bulk`: the bulk
    requests of OpenSearch and Elasticsearch, with queries and events in the indexes of `indexes`.
    A call that was repeated may have arrived twice: equal records are marked when the log is read.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        form: str = "lines",
        indexes: tuple[str, str] = ("ubi_queries", "ubi_events"),
        timeout: float = 10.0,
        retries: RetryPolicy = DEFAULT_RETRIES,
    ) -> None:
        if form not in _FORMS:
            raise InputError(f"expected a form of {', '.join(_FORMS)}, found {form!r}")
        self._client = HttpClient(url, headers, timeout=timeout)
        parts = self._client.parts
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.form, self.retries = form, retries
        self._heads = [compact_json({"index": {"_index": name}}) for name in indexes]

    def write(self, records: Sequence[Record]) -> int:
        """Post records and return how many the server refused; RemoteError if the call failed."""
        body, content_type = self._body(records)
        return _count_refused(call_with_retries(lambda: self._post(body, content_type), self.retries))

    def _body(self, records: Sequence[Record]) -> tuple[bytes, str]:
        if self.form == "list":
            return b"[" + b",".join(record.line for record in records) + b"]", "application/json"
        if self.form == "lines":
            return b"".join(record.line + b"\n" for record in records), _NDJSON
        queries, events = self._heads
        lines = (line for r in records for line in (queries if r.is_query else events, r.line))
        return b"".join(line + b"\n" for line in lines), _NDJSON

    def _post(self, body: bytes, content_type: str) -> Any:
        try:
            return self._client.call("POST", self._target, body, content_type=content_type, allow_empty=True)
        except RemoteError as error:
            if error.kind == "malformed":  # the server took the records and answered with something else
                return None
            raise

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _count_refused(answer: Any) -> int:
    """Return how many records of a bulk request were refused."""
    if not isinstance(answer, dict) or not answer.get("errors") or not isinstance(answer.get("items"), list):
        return 0
    results = [[*item.values()] for item in answer["items"] if isinstance(item, dict)]
    return sum(isinstance(value, dict) and "error" in value for values in results for value in values)
