"""What the check of an evaluation set found, in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.judging.checks import Finding
from assay.views import text
from assay.views.numbers import NO_VALUE
from assay.views.sections import Section, render_sections

_WIDTH = 48  # of a cell of an example in a terminal
_NOUNS = {
    "queries": ("query", "queries"),
    "judged_queries": ("judged query", "judged queries"),
    "labels": ("label", "labels"),
    "documents": ("document", "documents"),
    "judgments": ("judgment", "judgments"),
    "runs": ("run", "runs"),
}
_SEVERITY_NOUNS = {
    "error": ("error", "errors"),
    "warning": ("warning", "warnings"),
    "info": ("note", "notes"),
}


def render_dataset_check(
    source: str,
    findings: Sequence[Finding],
    counts: Mapping[str, int],
    severities: Mapping[str, int],
    style: str,
) -> str:
    """The findings, the most severe first, each with its fix and its examples."""
    if style == "csv":
        head = ["severity", "kind", "count", "finding", "fix"]
        return text.render_csv(head, [[f.severity, f.kind, str(f.count), f.message, f.fix] for f in findings])
    head = ["severity", "finding", "count"]
    rows = [[finding.severity, _title(finding.kind), f"{finding.count:,}"] for finding in findings]
    notes = [describe_check_counts(source, counts, severities)]
    sections = [Section("", notes, head, rows), *(_finding_section(f, style) for f in findings)]
    return render_sections("Check of an evaluation set", sections, style)


def describe_check_counts(source: str, counts: Mapping[str, int], severities: Mapping[str, int]) -> str:
    """Return what was checked and how many findings there are, in one sentence.

    >>> describe_check_counts("a.qrels", {"queries": 1, "labels": 1200}, {"error": 0, "warning": 2})
    'a.qrels (1 query, 1,200 labels): no error, 2 warnings'
    """
    tables = [_count(number, _NOUNS.get(name, (name, name))) for name, number in counts.items() if number]
    found = [_count(number, _SEVERITY_NOUNS[severity]) for severity, number in severities.items()]
    return f"{source} ({', '.join(tables)}): {', '.join(found)}"


def _count(number: int, nouns: tuple[str, str]) -> str:
    return f"no {nouns[0]}" if not number else f"{number:,} {nouns[number != 1]}"


def _title(kind: str) -> str:
    return kind.replace("_", " ")


def _finding_section(finding: Finding, style: str) -> Section:
    notes = [finding.message, f"fix: {finding.fix}"]
    rows = [_flatten(example) for example in finding.examples]
    head = list(dict.fromkeys(name for row in rows for name in row))
    width = _WIDTH if style == "table" else 2000
    cells = [[text.shorten(_plain(row.get(name)), width) for name in head] for row in rows]
    return Section(
        f"{finding.severity}: {_title(finding.kind)}", notes, [_title(name) for name in head], cells
    )


def _flatten(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example with an estimate as a value and its ends."""
    flat: dict[str, Any] = {}
    for name, value in example.items():
        if isinstance(value, Mapping):
            low, high = value.get("low"), value.get("high")
            flat[name] = value.get("value")
            flat["interval"] = "" if low is None or high is None else f"{low:.4f} … {high:.4f}"
        else:
            flat[name] = value
    return flat


def _plain(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if value.is_integer() else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
