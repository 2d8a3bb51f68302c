"""What a file of vectors or neighbours holds, and what is wrong with it, in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from assay.core.vectors_check import Faults
from assay.views import text
from assay.views.sections import Section, render


class Described(NamedTuple):
    """A file: what it is, how many rows of how many numbers, and what else is known of it."""

    path: str
    holds: str
    format: str
    rows: int
    columns: int
    dtype: str
    metric: str | None = None
    digest: str | None = None
    parts: Sequence[str] = ()


class Checked(NamedTuple):
    """A file with what is wrong with it under a metric."""

    path: str
    rows: int
    columns: int
    faults: Faults
    problems: Sequence[str]


def described(files: Sequence[Described], style: str) -> str:
    """What files hold."""
    if style == "json":
        return json.dumps({"files": [file._asdict() for file in files]}, indent=1, ensure_ascii=False)
    head = ["file", "holds", "format", "rows", "columns", "type", "metric"]
    rows = [_cells(file) for file in files]
    if any(file.digest for file in files):
        head, rows = [*head, "digest"], [[*r, f.digest or ""] for r, f in zip(rows, files, strict=True)]
    if style == "csv":
        return text.csv(head, rows)
    notes = [f"{file.path} has {', '.join(file.parts)}" for file in files if file.parts]
    return render("Vectors", [Section("", (), head, rows), Section("parts", notes)], style)


def _cells(file: Described) -> list[str]:
    sizes = [str(file.rows), str(file.columns)]
    return [file.path, file.holds, file.format, *sizes, file.dtype, file.metric or ""]


def checked(files: Sequence[Checked], others: Sequence[str], style: str) -> str:
    """What is wrong with files, one by one, and with them together."""
    if style == "json":
        made = [_checked_dict(file) for file in files]
        return json.dumps({"files": made, "problems": list(others)}, indent=1, ensure_ascii=False)
    head = ["file", "rows", "columns", "not finite", "first", "zero", "first"]
    rows = [_counts(file) for file in files]
    if style == "csv":
        return text.csv([*head[:4], "first not finite", "zero", "first zero"], rows)
    problems = [f"{file.path}: {problem}" for file in files for problem in file.problems]
    found = [*problems, *others] or ["nothing is wrong"]
    return render("Check", [Section("", (), head, rows), Section("found", found)], style)


def _counts(file: Checked) -> list[str]:
    cells = [file.path, str(file.rows), str(file.columns)]
    for found in (file.faults.not_finite, file.faults.zero):
        cells += [str(found.number), "" if found.first is None else str(found.first)]
    return cells


def _checked_dict(file: Checked) -> dict[str, object]:
    faults = file.faults
    return {
        "path": file.path,
        "rows": file.rows,
        "columns": file.columns,
        "not_finite": faults.not_finite._asdict(),
        "zero": faults.zero._asdict(),
        "problems": list(file.problems),
    }
