"""Small logs, and online metrics of them in plain Python: each definition written a second time."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from assay.online.event_tables import EVENT_COLUMNS, QUERY_COLUMNS

_START = dt.datetime(2026, 1, 1, 23, 50)
_TYPES: dict[str, Any] = {
    "string": pl.String,
    "timestamp": pl.Datetime("us"),
    "int64": pl.Int64,
    "float64": pl.Float64,
}
_TYPES |= {"boolean": pl.Boolean}
_TEXTS = [
    "vpn",
    "VPN  setup",
    "vnp",
    "dns",
    "日本",
    "日木",
    "straße",
    "strasse",
    "password reset",
    "reset!",
    "",
    None,
]
Row = dict[str, Any]


def frame(rows: Sequence[Row], columns: dict[str, str]) -> pl.DataFrame:
    """Rows as a frame with typed columns."""
    return pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in columns},
        schema={name: _TYPES[dtype] for name, dtype in columns.items()},
    )


def query_frame(rows: Sequence[Row]) -> pl.DataFrame:
    return frame(rows, {**QUERY_COLUMNS, "category": "string"})


def event_frame(rows: Sequence[Row]) -> pl.DataFrame:
    return frame(rows, EVENT_COLUMNS)


def _some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, st.none())


_times = st.integers(0, 5_000_000).map(lambda ms: _START + dt.timedelta(milliseconds=ms))
_queries = st.fixed_dictionaries(
    {
        "client_id": _some(st.sampled_from(["a", "b", "c"])),
        "at": _some(_times),
        "user_query": st.sampled_from(_TEXTS),
        "result_count": _some(st.integers(0, 4)),
        "variant": _some(st.sampled_from(["control", "treatment"])),
        "category": _some(st.sampled_from(["x", "y"])),
        "latency_ms": _some(st.integers(0, 2000).map(float)),
        "cost": _some(st.integers(0, 9).map(float)),
    }
)
_events = st.fixed_dictionaries(
    {
        "query": _some(st.integers(0, 9)),
        "client_id": _some(st.sampled_from(["a", "b", "c"])),
        "at": _some(_times),
        "action": _some(st.sampled_from(["click", "click", "impression", "purchase"])),
        "rank": _some(st.integers(1, 4)),
        "is_repeated": st.sampled_from([False, False, False, True, None]),
    }
)


def sample_logs(count: int) -> list[tuple[list[Row], list[Row]]]:
    """Logs, the same every time."""
    sample = []

    @settings(max_examples=count, database=None, derandomize=True, phases=[Phase.generate])
    @given(logs())
    def collect(log: tuple[list[Row], list[Row]]) -> None:
        sample.append(log)

    collect()
    return sample


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Queries and events; the log names all sessions, some or none."""
    queries = draw(st.lists(_queries, min_size=1, max_size=8))
    events = draw(st.lists(_events, max_size=12))
    choices: list[list[str | None]] = [["s", "t"], ["s", None], [None]]
    sessions = draw(st.sampled_from(choices))
    for number, row in enumerate(queries):
        row |= {"query_id": f"q{number}", "session_id": draw(st.sampled_from(sessions))}
    for row in events:
        query = row.pop("query")
        row |= {"query_id": None if query is None else f"q{query}", "object_id": "d"}
        row["session_id"] = draw(st.sampled_from(sessions))
    return queries, events


def merge_logs(parts: Sequence[tuple[list[Row], list[Row]]]) -> tuple[list[Row], list[Row]]:
    """Logs of different clients, queries and sessions as one."""
    queries: list[Row] = []
    events: list[Row] = []
    for number, part in enumerate(parts):
        for rows, merged in zip(part, (queries, events), strict=True):
            for row in rows:
                ids = {n: row[n] and f"{number}-{row[n]}" for n in ("query_id", "session_id", "client_id")}
                merged.append({**row, **ids})
    return queries, events


def seconds(start: dt.datetime, end: dt.datetime) -> float:
    return (end - start) // dt.timedelta(milliseconds=1) / 1000


def edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


def is_similar(first: str, second: str) -> bool:
    a, b = (re.sub(r'[ \t\r\n.,;:!?"()/]+', " ", text.lower()).strip(" ") for text in (first, second))
    if a == b:
        return False
    return bool(set(a.split(" ")) & set(b.split(" "))) or edit_distance(a, b) * 3 <= max(len(a), len(b))


def count(value: float) -> tuple[float, float]:
    """A value of one query."""
    return float(value), 1.0


class Reference:
    """The numerators and denominators of each metric by unit."""

    def __init__(self, queries: list[Row], events: list[Row], idle: float = 30, within: float = 5) -> None:
        self.queries, self.idle, self.within = queries, idle * 60, within * 60
        homes = {q["query_id"]: q for q in queries}
        self.events = [self._located(e, homes) for e in events if e["is_repeated"] is not True]
        self.clicks = defaultdict(list)
        for e in self.events:
            if e["query_id"] and e["action"] == "click":
                self.clicks[e["query_id"]].append(e)
        self.timelines = self._timelines()
        self.sessions = self._split()
        self.next_queries = self._next_queries()
        self.dwell, self.censored = self._dwell()

    def _located(self, event: Row, homes: dict[str, Row]) -> Row:
        home = homes.get(event["query_id"], {})
        filled = {n: event[n] if event[n] is not None else home.get(n) for n in ("session_id", "client_id")}
        return {**event, **filled}

    def _timelines(self) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
        """What happened on each, in order: time, tie, whether it is a query, whether a click, query."""
        lines = defaultdict(list)
        for kind, rows in (("0", self.queries), ("", self.events)):
            for row in rows:
                is_click = row.get("action") == "click"
                tie = (kind or ("2" if is_click else "1")) + " " + (row["query_id"] or "")
                key = ("session", row["session_id"]) if row["session_id"] else ("client", row["client_id"])
                if row["at"] is not None and key[1] is not None:
                    lines[key].append((row["at"], tie, kind == "0", is_click, row["query_id"]))
        return {key: sorted(rows, key=lambda r: r[:2]) for key, rows in lines.items()}

    def _split(self) -> dict[str, Any]:
        sessions: dict[str, Any] = {q["query_id"]: ("query", q["query_id"]) for q in self.queries}
        for key, rows in self.timelines.items():
            number, last = 0, None
            for at, _, is_query, _, query in rows:
                if last is None or (key[0] == "client" and seconds(last, at) > self.idle):
                    number += 1
                last = at
                if is_query:
                    sessions[query] = (*key, number)
        return sessions

    def _next_queries(self) -> dict[str, Row]:
        by_session = defaultdict(list)
        for q in self.queries:
            by_session[self.sessions[q["query_id"]]].append(q)
        following: dict[str, Row] = {}
        for rows in by_session.values():
            ordered = sorted(rows, key=lambda q: (q["at"] or _START, q["query_id"]))
            following |= {a["query_id"]: b for a, b in pairwise(ordered)}
        return following

    def _dwell(self) -> tuple[dict[str, list[float]], dict[str, int]]:
        dwell: dict[str, list[float]] = defaultdict(list)
        censored: dict[str, int] = defaultdict(int)
        for key, rows in self.timelines.items():
            for row, after in zip(rows, [*rows[1:], None], strict=True):
                at, _, _, is_click, query = row
                if not is_click or query is None:
                    continue
                gap = None if after is None else seconds(at, after[0])
                if gap is None or (key[0] == "client" and gap > self.idle):
                    censored[query] += 1
                else:
                    dwell[query].append(gap)
        return dwell, censored

    def facts(self, q: Row) -> dict[str, tuple[float, float] | None]:
        """The numerator and denominator of each metric of one query; None: undefined."""
        clicks, n = self.clicks[q["query_id"]], q["result_count"]
        ranks = [c["rank"] for c in clicks if c["rank"] is not None]
        dwell = self.dwell[q["query_id"]]
        found: dict[str, tuple[float, float] | None] = {
            "ctr": count(bool(clicks)),
            "clicks_per_query": count(len(clicks)),
            "clicks@1": count(sum(rank <= 1 for rank in ranks)),
            "clicks@3": count(sum(rank <= 3 for rank in ranks)),
            "zero_result": None if n is None else count(n == 0),
            "abandonment": count(self._is_abandoned(q, clicks)) if n else None,
            "reformulation": None if q["user_query"] is None else count(self._is_reformulated(q)),
            "mrr": count(1 / min(ranks)) if ranks else None,
            "completion": count(
                any(e["action"] == "purchase" and e["query_id"] == q["query_id"] for e in self.events)
            ),
            "dwell": (sum(dwell), float(len(dwell))),
            "queries_per_unit": count(1),
            "slo": None if q["latency_ms"] is None else count(q["latency_ms"] <= 500),
            "cost": None if q["cost"] is None else count(q["cost"]),
        }
        return found | {f"ctr@{k}": count(k in ranks) if n and n >= k else None for k in range(1, 11)}

    def _is_abandoned(self, q: Row, clicks: list[Row]) -> bool:
        following = self.next_queries.get(q["query_id"])
        times = [c["at"] for c in clicks if c["at"] is not None]
        return not clicks or bool(times and following is not None and min(times) >= following["at"])

    def _is_reformulated(self, q: Row) -> bool:
        following = self.next_queries.get(q["query_id"])
        if following is None or following["user_query"] is None:
            return False
        is_soon = seconds(q["at"], following["at"]) <= self.within
        return is_soon and is_similar(q["user_query"], following["user_query"])

    def units(self) -> dict[str, dict[str, tuple[float, float]]]:
        """The sums of each metric by unit; absent where undefined."""
        sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
        successes: dict[tuple[str, Any], bool] = defaultdict(bool)
        for q in self.queries:
            unit = q["client_id"] or q["session_id"] or q["query_id"]
            facts = self.facts(q)
            for name, pair in facts.items():
                sums[unit][name][0] += pair[0] if pair else 0.0
                sums[unit][name][1] += pair[1] if pair else 0.0
            is_success = bool(facts["ctr"][0] or facts["completion"][0])  # type: ignore[index]
            successes[unit, self.sessions[q["query_id"]]] |= is_success
        for (unit, _), is_success in successes.items():
            sums[unit]["session_success"][0] += is_success
            sums[unit]["session_success"][1] += 1
        return {unit: {name: (a, b) for name, (a, b) in found.items() if b} for unit, found in sums.items()}
