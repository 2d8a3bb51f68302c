"""The verdict of a gate as a table, JSON, JUnit XML, and Markdown for a pull request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as Xml

from assay.decisions.checks import Check
from assay.evaluation.gate import GateVerdict
from assay.evaluation.readings import Reading
from assay.views import text
from assay.views.checks import describe_advice, describe_check, describe_verdict
from assay.views.compare import change_sections
from assay.views.evaluation import describe_counts
from assay.views.numbers import NO_VALUE, format_exact, format_p, narrow_notes
from assay.views.readings import describe_reading
from assay.views.sections import Section, input_section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex", "junit")
_MARKS = {"passed": "✓ pass", "failed": "✗ FAIL", "undecided": "? undecided", "skipped": "– skip"}
_BANNERS = {"passed": "✅ passed", "failed": "❌ failed", "undecided": "❔ undecided"}


def render_verdict(verdict: GateVerdict, style: str, digests: Mapping[str, str] | None = None) -> str:
    """A verdict in one of the formats; a page also has the digests of the inputs."""
    if style == "junit":
        return render_junit(verdict)
    if style == "csv":
        return text.render_csv(*_csv(verdict))
    sections = verdict_sections(verdict) + [input_section(digests or {})] * (style == "html")
    return render_sections(f"Assay gate: {_BANNERS[verdict.status]}", sections, style)


def verdict_sections(verdict: GateVerdict) -> list[Section]:
    """The sections of the report."""
    has_priorities = len({check.rule.priority for check in verdict.checks}) > 1
    head = ["", "rule", "slice", "found", "p", *["priority"] * has_priorities]
    rows = [
        [
            _MARKS[c.status],
            c.rule.name,
            c.slice,
            describe_check(c),
            _p(c),
            *[str(c.rule.priority)] * has_priorities,
        ]
        for c in verdict.checks
    ]
    advice = [
        f"{c.rule.name} ({c.slice}): {describe_advice(c)}" for c in verdict.checks if describe_advice(c)
    ]
    about = [describe_counts(name, c) for name, c in verdict.counts.items()]
    parts = [
        Section("", [describe_verdict(verdict), *about]),
        Section("", (), head, rows),
        Section("", narrow_notes(check.value for check in verdict.checks)),
        Section("what to do", advice),
    ]
    if verdict.comparisons is None:
        return parts
    return parts + change_sections(verdict.comparisons, _consistent_readings(verdict))


def _consistent_readings(verdict: GateVerdict) -> list[Reading]:
    """The readings, except that nothing is shown of a difference about which a check has decided."""
    decided = {
        (str(c.rule.of), c.slice)
        for c in verdict.checks
        if (c.rule.condition, c.status) in (("not_worse_than", "failed"), ("better_by", "passed"))
    }
    readings = verdict.comparisons.readings if verdict.comparisons else []
    return [
        r for r in readings if not (r.is_open and (r.evidence[0].measure, r.evidence[0].slice) in decided)
    ]


def _p(check: Check) -> str:
    """The p-value of the decision: that the rule holds, or that it fails (corrected)."""
    if check.rule.subject == "figure" or check.status == "skipped":
        return NO_VALUE
    return format_p(check.corrected_p if check.status == "failed" else check.p_holds)


def _csv(verdict: GateVerdict) -> tuple[list[str], list[list[str]]]:
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
            *(
                c.status,
                c.rule.name,
                c.slice,
                str(c.rule.priority),
                *map(format_exact, c.value[:3]),
                str(c.value.n),
            ),
            *(
                *map(format_exact, (c.rule.threshold, c.p_holds, c.p_fails, c.corrected_p)),
                describe_check(c),
                describe_advice(c),
            ),
        ]
        for c in verdict.checks
    ]
    return head, rows


def verdict_dict(verdict: GateVerdict) -> dict[str, Any]:
    """The JSON of a verdict, as printed by `assay gate --format json`."""
    return {
        "status": verdict.status,
        "exit_code": verdict.exit_code,
        "words": describe_verdict(verdict),
        "queries": verdict.n,
        "level": verdict.level,
        "checks": [_check_dict(check) for check in verdict.checks],
        "outweighed": [f"{check.rule.name} ({check.slice})" for check in verdict.outweighed],
        "readings": [describe_reading(reading) for reading in _consistent_readings(verdict)],
        "configuration": verdict.comparisons.configuration if verdict.comparisons else {},
        "counts": {name: c._asdict() for name, c in verdict.counts.items()},
    }


def _check_dict(c: Check) -> dict[str, Any]:
    figure = c.rule.subject == "figure"  # it has no p-value
    return {
        "status": c.status,
        "rule": c.rule.name,
        "subject": str(c.rule.of),
        "condition": c.rule.condition,
        "threshold": c.rule.threshold,
        "slice": c.slice,
        "priority": c.rule.priority,
        **c.value.to_dict(),
        "holds_p": None if figure else c.p_holds,
        "fails_p": None if figure else c.p_fails,
        "corrected_p": None if figure else c.corrected_p,
        "text": describe_check(c),
        "advice": describe_advice(c),
    }


def render_junit(verdict: GateVerdict) -> str:
    """The verdict and its checks as JUnit XML, which fails if the verdict is not passed.

    A failed rule is a failure and an undecided one an error. If the gate passed, checks that were
    outweighed or allowed are skipped, as are slices that are too small.
    """
    cases = [("the gate", "", describe_verdict(verdict), verdict.status)]
    cases += [
        (f"{c.rule.name} · {c.slice}", describe_advice(c), describe_check(c), c.status)
        for c in verdict.checks
    ]
    suite = Xml.Element("testsuite", name="assay gate", tests=str(len(cases)))
    counts = dict.fromkeys(_JUNIT_COUNTERS, 0)
    for name, advice, message, status in cases:
        case = Xml.SubElement(suite, "testcase", classname="assay.gate", name=name)
        kind = _JUNIT_ELEMENTS[status] if verdict.status != "passed" or status == "passed" else "skipped"
        if kind:
            counts[kind] += 1
            Xml.SubElement(case, kind, message=message).text = advice
        else:
            Xml.SubElement(case, "system-out").text = message
    suite.attrib |= {_JUNIT_COUNTERS[kind]: str(n) for kind, n in counts.items()}
    Xml.indent(suite)
    xml = _CONTROL_CHARACTERS.sub("\ufffd", Xml.tostring(suite, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml}'


_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # that XML cannot represent
_JUNIT_ELEMENTS = {"passed": "", "failed": "failure", "undecided": "error", "skipped": "skipped"}
_JUNIT_COUNTERS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
