"""The log of simulated traffic: as normalised events, and as a file of UBI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.core.events import EVENT_SCHEMA, QUERY_SCHEMA, Events
from assay.datasets.output_files import open_for_writing
from assay.online.simulation.dirt import break_lines
from assay.online.simulation.pages import Pages
from assay.online.simulation.settings import TrafficSettings


def build_events(pages: Pages, settings: TrafficSettings) -> Events:
    """Return the queries and the clicks of simulated pages."""
    queries = _query_frame(pages, settings)
    page, rank = np.nonzero(pages.turn.clicks)
    documents = pages.lists.documents
    shown = pages.turn.shown[page].tolist()
    own = queries.select("application", "query_id", "session_id", "client_id", "user_query")
    clicks = own[page].with_columns(
        at=_times(pages.turn.click_at[page, rank], settings.start),
        action=pl.lit("click"),
        action_name=pl.lit("click"),
        object_id=pl.Series(
            [documents[number][r] for number, r in zip(shown, rank.tolist(), strict=True)], dtype=pl.String
        ),
        object_id_field=pl.lit("doc_id"),
        rank=pl.Series(rank + 1, dtype=pl.Int64),
        is_repeated=pl.lit(False),
    )
    return Events(_complete(clicks.sort("at", maintain_order=True), EVENT_SCHEMA), queries)


def _query_frame(pages: Pages, settings: TrafficSettings) -> pl.DataFrame:
    turn, lists = pages.turn, pages.lists
    arms = [pages.arms[user] for user in turn.user.tolist()]
    shown = turn.shown.tolist()
    reworded = zip(turn.query.tolist(), turn.is_reworded.tolist(), strict=True)
    frame = pl.DataFrame(
        {
            "query_id": [f"q{number}" for number in range(1, len(shown) + 1)],
            "session_id": [f"s{number + 1}" for number in turn.session.tolist()],
            "client_id": [f"u{number + 1}" for number in turn.user.tolist()],
            "at": _times(turn.at, settings.start),
            "user_query": [lists.needs.text(*pair) for pair in reworded],
            "hit_ids": pl.Series([lists.documents[number] for number in shown], dtype=pl.List(pl.String)),
            "variant": arms,
            "latency_ms": np.round(turn.latency, 2),
            "cost": pl.Series([settings.cost.get(arm) for arm in arms], dtype=pl.Float64),
            "listed": [lists.attributes[number] for number in shown],
        }
    ).with_columns(
        application=pl.lit(settings.application),
        object_id_field=pl.lit("doc_id"),
        experiment_id=pl.lit(settings.experiment_id),
    )
    attributes = [_attributes_json(row) for row in frame.select(*_OWN, "listed").iter_rows()]
    frame = frame.with_columns(attributes=pl.Series(attributes, dtype=pl.String))
    teams = [_teams(row) for row in frame.select("hit_ids", "listed").iter_rows()]
    frame = frame.with_columns(hit_teams=pl.Series(teams, dtype=pl.List(pl.String)))
    return _complete(frame.drop("listed"), QUERY_SCHEMA)


_OWN = ("experiment_id", "variant", "latency_ms", "cost")


def _attributes_json(row: tuple[Any, ...]) -> str:
    *values, listed = row
    own = {name: value for name, value in zip(_OWN, values, strict=True) if value is not None}
    head = json.dumps(own, separators=(",", ":"), ensure_ascii=False)
    return f"{head[:-1]},{listed}}}" if listed else head


def _teams(row: tuple[list[str], str]) -> list[str] | None:
    documents, listed = row
    if not listed:
        return None
    teams = json.loads(f"{{{listed}}}")["team_by_doc"]
    return [teams[doc] for doc in documents]


def _times(seconds: Any, start: datetime) -> pl.Series:
    microseconds = np.round(seconds, 3) * 1e6 + start.timestamp() * 1e6
    return pl.Series(np.round(microseconds).astype(np.int64)).cast(pl.Datetime("us", "UTC"))


def _complete(frame: pl.DataFrame, schema: dict[str, Any]) -> pl.DataFrame:
    """Return the columns of a schema; those that are missing are null."""
    missing = [
        pl.lit(None, dtype=dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns
    ]
    return frame.with_columns(missing).select([pl.col(name).cast(dtype) for name, dtype in schema.items()])


def write_log(events: Events, path: Path, settings: TrafficSettings) -> Path:
    """Write queries and events in order of time as JSON lines of UBI; `.gz` and `.zst` are compressed."""
    lines = _log_lines(events)
    if settings.dirt:
        lines = break_lines(lines, settings.dirt, settings.seed)
    with open_for_writing(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
    return path


def _log_lines(events: Events) -> Iterator[str]:
    """Yield the records in order of time, a query before its events."""
    queries = zip(events.queries["at"].to_list(), _query_lines(events.queries), strict=True)
    clicks = zip(events.frame["at"].to_list(), _event_lines(events.frame), strict=True)
    records = sorted([*queries, *clicks], key=lambda record: record[0])
    return (line for _, line in records)


def _query_lines(queries: pl.DataFrame) -> Iterator[str]:
    names = ("application", "query_id", "session_id", "client_id", "user_query", "object_id_field")
    times = queries["at"].dt.to_string("%Y-%m-%dT%H:%M:%S%.3fZ")
    columns = queries.select(*names, "hit_ids", "attributes").with_columns(at=times)
    for *values, hits, attributes, at in columns.iter_rows():
        record = dict(zip(names, values, strict=True), timestamp=at, query_response_hit_ids=hits)
        head = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        yield f'{head[:-1]},"query_attributes":{attributes}}}'


def _event_lines(events: pl.DataFrame) -> Iterator[str]:
    names = ("application", "action_name", "query_id", "session_id", "client_id")
    times = events["at"].dt.to_string("%Y-%m-%dT%H:%M:%S%.3fZ")
    columns = events.select(*names, "object_id", "object_id_field", "rank").with_columns(at=times)
    for *values, object_id, field, rank, at in columns.iter_rows():
        attributes = {
            "position": {"ordinal": rank},
            "object": {"object_id": object_id, "object_id_field": field},
        }
        record = dict(zip(names, values, strict=True), timestamp=at, event_attributes=attributes)
        yield json.dumps(record, separators=(",", ":"), ensure_ascii=False)
