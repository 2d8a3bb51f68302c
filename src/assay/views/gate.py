"""A gate's verdict as a table, JSON, JUnit XML, and Markdown for a pull request."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as Xml

from assay.evaluation.checks import Check
from assay.evaluation.gate import Verdict
from assay.views import text
from assay.views.compare import comparison_sections
from assay.views.estimates import p_value
from assay.views.evaluation import counts, exact
from assay.views.sections import Section, render

FORMATS = ("table", "json", "csv", "md", "html", "junit")
_MARKS = {"passed": "✓ pass", "failed": "✗ FAIL", "undecided": "? open", "skipped": "– skip"}
_BANNERS = {"passed": "✅ passed", "failed": "❌ failed", "undecided": "❔ not decided"}


def verdict(made: Verdict, style: str) -> str:
    """A verdict in one of the formats."""
    if style == "json":
        return json.dumps(to_dict(made), indent=1, ensure_ascii=False)
    if style == "junit":
        return junit(made)
    if style == "csv":
        return text.csv(*_csv(made))
    return render(f"Assay gate: {_BANNERS[made.status]}", sections(made), style)


def sections(made: Verdict) -> list[Section]:
    """The parts of the report."""
    several = len({check.rule.priority for check in made.checks}) > 1
    head = ["", "rule", "slice", "found", "p", *["priority"] * several]
    rows = [
        [_MARKS[c.status], c.rule.name, c.slice, c.text, _p(c), *[str(c.rule.priority)] * several]
        for c in made.checks
    ]
    advice = [f"{c.rule.name} ({c.slice}): {c.advice}" for c in made.checks if c.advice]
    about = [counts(name, c) for name, c in made.counts.items()]
    parts = [Section("", [made.words, *about]), Section("", (), head, rows), Section("what to do", advice)]
    return parts + (comparison_sections(made.comparisons) if made.comparisons else [])


def _p(check: Check) -> str:
    """p of what is shown: that it holds, or that it fails (corrected)."""
    if check.rule.subject == "figure" or check.status == "skipped":
        return "–"
    return p_value(check.corrected if check.status == "failed" else check.holds)


def _csv(made: Verdict) -> tuple[list[str], list[list[str]]]:
    head = [
        "status",
        "rule",
        "slice",
        "priority",
        "value",
        "low",
        "high",
        "n",
        "threshold",
        "holds_p",
        "fails_p",
    ]
    head += ["corrected_p", "text", "advice"]
    rows = [
        [
            *(c.status, c.rule.name, c.slice, str(c.rule.priority), *map(exact, c.value[:3]), str(c.value.n)),
            *(*map(exact, (c.rule.threshold, c.holds, c.fails, c.corrected)), c.text, c.advice),
        ]
        for c in made.checks
    ]
    return head, rows


def to_dict(made: Verdict) -> dict[str, Any]:
    """A verdict as plain data, with the keys that `assay gate --format json` prints."""
    return {
        "status": made.status,
        "exit_code": made.exit_code,
        "words": made.words,
        "queries": made.queries,
        "level": made.level,
        "checks": [_check(check) for check in made.checks],
        "outweighed": [f"{check.rule.name} ({check.slice})" for check in made.outweighed],
        "readings": [r.text for r in made.comparisons.readings] if made.comparisons else [],
        "configuration": made.comparisons.configuration if made.comparisons else {},
        "counts": {name: c._asdict() for name, c in made.counts.items()},
    }


def _check(c: Check) -> dict[str, Any]:
    figure = c.rule.subject == "figure"  # it has no p
    return {
        "status": c.status,
        "rule": c.rule.name,
        "subject": str(c.rule.of),
        "condition": c.rule.condition,
        "threshold": c.rule.threshold,
        "slice": c.slice,
        "priority": c.rule.priority,
        **c.value.to_dict(),
        "holds_p": None if figure else c.holds,
        "fails_p": None if figure else c.fails,
        "corrected_p": None if figure else c.corrected,
        "text": c.text,
        "advice": c.advice,
    }


def junit(made: Verdict) -> str:
    """The verdict and its checks as JUnit XML, which is red where the verdict is.

    A failed rule is a failure and an undecided one an error; in a gate that passed all the same, what was
    outweighed or let through is skipped, as are slices too small to look at.
    """
    cases = [("the gate", "", made.words, made.status)]
    cases += [(f"{c.rule.name} · {c.slice}", c.advice, c.text, c.status) for c in made.checks]
    suite = Xml.Element("testsuite", name="assay gate", tests=str(len(cases)))
    counts = dict.fromkeys(_COUNTS, 0)
    for name, advice, said, status in cases:
        case = Xml.SubElement(suite, "testcase", classname="assay.gate", name=name)
        kind = _KINDS[status] if made.status != "passed" or status == "passed" else "skipped"
        if kind:
            counts[kind] += 1
            Xml.SubElement(case, kind, message=said).text = advice
        else:
            Xml.SubElement(case, "system-out").text = said
    suite.attrib |= {_COUNTS[kind]: str(n) for kind, n in counts.items()}
    Xml.indent(suite)
    written = _CONTROLS.sub("\ufffd", Xml.tostring(suite, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{written}'


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # what XML has no way to write
_KINDS = {"passed": "", "failed": "failure", "undecided": "error", "skipped": "skipped"}
_COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
