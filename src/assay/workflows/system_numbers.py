"""The number of each system, which decides its colour and shape on every page."""

from __future__ import annotations

from collections.abc import Sequence

from assay.store.rankings import assign_system_numbers
from assay.workflows.stores import open_existing_store

COLOURS = 6


def number_systems(names: Sequence[str], store: str | None = None) -> dict[str, int]:
    """Return the colour of each system, 1 to 6; a system keeps its colour once it has one."""
    with open_existing_store(store) as opened:
        numbers = assign_system_numbers(opened, list(dict.fromkeys(names)))
    return {name: 1 + (number - 1) % COLOURS for name, number in numbers.items()}
