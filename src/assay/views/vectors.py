"""The contents of files of vectors or neighbours, and their problems, in every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.vector_faults import VectorFaults
from assay.views import text
from assay.views.sections import Section, input_section, render_sections


class VectorFile(NamedTuple):
    """The contents of a file: its kind, its size, and what else is known."""

    path: str
    holds: str
    format: str
    rows: int
    columns: int
    dtype: str
    metric: str | None = None
    digest: str | None = None
    parts: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the contents."""
        return self._asdict()


class VectorFileCheck(NamedTuple):
    """The problems of a file under a metric."""

    path: str
    rows: int
    columns: int
    faults: VectorFaults
    problems: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the problems."""
        return {
            "path": self.path,
            "rows": self.rows,
            "columns": self.columns,
            "not_finite": self.faults.not_finite._asdict(),
            "zero": self.faults.zero._asdict(),
            "problems": list(self.problems),
        }


def render_vector_files(files: Sequence[VectorFile], style: str) -> str:
    """The contents of files in one of the formats."""
    head = ["file", "holds", "format", "rows", "columns", "type", "metric"]
    rows = [_cells(file) for file in files]
    if any(file.digest for file in files):
        head, rows = [*head, "digest"], [[*r, f.digest or ""] for r, f in zip(rows, files, strict=True)]
    if style == "csv":
        return text.render_csv(head, rows)
    notes = [f"{file.path} has {', '.join(file.parts)}" for file in files if file.parts]
    return render_sections("Vectors", [Section("", (), head, rows), Section("parts", notes)], style)


def _cells(file: VectorFile) -> list[str]:
    sizes = [str(file.rows), str(file.columns)]
    return [file.path, file.holds, file.format, *sizes, file.dtype, file.metric or ""]


def render_vector_checks(
    files: Sequence[VectorFileCheck],
    common_problems: Sequence[str],
    style: str,
    digests: Mapping[str, str] | None = None,
) -> str:
    """The problems of single files, and of files together, in one of the formats."""
    head = ["file", "rows", "columns", "not finite", "first", "zero", "first"]
    rows = [_counts(file) for file in files]
    if style == "csv":
        return text.render_csv([*head[:4], "first not finite", "zero", "first zero"], rows)
    problems = [f"{file.path}: {problem}" for file in files for problem in file.problems]
    messages = [*problems, *common_problems] or ["no problem found"]
    sections = [Section("", (), head, rows), Section("problems", messages), input_section(digests or {})]
    return render_sections("Check", sections, style)


def _counts(file: VectorFileCheck) -> list[str]:
    cells = [file.path, str(file.rows), str(file.columns)]
    for fault in (file.faults.not_finite, file.faults.zero):
        cells += [str(fault.number), "" if fault.first is None else str(fault.first)]
    return cells
