"""Logs of other shapes than UBI: their columns by our names, one row for each click or for each query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.datasets.ubi_log.problem_log import ProblemLog
from assay.datasets.ubi_log.records import Record

_IDS = ("application", "query_id", "session_id", "client_id", "user_id")
_OF_QUERIES = ("experiment_id", "variant", "config_version", "latency_ms", "cost", "team_by_doc")
_OF_EVENTS = ("action", "object_id", "rank")
_LISTS = ("hit_ids", "clicks")
EVENT_COLUMN_NAMES = (*_IDS, "at", "user_query", "result_count", *_OF_QUERIES, *_OF_EVENTS, *_LISTS)
_SEARCHES = {"search", "query", "search_query"}  # actions that are queries, not events
_SEPARATORS = re.compile(r"[\s,;|]+")
_RECENT = 1 << 16  # query ids that are remembered, so that each becomes one query


def check_event_columns(columns: Mapping[str, str]) -> None:
    """Raise an error if a name is not one of ours."""
    for name in columns:
        if name not in EVENT_COLUMN_NAMES:
            hint = did_you_mean(name, EVENT_COLUMN_NAMES) or f"known: {', '.join(EVENT_COLUMN_NAMES)}"
            raise InputError(f"there is no column {name!r} of events; {hint}")


class ColumnReader:
    """Turns the rows of a log into records of UBI by the names of their columns.

    >>> reader = ColumnReader({"query_id": "qid", "object_id": "url"}, ProblemLog())
    >>> [list(record.value) for record in reader.records(Record("log", 1, {"qid": 1, "url": "a"}))]
    [['query_id', 'user_query', 'timestamp', 'query_attributes'],
     ['query_id', 'user_query', 'timestamp', 'action_name', 'event_attributes']]
    """

    def __init__(self, columns: Mapping[str, str], problems: ProblemLog) -> None:
        check_event_columns(columns)
        self.columns, self.problems = dict(columns), problems
        self.sources = {name: columns.get(name, name) for name in EVENT_COLUMN_NAMES}
        self.recent: dict[str, None] = {}
        self.found: set[str] = set()

    def records(self, record: Record) -> Iterator[Record]:
        """Yield the query of a row, if it is new, and its events."""
        row = {name: self._take(record.value, name) for name in EVENT_COLUMN_NAMES}
        query_id = row["query_id"] = self._query_id(row, record)
        shared = {name: row[name] for name in _IDS if row[name] is not None}
        shared |= {"user_query": row["user_query"], "timestamp": row["at"]}
        is_query = str(row["action"]).lower() in _SEARCHES and row["object_id"] is None
        if query_id is not None and (is_query or row["hit_ids"] is not None or self._is_new(str(query_id))):
            yield record._replace(value=self._query(row, shared, record))
        if is_query:
            return
        for event in self._events(row, record):
            yield record._replace(value={**shared, **event})

    def check_found(self) -> None:
        """Raise an error if a column that was named is in no row."""
        missing = [f"{name}={column}" for name, column in self.columns.items() if name not in self.found]
        if missing:
            raise InputError(f"no row of the log has the column of --column {', '.join(missing)}")

    def _take(self, value: Mapping[str, Any], name: str) -> Any:
        """Return the value of a column; a name with dots goes into nested objects."""
        source = self.sources[name]
        found: Any = value.get(source)
        if found is None and "." in source:
            found = value
            for part in source.split("."):
                found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            self.found.add(name)
        return None if found == "" else found

    def _query_id(self, row: Mapping[str, Any], record: Record) -> Any:
        """Return the id of the query; without any, equal users, texts and times are one query."""
        if row["query_id"] is not None or row["user_query"] is None:
            return row["query_id"]
        user = row["session_id"] if row["session_id"] is not None else row["client_id"]
        if user is None or row["at"] is None:
            self.problems.add("row without a query id", record.source, record.line, row["user_query"])
            return f"{record.source}:{record.line}"
        text = "\0".join(map(str, (user, row["at"], row["user_query"])))
        return blake2b(text.encode(), digest_size=8).hexdigest()

    def _is_new(self, query_id: str) -> bool:
        """Return whether a query id was not seen lately."""
        is_new = query_id not in self.recent
        self.recent[query_id] = None
        if len(self.recent) > _RECENT:
            del self.recent[next(iter(self.recent))]
        return is_new

    def _query(self, row: Mapping[str, Any], shared: Mapping[str, Any], record: Record) -> dict[str, Any]:
        taken = {*self.sources.values(), *(source.split(".")[0] for source in self.sources.values())}
        further = {name: value for name, value in record.value.items() if name not in taken}
        own = {name: row[name] for name in _OF_QUERIES if row[name] is not None}
        query = {**shared, "query_attributes": {**further, **own}}
        hits = _as_list(row["hit_ids"])
        if hits is not None:
            query["query_response_hit_ids"] = hits
        elif row["result_count"] is not None:
            query["result_count"] = row["result_count"]
        return query

    def _events(self, row: Mapping[str, Any], record: Record) -> Iterator[dict[str, Any]]:
        if row["clicks"] is not None:
            yield from self._clicks(row, record)
        elif any(row[name] is not None for name in _OF_EVENTS):
            yield _event(row["action"] or "click", row["object_id"], row["rank"])

    def _clicks(self, row: Mapping[str, Any], record: Record) -> Iterator[dict[str, Any]]:
        """Yield an event for each click of a list: a flag for each result, ids, ranks, or objects."""
        hits, clicks = _as_list(row["hit_ids"]) or [], _as_list(row["clicks"]) or []
        if hits and len(clicks) == len(hits) and all(str(click) in _FLAGS for click in clicks):
            clicks = [rank for rank, click in enumerate(clicks, 1) if _FLAGS[str(click)]]
        for click in clicks:
            if isinstance(click, Mapping):
                yield _click_object(click)
            elif str(click) in hits or not str(click).isdecimal():
                yield _event("click", click, None)
            elif not 1 <= int(click) <= len(hits):
                self.problems.add("click on a rank without a result", record.source, record.line, click)
                yield _event("click", None, click)
            else:
                yield _event("click", hits[int(click) - 1], click)


_FLAGS = {"0": False, "1": True, "False": False, "True": True, "false": False, "true": True}


def _event(action: Any, object_id: Any, rank: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if object_id is not None:
        attributes["object"] = {"object_id": object_id}
    if rank is not None:
        attributes["position"] = {"ordinal": rank}
    return {"action_name": str(action), "event_attributes": attributes}


def _click_object(click: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of a click that is an object with an id, a rank and a time."""
    ids = (click.get(name) for name in ("object_id", "doc_id", "id", "url"))
    event = _event("click", next((i for i in ids if i is not None), None), click.get("rank"))
    time = click.get("at", click.get("timestamp", click.get("time")))
    return event if time is None else {**event, "timestamp": time}


def _as_list(value: Any) -> list[Any] | None:
    """Return a list; a text is split at blanks, commas, semicolons or bars.

    >>> _as_list("a, b|c")
    ['a', 'b', 'c']
    """
    if value is None:
        return None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(item) if isinstance(item, str | int | float) else item for item in value]
    return [part for part in _SEPARATORS.split(str(value)) if part]
