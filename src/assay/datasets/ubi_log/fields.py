"""The fields of one record, under their own names and types; every irregularity is counted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.datasets.ubi_log.problem_log import ProblemLog
from assay.datasets.ubi_log.records import Record

_ACTIONS = {
    "item_click": "click",
    "product_click": "click",
    "result_click": "click",
    "document_click": "click",
    "click_through": "click",
    "item_view": "view",
    "product_view": "view",
    "product_purchase": "purchase",
    "product_impression": "impression",
}
_HITS = ("query_response_hit_ids", "query_response_object_ids", "query_response_objects_ids")
_OWN = ("experiment_id", "variant", "config_version")
_USER_AGENTS = ("user_agent", "userAgent", "browser")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"-?\d+(\.\d+)?$")


class RecordReader:
    """Turns records into rows of events and of queries."""

    def __init__(self, problems: ProblemLog) -> None:
        self.problems = problems
        self.record = Record("", None, {})

    def _add(self, kind: str, detail: object = "") -> None:
        self.problems.add(kind, self.record.source, self.record.line, detail)

    def event(self, record: Record) -> dict[str, Any]:
        """Return the row of an event."""
        self.record = record
        value = record.value
        attributes = self._mapping(value, "event_attributes")
        position, item = self._mapping(attributes, "position"), self._mapping(attributes, "object")
        rest = {key: entry for key, entry in attributes.items() if key not in ("position", "object")}
        name = str(value["action_name"])
        return {
            **self._shared(value, attributes),
            "action": self._action(name),
            "action_name": name,
            "object_id": _text(item.get("object_id")) or _text(item.get("internal_id")),
            "object_id_field": _text(item.get("object_id_field")),
            "ordinal": self._ordinal(position.get("ordinal")),
            **self._coordinates(position),
            "message_type": _text(value.get("message_type")),
            "message": _text(value.get("message")),
            "attributes": _json_of(rest),
        }

    def query(self, record: Record) -> dict[str, Any]:
        """Return the row of a query."""
        self.record = record
        value = record.value
        attributes = self._mapping(value, "query_attributes")
        hits, teams = self._hits(value, attributes.get("team_by_doc"))
        return {
            **self._shared(value, attributes),
            "object_id_field": _text(value.get("object_id_field")),
            "response_id": _text(value.get("query_response_id")),
            "hit_ids": hits,
            "result_count": self._result_count(value, attributes, hits),
            "hit_teams": teams,
            **{name: _text(attributes.get(name)) for name in _OWN},
            **{name: self._number(attributes.get(name)) for name in ("latency_ms", "cost")},
            "attributes": _json_of(attributes),
        }

    def _shared(self, value: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
        session = _text(value.get("session_id"))
        if session is None and (session := _text(attributes.get("session_id"))) is not None:
            self._add("session in the attributes")
        return {
            "application": _text(value.get("application")) or _text(attributes.get("application")),
            "query_id": _text(value.get("query_id")),
            "session_id": session,
            "client_id": _text(value.get("client_id")) or _text(attributes.get("client_id")),
            "user_id": _text(value.get("user_id")) or _text(attributes.get("user_id")),
            "at": self._time(value.get("timestamp")),
            "user_query": _text(value.get("user_query")),
            "user_agent": self._user_agent(value, attributes),
            "source": self.record.source,
            "line": self.record.line,
        }

    @staticmethod
    def _user_agent(value: Mapping[str, Any], attributes: Mapping[str, Any]) -> str | None:
        found = (_text(values.get(name)) for values in (value, attributes) for name in _USER_AGENTS)
        return next((text for text in found if text), None)

    def _result_count(
        self, value: Mapping[str, Any], attributes: Mapping[str, Any], hits: Sequence[str] | None
    ) -> int | None:
        """Return how many results were shown, as their list says, else as a count in the log does."""
        if hits is not None:
            return len(hits)
        count = self._number(value.get("result_count", attributes.get("result_count")))
        return None if count is None or count < 0 else int(count)

    def _action(self, name: str) -> str:
        standard = _ACTIONS.get(name.lower(), name)
        if standard != name:
            self._add("action under another name", name)
        return standard

    def _mapping(self, value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        inner = value.get(name)
        if inner is None or isinstance(inner, dict):
            return inner or {}
        self._add("attributes that are not an object", f"{name}: {inner!r}")
        return {}

    def _time(self, value: Any) -> datetime | None:
        """Return a time in UTC."""
        if value is None or value == "":
            return None
        if type(value) is str and value.endswith("Z"):  # nearly always, and the fastest way
            with suppress(ValueError):
                return datetime.fromisoformat(value)
        try:
            if isinstance(value, datetime):
                return self._zoned(value)
            if isinstance(value, int | float) or _NUMBER.match(str(value)):
                self._add("time as a number", value)
                return _time_of_number(float(value))
            return self._zoned(datetime.fromisoformat(str(value).strip()))
        except (ValueError, OverflowError):
            self._add("time that cannot be read", repr(value))
            return None

    def _zoned(self, time: datetime) -> datetime:
        if time.tzinfo is None:
            self._add("time without a zone", time.isoformat())
            return time.replace(tzinfo=UTC)
        if time.utcoffset():
            self._add("time in another zone", time.isoformat())
        return time.astimezone(UTC)

    def _ordinal(self, value: Any) -> int | None:
        if value is None or value == "":
            return None
        number = self._parse_number(value)
        if number is None or number != int(number) or not 0 <= number < 1 << 31:
            self._add("ordinal that is not a whole number", repr(value))
            return None
        return int(number)

    def _coordinates(self, position: Mapping[str, Any]) -> dict[str, float | None]:
        nested = position.get("xy")
        if not isinstance(nested, dict) and "x" in position:
            self._add("position not nested in xy")
        values = nested if isinstance(nested, dict) else position
        return {axis: self._number(values.get(axis)) for axis in ("x", "y")}

    def _number(self, value: Any) -> float | None:
        number = self._parse_number(value)
        if number is None and value not in (None, ""):
            self._add("attribute of a wrong type", repr(value))
        return number

    @staticmethod
    def _parse_number(value: Any) -> float | None:
        if isinstance(value, bool) or value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        return number if math.isfinite(number) else None

    def _hits(self, value: Mapping[str, Any], team_by_doc: Any) -> tuple[list[str] | None, list[str] | None]:
        """Return the ids of the results and, of an interleaved list, their teams."""
        name = next((name for name in _HITS if value.get(name) is not None), None)
        if name is None:
            return None, None
        if name != _HITS[0]:
            self._add("result ids under another name", name)
        hits = value[name]
        if not isinstance(hits, Sequence) or isinstance(hits, str):
            self._add("result ids that are not a list", repr(hits))
            return None, None
        if all(type(hit) is str and hit for hit in hits) and not team_by_doc:
            return list(hits), None
        pairs = [_hit(hit) for hit in hits]
        for _ in range(sum(not doc for doc, _ in pairs)):
            self._add("result without an id")
        ids = [doc for doc, _ in pairs if doc]
        teams = [team for doc, team in pairs if doc]
        if isinstance(team_by_doc, Mapping):
            teams = [_text(team_by_doc.get(doc)) or team for doc, team in zip(ids, teams, strict=True)]
        return ids, [team or "" for team in teams] if any(teams) else None


def _hit(hit: Any) -> tuple[str | None, str | None]:
    """Return the id and the team of a result, which is an id or an object."""
    if not isinstance(hit, dict):
        return _text(hit), None
    names = ("object_id", "doc_id", "id", "_id")
    team = _text(hit.get("search_config")) or _text(hit.get("team"))
    return next((text for name in names if (text := _text(hit.get(name)))), None), team


def _text(value: Any) -> str | None:
    """Return an id or a text; None if it is missing or empty."""
    if type(value) is str:  # nearly always, and the fastest test
        return value or None
    return None if value is None or isinstance(value, dict | list) else str(value)


def _json_of(value: Mapping[str, Any]) -> str | None:
    return json.dumps(value, ensure_ascii=False, default=str) if value else None


def _time_of_number(number: float) -> datetime:
    """Return the time of seconds, milliseconds or microseconds since 1970.

    >>> _time_of_number(1717527761998.0).isoformat()
    '2024-06-04T19:02:41.998000+00:00'
    """
    size = abs(number)
    unit = 1e6 if size < 1e11 else 1e3 if size < 1e14 else 1.0  # microseconds of one
    return _EPOCH + timedelta(microseconds=round(number * unit))
