"""Broken lines of a log, as they occur in real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np

_Record = dict[str, Any]


def break_lines(lines: Iterator[str], share: float, seed: int) -> Iterator[str]:
    """Yield the lines, this share of them broken in one of the ways, each as likely."""
    rng = np.random.default_rng([seed, 1])
    for line in lines:
        if rng.random() >= share:
            yield line
            continue
        way = int(rng.integers(0, len(_CHANGES) + 2))
        if way == len(_CHANGES):
            yield line[: len(line) // 2]
        elif way > len(_CHANGES):
            yield from (line, line)
        else:
            record = json.loads(line)
            _CHANGES[way](record)
            yield json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _use_epoch_time(record: _Record) -> None:
    record["timestamp"] = round(_time(record).timestamp() * 1_000)


def _use_another_zone(record: _Record) -> None:
    record["timestamp"] = (_time(record) + timedelta(hours=2)).isoformat(timespec="milliseconds")[
        :-6
    ] + "+02:00"


def _skew_clock(record: _Record) -> None:
    record["timestamp"] = (_time(record) - timedelta(minutes=10)).isoformat(timespec="milliseconds")


def _lose_query_id(record: _Record) -> None:
    record.pop("query_id", None)


def _lose_client_id(record: _Record) -> None:
    record.pop("client_id", None)


def _rename_action(record: _Record) -> None:
    if "action_name" in record:
        record["action_name"] = "item_click"


def _count_from_zero(record: _Record) -> None:
    position = record.get("event_attributes", {}).get("position", {})
    if "ordinal" in position:
        position["ordinal"] -= 1


def _time(record: _Record) -> datetime:
    return datetime.fromisoformat(record["timestamp"])


_CHANGES: tuple[Callable[[_Record], None], ...] = (
    _use_epoch_time,
    _use_another_zone,
    _skew_clock,
    _lose_query_id,
    _lose_client_id,
    _rename_action,
    _count_from_zero,
)
