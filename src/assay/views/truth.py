"""What was computed as truth, and what an audit of one found."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from assay.indexes.exact.audit import Audit
from assay.indexes.findings import Finding
from assay.views.sections import Section, render

FORMATS = ("table", "json", "md", "html")


class Summary(NamedTuple):
    """What was computed, and how long it took."""

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
        """The summary as plain data, with the keys that `assay truth --format json` prints."""
        return self._asdict()


def computed(made: Summary, style: str) -> str:
    """A summary in one of the formats."""
    if style == "json":
        return json.dumps(made.to_dict(), indent=1, ensure_ascii=False)
    tie = f"{made.ties_at_k:,} of {made.queries:,} queries have a tie at k: the next is as near as the last"
    said = [
        f"base: {made.n:,} × {made.d}, {made.type}; queries: {made.queries:,}",
        f"the nearest {made.k:,} by {made.metric}, exact; at the same distance the first in the base",
        tie if made.ties_at_k else "no query has a tie at k",
        f"{made.seconds:.2f} s" + (f"; written to {made.output}" if made.output else ""),
    ]
    return render("Exact neighbours", [Section("", said)], style)


def audited(found: Audit, name: str, style: str) -> str:
    """An audit in one of the formats."""
    if style == "json":
        return json.dumps({"truth": name, **found.to_dict()}, indent=1, ensure_ascii=False)
    head = ["", "found", "in", "share", "for example"]
    rows = [_row(finding) for finding in found.findings]
    effects = [f"{finding.name}: {finding.effect}" for finding in found.findings]
    parts = [
        Section("", _about(found, name)),
        Section("", (), head, rows),
        Section("what it does to a recall", effects),
    ]
    return render(f"Audit of {name}", parts, style)


def _about(found: Audit, name: str) -> list[str]:
    wrong = sum(finding.wrong for finding in found.findings)
    verdict = f"{wrong} thing{'s' * (wrong > 1)} wrong" if wrong else "nothing is wrong"
    said = [
        f"{name}: {verdict}",
        f"the nearest {found.k:,} of {found.n:,} × {found.d} for {found.queries:,} queries, {found.metric}",
    ]
    if found.convention:
        said.append(f"its distances are {found.convention}")
    said.append(f"best reachable recall@{found.k}: {_number(found.reachable)}")
    if found.right is None:
        return [*said, "no neighbours were computed anew: see the vectors"]
    computed = f"{found.right:,} of {found.sampled:,} queries computed anew have a right row"
    return [*said, f"{computed}; exact search has recall@{found.k} {_number(found.exact)} on it by ids"]


def _row(finding: Finding) -> list[str]:
    mark = "✗" if finding.wrong else "·"
    count = f"{finding.cases:,} of {finding.out_of:,} {finding.of}"
    return [mark, finding.name, count, _number(finding.share), finding.example]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
