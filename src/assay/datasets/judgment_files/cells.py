"""Rows of a file as cells, each row with its place, and the table of judgments that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import polars as pl

from assay.core.arrays import Floats, Ints
from assay.core.errors import FormatError, TableError
from assay.core.judgments import KEY, SCHEMA, Judgments
from assay.datasets.judgment_files.grades import parse_grades
from assay.datasets.rows import parse_id

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Cells:
    """The columns of a file by name, and the place of each row: a line, or the number of a record."""

    columns: Mapping[str, Sequence[Any]]
    places: Sequence[int]
    label: str
    unit: str = "line"  # what a place counts

    def error(self, row: int, problem: str) -> FormatError:
        """Return the error for a problem of a row."""
        place = int(self.places[row])
        if self.unit == "line":
            return FormatError(problem, self.label, place)
        return FormatError(f"{self.unit} {place}: {problem}", self.label)

    def parse(self, name: str, convert: Callable[[Any], _Value]) -> list[_Value]:
        """Return the converted values of a column; `convert` raises TableError for a wrong one."""
        values = self.columns[name]
        try:
            known = {value: convert(value) for value in set(values)}
        except (TableError, TypeError):
            raise self._first_error(name, convert) from None
        return [known[value] for value in values]

    def _first_error(self, name: str, convert: Callable[[Any], object]) -> FormatError:
        """Return the error for the first value of a column that cannot be converted."""
        for row, value in enumerate(self.columns[name]):
            try:
                convert(value)
                hash(value)
            except (TableError, TypeError) as error:
                problem = str(error) if isinstance(error, TableError) else f"found {value!r:.60} as {name}"
                return self.error(row, problem)
        raise AssertionError(f"expected a wrong value of {name}, found none")

    def ids(self, name: str, column: str) -> list[str]:
        """Return a column as ids; `column` is the name to use in an error."""
        return self.parse(name, lambda value: parse_id(value, column))

    def grades(self, names: Sequence[str], labels: Mapping[str, float]) -> Floats:
        """Return columns of grades, one column each; NaN where there is none."""
        numbers = [parse_grades(self.columns[name]) for name in names]
        texts = [(name, row) for name, column in zip(names, numbers, strict=True) for row in column.texts]
        scale = _choose_scale({str(self.columns[name][row]) for name, row in texts}, labels)
        place = {name: i for i, name in enumerate(names)}
        for name, row in sorted(texts, key=lambda text: text[1]):
            text = self.columns[name][row]
            grade = scale.get(normalize_label(text)) if isinstance(text, str) else None
            if grade is None:
                advice = "give the number of each label with --label TEXT=GRADE (labels= in Python)"
                raise self.error(
                    row, f"expected a number as the grade ({name}), found {text!r:.60}: {advice}"
                )
            numbers[place[name]].values[row] = grade
        return np.column_stack([column.values for column in numbers])


def normalize_label(text: str) -> str:
    """Return the text of a label without case, blanks and hyphens.

    >>> normalize_label("Highly-Relevant ")
    'highly_relevant'
    """
    return "_".join(text.strip().lower().replace("-", " ").replace("_", " ").split())


_SCALES: tuple[dict[str, float], ...] = (
    {
        **dict.fromkeys(("not_relevant", "irrelevant", "non_relevant", "nonrelevant"), 0.0),
        "relevant": 1.0,
        "highly_relevant": 2.0,
    },
    {"no": 0.0, "yes": 1.0},
    {"false": 0.0, "true": 1.0},
)


def is_label(text: Any, labels: Mapping[str, float]) -> bool:
    """Return whether a text is a label with a grade."""
    scales: Sequence[Mapping[str, float]] = [_by_normal_text(labels)] if labels else _SCALES
    return isinstance(text, str) and any(normalize_label(text) in scale for scale in scales)


def _by_normal_text(labels: Mapping[str, float]) -> dict[str, float]:
    return {normalize_label(text): grade for text, grade in labels.items()}


def _choose_scale(texts: set[str], labels: Mapping[str, float]) -> Mapping[str, float]:
    """Return the grade of each label: as the caller says, or of the scale that has all of them."""
    if labels:
        return _by_normal_text(labels)
    wanted = {normalize_label(text) for text in texts}
    return next((scale for scale in _SCALES if wanted <= scale.keys()), {})


def build_judgments(cells: Cells, labels: Mapping[str, float]) -> Judgments:
    """Return the judgments of rows with the columns query_id, doc_id, judge and grade, and perhaps others."""
    if not len(cells.places):
        raise FormatError("expected rows of judgments, found none", cells.label)
    grades = cells.grades(["grade"], labels)[:, 0]
    columns: dict[str, Any] = {name: cells.ids(name, name) for name in KEY}
    for name in ("source", "note"):
        if name in cells.columns:
            columns[name] = ["" if value is None else str(value) for value in cells.columns[name]]
    if "at" in cells.columns:
        columns["at"] = pl.Series(cells.parse("at", parse_time), dtype=SCHEMA["at"])
    frame = pl.DataFrame({**columns, "grade": pl.Series(grades).fill_nan(None)})
    check_repeats(frame, cells)
    return Judgments(frame)


def check_repeats(frame: pl.DataFrame, cells: Cells, places: Ints | None = None) -> None:
    """Raise FormatError if a judge judged a pair twice, and name both rows."""
    if not frame.select(KEY).is_duplicated().any():
        return
    rows = np.arange(len(frame)) if places is None else places
    firsts = dict[tuple[str, ...], int]()
    for row, key in zip(rows.tolist(), frame.select(KEY).rows(), strict=True):
        first = firsts.setdefault(key, row)
        if first != row:
            query, doc, judge = key
            pair = f"{doc!r}" if query == doc else f"document {doc!r} of query {query!r}"
            raise cells.error(
                row,
                f"judge {judge!r} judged {pair} twice: first in {cells.unit} {cells.places[first]}; "
                "keep one of the two",
            )


def parse_time(value: Any) -> datetime | None:
    """Return a time in UTC; a time without a zone is in UTC; None for an empty value.

    >>> parse_time("2026-01-31T12:00:00+02:00").isoformat()
    '2026-01-31T10:00:00+00:00'
    """
    if value is None or value == "":
        return None
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
    except (ValueError, AttributeError):
        raise TableError(f"expected a time such as 2026-01-31T12:00:00Z as at, found {value!r:.60}") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
