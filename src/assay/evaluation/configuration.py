"""Configurations: what differs between systems, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat(configuration: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings by dotted names.

    >>> flat({"index": {"type": "hnsw", "m": 16}, "top_k": 10})
    {'index.type': 'hnsw', 'index.m': 16, 'top_k': 10}
    """
    made: dict[str, Any] = {}
    for key, value in configuration.items():
        name = f"{before}{key}"
        made |= flat(value, f"{name}.") if isinstance(value, Mapping) and value else {name: value}
    return made


def differing(configurations: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings that are not the same in all systems; a setting that one does not have is None there.

    >>> differing({"a": {"ef": 40, "m": 16}, "b": {"ef": 80, "m": 16}})
    {'ef': {'a': 40, 'b': 80}}
    """
    flattened = {name: flat(given) for name, given in configurations.items()}
    names = dict.fromkeys(key for given in flattened.values() for key in given)
    rows = {key: {name: given.get(key) for name, given in flattened.items()} for key in names}
    return {key: row for key, row in rows.items() if any(v != next(iter(row.values())) for v in row.values())}
