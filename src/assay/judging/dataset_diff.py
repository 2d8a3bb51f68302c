"""The differences between two versions of an evaluation set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import polars as pl

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


class Keys(Sequence[tuple[str, ...]]):
    """The rows of a frame of ids as tuples, which are made when they are read: there may be millions."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[str, ...]]: ...

    def __getitem__(self, place: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        return self._frame[place].rows() if isinstance(place, slice) else self._frame.row(place)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return self._frame.iter_rows()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list


def diff_datasets(before: Mapping[str, Any], after: Mapping[str, Any]) -> DatasetDiff:
    """Return the differences of each table that either of two evaluation sets has.

    >>> from assay.core.tables import Qrels
    >>> first, second = Qrels({"q": {"a": 1, "b": 0}}), Qrels({"q": {"a": 2, "c": 0}})
    >>> diff_datasets({"qrels": first}, {"qrels": second})["qrels"].changed
    [Change(key=('q', 'a'), field='grade', before=1, after=2)]
    """
    roles = [role for role in _ROLES if role in before or role in after]
    return {role: _diff_tables(before.get(role), after.get(role)) for role in roles}


_Rows = Mapping[tuple[str, ...], Mapping[str, Any]]
_Table = KeyedTable | PairTable | Judgments


def _diff_tables(before: _Table | None, after: _Table | None) -> TableDiff:
    table = after if before is None else before
    if isinstance(table, KeyedTable):
        assert not isinstance(before, PairTable | Judgments)
        assert not isinstance(after, PairTable | Judgments)
        return _diff_rows(_rows(before), _rows(after))
    if isinstance(table, Judgments):
        return _diff_frames(before, after, table, ("query_id", "doc_id", "judge"), ("grade", "note"))
    assert table is not None
    return _diff_frames(before, after, table, ("query_id", "doc_id"), (table.value_column,))


def _diff_frames(
    before: _Table | None, after: _Table | None, kind: _Table, key: tuple[str, ...], fields: tuple[str, ...]
) -> TableDiff:
    """Return the difference of two tables of pairs, in columns; a missing one counts as empty."""
    empty = kind.frame.clear()
    first, second = (
        (empty if table is None else table.frame).select(*key, *fields) for table in (before, after)
    )
    shared = first.join(second, on=key, how="inner", suffix="_after", maintain_order="left")
    differs = [pl.col(field).ne_missing(pl.col(f"{field}_after")) for field in fields]
    rows = shared.filter(pl.any_horizontal(differs))
    changes = [
        Change(tuple(row[name] for name in key), field, row[field], row[f"{field}_after"])
        for row in rows.iter_rows(named=True)
        for field in fields
        if row[field] != row[f"{field}_after"]
    ]
    added, dropped = (
        Keys(one.join(other, on=key, how="anti", maintain_order="left").select(key))
        for one, other in ((second, first), (first, second))
    )
    return TableDiff(added, dropped, changes, len(shared) - len(rows))


def _rows(table: KeyedTable | None) -> _Rows:
    """Return the fields of each row by its key."""
    if table is None:
        return {}
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
