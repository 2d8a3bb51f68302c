"""Configurations: the settings that differ between systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flatten_settings(configuration: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names.

    >>> flatten_settings({"index": {"type": "hnsw", "m": 16}, "top_k": 10})
    {'index.type': 'hnsw', 'index.m': 16, 'top_k': 10}
    """
    settings: dict[str, Any] = {}
    for key, value in configuration.items():
        name = f"{prefix}{key}"
        settings |= (
            flatten_settings(value, f"{name}.") if isinstance(value, Mapping) and value else {name: value}
        )
    return settings


def differing_settings(configurations: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings that are not the same in all systems; a missing setting is None.

    >>> differing_settings({"a": {"ef": 40, "m": 16}, "b": {"ef": 80, "m": 16}})
    {'ef': {'a': 40, 'b': 80}}
    """
    flat_settings = {name: flatten_settings(settings) for name, settings in configurations.items()}
    names = dict.fromkeys(key for settings in flat_settings.values() for key in settings)
    rows = {key: {name: settings.get(key) for name, settings in flat_settings.items()} for key in names}
    return {key: row for key, row in rows.items() if any(v != next(iter(row.values())) for v in row.values())}
