"""Columns by their names: which column of a file or a frame is which column of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.core.errors import TableError


def renamed(
    names: Sequence[str], aliases: Mapping[str, tuple[str, ...]], columns: Mapping[str, str]
) -> dict[str, str]:
    """Where each column of a table stands: its name there, and the name it gets.

    A name that `columns` gives wins, then the column's own name, then its usual other names.

    >>> renamed(["QID", "query", "category"], {"query_id": ("qid",), "text": ("query",)}, {})
    {'QID': 'query_id', 'query': 'text'}
    """
    lowered = {name.lower(): name for name in reversed(names)}
    made = dict[str, str]()
    for target, source in columns.items():
        if source in names:
            made[source] = target
        elif target in aliases:
            raise TableError(f"there is no column {source!r} among {', '.join(names)}")
    for target, others in aliases.items():
        found = next((lowered[name] for name in (target, *others) if name in lowered), None)
        if target not in made.values() and found is not None and found not in made:
            made[found] = target
    return made


def require(wanted: Sequence[str], there: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse a table that lacks a column which it needs."""
    missing = [name for name in wanted if name not in there]
    if missing:
        raise TableError(
            f"expected columns {', '.join(wanted)}; no {', '.join(missing)} among {', '.join(names)}: "
            f"name them with --columns {missing[0]}=… (columns= in Python)"
        )
