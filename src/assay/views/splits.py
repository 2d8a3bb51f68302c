"""Splits of evaluation sets as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.judging.splits import SplitPart
from assay.views import text
from assay.views.sections import Section, render_sections


def render_split(parts: Sequence[SplitPart], labels: Mapping[str, int], by: str, style: str) -> str:
    """The parts of a split with their counts, in all and by slice."""
    if style == "csv":
        rows = [["", "", *_counts(part, labels, "")] for part in parts] + _slice_rows(parts)
        return text.render_csv(["column", "slice", "part", "queries", "families", "labels"], rows)
    total = sum(len(part.rows) for part in parts)
    head = ["part", "queries", "families", "labels", "share", "wanted"]
    rows = [[*_counts(part, labels), f"{len(part.rows) / total:.3f}", f"{part.share:g}"] for part in parts]
    sections = [Section("", [describe_split(by)], head, rows)]
    for column in parts[0].slices:
        slice_rows = [[label, *_slice_counts(parts, column, label)] for label in parts[0].slices[column]]
        sections.append(Section(column, (), [column, *(part.name for part in parts)], slice_rows))
    return render_sections("Split of an evaluation set", sections, style)


def describe_split(by: str) -> str:
    """Return what the parts do not share, in one sentence.

    >>> describe_split("time")
    'earlier queries come first, and no family of queries is in two parts'
    """
    if by == "time":
        return "earlier queries come first, and no family of queries is in two parts"
    if by == "family":
        return "no family of queries is in two parts"
    return f"no value of {by} and no family of queries is in two parts"


def _counts(part: SplitPart, labels: Mapping[str, int], mark: str = ",") -> list[str]:
    return [part.name, *(f"{n:{mark}}" for n in (len(part.rows), part.families, labels[part.name]))]


def _slice_counts(parts: Sequence[SplitPart], column: str, label: str) -> list[str]:
    return [f"{part.slices[column][label]:,}" for part in parts]


def _slice_rows(parts: Sequence[SplitPart]) -> list[list[str]]:
    return [
        [column, label, part.name, str(part.slices[column][label]), "", ""]
        for column in parts[0].slices
        for label in parts[0].slices[column]
        for part in parts
    ]
