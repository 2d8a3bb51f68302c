"""The differences between two versions of an evaluation set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.core.judgments import Judgments
from assay.core.tables import KeyedTable, PairTable


class Change(NamedTuple):
    """A value that differs between two versions; `key` is an id, or a query and a document."""

    key: tuple[str, ...]
    field: str
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the change."""
        names = ("query_id", "doc_id", "judge")[: len(self.key)] if len(self.key) > 1 else ("id",)
        ids = dict(zip(names, self.key, strict=True))
        return {**ids, "field": self.field, "before": self.before, "after": self.after}


@dataclass(frozen=True)
class TableDiff:
    """What was added to a table, dropped from it and changed in it."""

    added: Sequence[tuple[str, ...]]
    dropped: Sequence[tuple[str, ...]]
    changed: Sequence[Change]
    unchanged: int  # rows

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.changed)

    def to_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Return counts, and the first rows of each kind."""
        counts = {"added": len(self.added), "dropped": len(self.dropped)}
        changed_rows = len({change.key for change in self.changed})
        return {
            "counts": {**counts, "changed": changed_rows, "unchanged": self.unchanged},
            "added": [list(key) for key in self.added[:limit]],
            "dropped": [list(key) for key in self.dropped[:limit]],
            "changed": [change.to_dict() for change in self.changed[:limit]],
        }


DatasetDiff = Mapping[str, TableDiff]  # by table: queries, qrels, documents, judgments
_ROLES = ("queries", "qrels", "documents", "judgments")


def diff_datasets(before: Mapping[str, Any], after: Mapping[str, Any]) -> DatasetDiff:
    """Return the differences of each table that either of two evaluation sets has.

    >>> from assay.core.tables import Qrels
    >>> first, second = Qrels({"q": {"a": 1, "b": 0}}), Qrels({"q": {"a": 2, "c": 0}})
    >>> diff_datasets({"qrels": first}, {"qrels": second})["qrels"].changed
    [Change(key=('q', 'a'), field='grade', before=1.0, after=2.0)]
    """
    roles = [role for role in _ROLES if role in before or role in after]
    return {role: _diff_rows(_rows(before.get(role)), _rows(after.get(role))) for role in roles}


_Rows = Mapping[tuple[str, ...], Mapping[str, Any]]


def _rows(table: KeyedTable | PairTable | Judgments | None) -> _Rows:
    """Return the fields of each row by its key."""
    if table is None:
        return {}
    if isinstance(table, Judgments):
        frame = table.frame.select("query_id", "doc_id", "judge", "grade", "note")
        return {row[:3]: {"grade": row[3], "note": row[4]} for row in frame.iter_rows()}
    if isinstance(table, PairTable):
        nested = table.to_dict()
        name = table.value_column
        return {(query, doc): {name: value} for query, docs in nested.items() for doc, value in docs.items()}
    names = [name for name in table.columns if name != table.key]
    columns = [table.columns[name] for name in names]
    values = zip(*columns, strict=True) if columns else ((),) * len(table)
    return {(key,): dict(zip(names, row, strict=True)) for key, row in zip(table.ids, values, strict=True)}


def _diff_rows(before: _Rows, after: _Rows) -> TableDiff:
    changes = [
        Change(key, field, row.get(field), after[key].get(field))
        for key, row in before.items()
        if key in after
        for field in dict.fromkeys([*row, *after[key]])
        if row.get(field) != after[key].get(field)
    ]
    changed_rows = len({change.key for change in changes})
    shared = sum(key in after for key in before)
    return TableDiff(
        [key for key in after if key not in before],
        [key for key in before if key not in after],
        changes,
        shared - changed_rows,
    )
