"""Computed truths and audits of truths, in every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.indexes.exact.audit import Audit
from assay.indexes.exact.findings import Finding
from assay.views.numbers import format_value
from assay.views.sections import Section, input_section, render_sections

FORMATS = ("table", "md", "html", "latex")


class TruthSummary(NamedTuple):
    """The size of a computed truth, and how long it took."""

    n: int
    d: int
    type: str
    queries: int
    k: int
    metric: str
    seconds: float
    ties_at_k: int
    output: str | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the summary, as printed by `assay truth --format json`."""
        return self._asdict()


def render_truth(summary: TruthSummary, style: str, digests: Mapping[str, str] | None = None) -> str:
    """A summary in one of the formats."""
    ties = f"{summary.ties_at_k:,} of {summary.queries:,} queries have a tie at k"
    tie_note = f"{ties}: the next neighbour is as near as the last"
    lines = [
        f"base: {summary.n:,} × {summary.d}, {summary.type}; queries: {summary.queries:,}",
        f"the nearest {summary.k:,} by {summary.metric}, exact; at equal distance the first in the base",
        tie_note if summary.ties_at_k else "no query has a tie at k",
        f"{summary.seconds:.2f} s; "
        + (f"written to {summary.output}" if summary.output else "not written: -o FILE keeps it"),
    ]
    return render_sections("Exact neighbours", [Section("", lines), input_section(digests or {})], style)


def render_audit(audit: Audit, name: str, style: str, digests: Mapping[str, str] | None = None) -> str:
    """An audit in one of the formats."""
    head = ["", "problem", "in", "share", "for example"]
    rows = [_row(finding) for finding in audit.findings]
    effects = [f"{finding.name}: {finding.effect}" for finding in audit.findings]
    parts = [
        Section("", _audit_notes(audit, name)),
        Section("", (), head, rows),
        Section("effect on recall", effects),
        input_section(digests or {}),
    ]
    return render_sections(f"Audit of {name}", parts, style)


def _audit_notes(audit: Audit, name: str) -> list[str]:
    faults = sum(finding.wrong for finding in audit.findings)
    verdict = f"{faults} problem{'s' * (faults > 1)}" if faults else "no problem found"
    lines = [
        f"{name}: {verdict}",
        f"the nearest {audit.k:,} of {audit.n:,} × {audit.d} for {audit.queries:,} queries, {audit.metric}",
    ]
    if audit.convention:
        lines.append(f"its distances are {audit.convention}")
    lines.append(f"best reachable recall@{audit.k}: {format_value(audit.reachable)}")
    if audit.right is None:
        return [*lines, "no neighbours were recomputed: see the problems of the vectors"]
    recomputed = f"{audit.right:,} of {audit.sampled:,} recomputed queries have a correct row"
    return [
        *lines,
        f"{recomputed}; exact search has recall@{audit.k} {format_value(audit.exact)} on it by ids",
    ]


def describe_easy_queries(findings: Sequence[Finding], k: int) -> list[str]:
    """Warnings about queries that are vectors of the base, with their effect on recall at K."""
    return [
        f"warning: {finding.name}: {finding.cases:,} of {finding.out_of:,} ({format_value(finding.share)}), "
        f"for example {finding.example}; {finding.effect}, and recall@{k} gains up to 1/{k} for such a query"
        for finding in findings
    ]


def _row(finding: Finding) -> list[str]:
    mark = "✗" if finding.wrong else "·"
    count = f"{finding.cases:,} of {finding.out_of:,} {finding.of}"
    return [mark, finding.name, count, format_value(finding.share), finding.example]
