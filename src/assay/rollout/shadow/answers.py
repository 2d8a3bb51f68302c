"""What a Python function returned, as the ids of documents in rank order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from assay.core.timing import error_text
from assay.remote.errors import RemoteError
from assay.rollout.shadow.records import MAX_HITS, CallAnswer

_ID_NAMES = ("doc_id", "id", "_id", "object_id")
ReadHits = Callable[[Any], Sequence[str]]


def read_document_ids(result: Any) -> list[str]:
    """Return the ids of a result: ids, pairs of id and score, records with an id, or scores by id.

    >>> read_document_ids([("a", 2.5), ("b", 1.0)]), read_document_ids({"a": 0.1, "b": 0.7})
    (['a', 'b'], ['b', 'a'])
    >>> read_document_ids([{"id": 7, "title": "VPN"}])
    ['7']
    """
    if isinstance(result, Mapping):
        result = sorted(result, key=lambda doc: -float(result[doc]))
    if not isinstance(result, Sequence) or isinstance(result, str | bytes):
        raise RemoteError("malformed", f"expected a list of documents, found a {type(result).__name__}")
    return [_document_id(item) for item in islice(result, MAX_HITS)]


def _document_id(item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((item[name] for name in _ID_NAMES if name in item), None)
    elif isinstance(item, tuple | list) and item:
        item = item[0]
    if isinstance(item, str | int) and not isinstance(item, bool) and item != "":
        return str(item)
    raise RemoteError("malformed", f"expected the id of a document, found a {type(item).__name__}")


def snapshot(result: Any) -> Any:
    """Return a list or a table as it is now: its owner may change it while it waits to be read."""
    return copy.copy(result) if isinstance(result, list | dict) else result


def read_answer(read: ReadHits, result: Any, latency_ms: float) -> CallAnswer:
    """Return the answer of a call that returned."""
    try:
        return CallAnswer(latency_ms, list(islice(read(result), MAX_HITS)))
    except RemoteError as error:
        return CallAnswer(latency_ms, None, error.kind, error.reason)
    except Exception as error:
        return CallAnswer(latency_ms, None, "malformed", describe_error(error))


def failed_answer(error: BaseException, latency_ms: float) -> CallAnswer:
    """Return the answer of a call that raised an error."""
    if isinstance(error, RemoteError):
        return CallAnswer(latency_ms, None, error.kind, error.reason, error.status)
    kind = "timeout" if isinstance(error, TimeoutError) else "failed"
    return CallAnswer(latency_ms, None, kind, describe_error(error))


def timeout_answer(seconds: float) -> CallAnswer:
    """Return the answer of a call that did not end in its time."""
    return CallAnswer(1000 * seconds, None, "timeout", f"no answer in {seconds:g} s")


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an error."""
    return f"{type(error).__name__}: {error_text(error)}"
