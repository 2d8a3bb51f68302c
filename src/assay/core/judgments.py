"""The table Judgments: what each judge said about each pair of a query and a document."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from assay.core.arrays import Floats, Ints
from assay.core.columns import match_columns, require_columns
from assay.core.digests import digest_of
from assay.core.errors import TableError
from assay.core.frames import to_frame
from assay.core.tables import Qrels

KEY = ("query_id", "doc_id", "judge")
SCHEMA = {
    "query_id": pl.String(),
    "doc_id": pl.String(),
    "judge": pl.String(),
    "grade": pl.Float64(),
    "at": pl.Datetime("us", "UTC"),
    "source": pl.String(),
    "note": pl.String(),
}
ALIASES = {
    **{name: Qrels.aliases[name] for name in ("query_id", "doc_id", "grade")},
    "judge": ("rater", "judge_id", "rater_id", "annotator", "worker", "user", "assessor"),
    "at": ("time", "timestamp", "created_at", "judged_at"),
    "source": (),
    "note": ("comment", "reason", "explanation"),
}


class Judgments:
    """What judges, people or models, said about pairs: query_id, doc_id, judge, grade, at, source, note.

    A judge judges a pair once. A grade is None if the judge could not rate the pair; `note` says why.

    >>> rows = [("q1", "a", "ann", 2), ("q1", "a", "bob", 1), ("q1", "b", "ann", 0)]
    >>> Judgments.from_rows(rows)
    Judgments(2 pairs, 2 judges, 3 judgments)
    """

    def __init__(self, data: Any, columns: dict[str, str] | None = None) -> None:
        self.frame = _check(_select_columns(to_frame(data), columns or {}))

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[str, str, str, float | None]]) -> Self:
        """Return the judgments of tuples of a query, a document, a judge and a grade."""
        names = (*KEY, "grade")
        return cls({name: [row[i] for row in rows] for i, name in enumerate(names)})

    @classmethod
    def from_qrels(cls, qrels: Qrels, judge: str, source: str = "") -> Self:
        """Return the judgments of qrels as those of one judge."""
        frame = qrels.frame.with_columns(judge=pl.lit(judge), source=pl.lit(source))
        return cls(frame)

    @cached_property
    def judges(self) -> list[str]:
        """The names of the judges, sorted."""
        return sorted(self.frame["judge"].unique().to_list())

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The judged pairs of a query and a document, in the order they first appear."""
        return self.frame.select("query_id", "doc_id").unique(maintain_order=True)

    @cached_property
    def pair_codes(self) -> Ints:
        """The position in `pairs` of the pair of each judgment."""
        numbered = self.pairs.with_row_index("pair")
        joined = self.frame.join(numbered, on=["query_id", "doc_id"], how="left", maintain_order="left")
        return joined["pair"].to_numpy().astype(np.int64)

    @cached_property
    def judge_codes(self) -> Ints:
        """The position in `judges` of the judge of each judgment."""
        dtype = pl.Enum(self.judges)
        return self.frame["judge"].cast(dtype).to_physical().to_numpy().astype(np.int64)

    @cached_property
    def grades(self) -> Floats:
        """The grade of each judgment; NaN if the judge could not rate the pair."""
        return self.frame["grade"].fill_null(np.nan).to_numpy()

    def matrix(self) -> Floats:
        """Return the grades with a row for each pair and a column for each judge; NaN: no grade."""
        grades = np.full((len(self.pairs), len(self.judges)), np.nan)
        grades[self.pair_codes, self.judge_codes] = self.grades
        return grades

    def take(self, mask: pl.Expr) -> Judgments:
        """Return the judgments that meet a condition on the columns."""
        part = type(self).__new__(type(self))
        part.frame = self.frame.filter(mask)
        return part

    def __len__(self) -> int:
        return len(self.frame)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    @cached_property
    def digest(self) -> str:
        """The digest of the content: the same rows in any order have the same digest."""
        rows = self.frame.sort(KEY).with_columns(pl.col("at").dt.timestamp("us"))
        return digest_of(repr(rows.rows()).encode())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Judgments) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Judgments({len(self.pairs):,} pairs, {len(self.judges):,} judges, {len(self):,} judgments)"


def _select_columns(frame: pl.DataFrame, columns: dict[str, str]) -> pl.DataFrame:
    """Return the columns of the table under their own names and types; those that are missing are empty."""
    sources = {target: name for name, target in match_columns(frame.columns, ALIASES, columns).items()}
    require_columns((*KEY, "grade"), sources, frame.columns)
    selected = frame.select(**{target: pl.col(name) for target, name in sources.items()})
    for name in ("source", "note"):
        text = selected[name].cast(pl.String) if name in sources else pl.lit(None, pl.String)
        selected = selected.with_columns(text.fill_null("").alias(name))
    times = selected["at"] if "at" in sources else pl.Series([None] * len(frame), dtype=pl.String)
    return selected.with_columns(
        *(selected[name].cast(pl.String) for name in KEY), _to_grades(selected["grade"]), at=_to_times(times)
    ).select(list(SCHEMA))


def _to_grades(column: pl.Series) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    if column.dtype == pl.String:
        column = column.replace("", None)
    wrong = (
        (numbers.is_null() & column.is_not_null()) | (numbers.is_nan() | numbers.is_infinite())
    ).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise TableError(f"column grade must be finite numbers, found {column[row]!r} in row {row + 1}")
    return numbers.alias("grade")


def _to_times(column: pl.Series) -> pl.Series:
    """Return times in UTC; a time without a zone is in UTC."""
    if column.dtype == pl.String:
        values = [_parse_time(value, row) for row, value in enumerate(column.to_list())]
        return pl.Series("at", values, dtype=SCHEMA["at"])
    if column.dtype.is_numeric():
        raise TableError("column at must be times such as 2026-01-31T12:00:00Z, found numbers")
    if column.dtype == pl.Null:
        return column.cast(SCHEMA["at"]).alias("at")
    utc = column.cast(pl.Datetime("us"), strict=False) if column.dtype == pl.Date else column
    is_naive = isinstance(utc.dtype, pl.Datetime) and utc.dtype.time_zone is None
    utc = utc.dt.replace_time_zone("UTC") if is_naive else utc.dt.convert_time_zone("UTC")
    return utc.cast(SCHEMA["at"]).alias("at")


def _parse_time(value: str | None, row: int) -> datetime | None:
    if not value:
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise TableError(
            f"column at must be times such as 2026-01-31T12:00:00Z, found {value!r} in row {row + 1}"
        ) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _check(frame: pl.DataFrame) -> pl.DataFrame:
    """Raise TableError if the table is empty, lacks an id, or has a pair twice for one judge."""
    if frame.is_empty():
        raise TableError("expected rows of judgments, found none")
    for name in KEY:
        missing = (frame[name].is_null() | (frame[name] == "")).arg_true()
        if len(missing):
            raise TableError(f"column {name} is empty in row {missing[0] + 1}")
    repeated = frame.select(KEY).is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0)
        query, doc, judge = frame.select(KEY).row(row)
        raise TableError(
            f"judge {judge!r} judged document {doc!r} of query {query!r} twice (row {row + 1}); "
            "keep one of the two rows"
        )
    return frame
