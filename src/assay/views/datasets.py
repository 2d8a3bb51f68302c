"""Versions of evaluation sets and their differences as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay.core.records import DatasetVersion
from assay.judging.dataset_diff import DatasetDiff, TableDiff
from assay.views import text
from assay.views.experiments import format_time
from assay.views.numbers import NO_VALUE
from assay.views.sections import Section, render_sections

_NOUNS = {"queries": "queries", "qrels": "labels", "documents": "documents", "judgments": "judgments"}


def render_versions(versions: Sequence[DatasetVersion], style: str) -> str:
    """Versions of evaluation sets, one per line, and the recipe of a single one."""
    head = ["version", "at", "queries", "labels", "documents", "parent", "note"]
    rows = [[*_version_cells(version, style), version.note] for version in versions]
    if style == "csv":
        return text.render_csv(head, rows)
    recipe = [f"{key}: {_plain(value)}" for key, value in versions[0].recipe.items()] if versions else []
    sections = [Section("", () if rows else ["no dataset"], head, rows)]
    if len(versions) == 1:
        sections.append(Section("recipe", recipe))
    return render_sections("Datasets", sections, style)


def _version_cells(version: DatasetVersion, style: str) -> list[str]:
    numbers = [version.counts.get(name, 0) for name in ("queries", "labels", "documents")]
    if style == "csv":
        return [version.label, version.at.isoformat(), *map(str, numbers), version.parent or ""]
    parent = f"@{version.parent[:8]}" if version.parent else NO_VALUE
    return [version.label, format_time(version.at), *(f"{number:,}" for number in numbers), parent]


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def render_dataset_diff(first: str, second: str, diff: DatasetDiff, limit: int, style: str) -> str:
    """The rows that were added, dropped and changed between two evaluation sets."""
    head = ["table", "change", "row", "field", "before", "after"]
    rows = [row for role, table in diff.items() for row in _diff_rows(_NOUNS[role], table, limit, style)]
    if style == "csv":
        return text.render_csv(head, rows)
    notes = [describe_dataset_diff(first, second, diff)]
    return render_sections("Difference between datasets", [Section("", notes, head, rows)], style)


def describe_dataset_diff(first: str, second: str, diff: DatasetDiff) -> str:
    """Return how many rows differ, in one sentence.

    >>> describe_dataset_diff("a", "b", {"qrels": TableDiff([("q", "d")], [], [], 3)})
    'a → b: labels: 1 added, 0 dropped, 0 changed, 3 unchanged'
    """
    parts = []
    for role, table in diff.items():
        counts = table.to_dict(0)["counts"].items()
        parts.append(f"{_NOUNS[role]}: " + ", ".join(f"{count:,} {name}" for name, count in counts))
    return f"{first} → {second}: " + "; ".join(parts)


def _diff_rows(noun: str, table: TableDiff, limit: int, style: str) -> list[list[str]]:
    rows = [[noun, "added", " ".join(key), "", "", ""] for key in table.added[:limit]]
    rows += [[noun, "dropped", " ".join(key), "", "", ""] for key in table.dropped[:limit]]
    width = 40 if style == "table" else 2000
    for change in table.changed[:limit]:
        values = [text.shorten(_plain(value), width) for value in (change.before, change.after)]
        rows.append([noun, "changed", " ".join(change.key), change.field, *values])
    return rows
